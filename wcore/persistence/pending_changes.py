"""What others have loosened since a session began, in words and as one digest. Pure.

None of it counts before the session's own host accepts it, so what is missed here is only not
told: the decision itself compares whole standings.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from wcore.agents import AgentDefinition
from wcore.first_few import first_few
from wcore.persistence.held_grants import meanings
from wcore.policy.rules.policy_file import PolicyFile
from wcore.policy.rules.rule import Level, Rule
from wcore.policy.rules.rule_index import STRICTNESS
from wcore.policy.tiers import AgentPermissionSnapshot, Tier
from wcore.policy_files.snapshot import PolicySnapshot, Rules
from wcore.store import LastingGrant
from wcore.visible import visible_line
from wcore.vocabulary import Always, AlwaysExact, AlwaysPath, AlwaysPrefix, Verdict

SHOWN_MAX: Final = 8  # of the changes: more is read in the files themselves
TOLD_MAX: Final = 64  # digests kept; who changes rules more often is told again
LINE_CHARS_MAX: Final = 200  # of one change: somebody else has written it

Tiers: TypeAlias = Mapping[str, tuple[AgentPermissionSnapshot, AgentPermissionSnapshot]]

SETS: Final = ("always_allow", "needs_approval", "blocked", "user_overrides", "defaulted")


class PendingChanges(Struct, frozen=True):
    """What waits: one line for each change, and the digest that stands for all of it."""

    changes: tuple[str, ...]
    digest: str

    @property
    def text(self) -> str:
        """What the host is told."""
        few = first_few(self.changes, SHOWN_MAX)
        shown = [visible_line(each, LINE_CHARS_MAX) for each in few]
        return (
            "changed by others since this session began, and in force from its next start, or as "
            f"soon as this host accepts it: {'; '.join(shown)}"
        )


class AnnouncedChanges:
    """What the host was told of, so that each digest is told once."""

    def __init__(self) -> None:
        self._digests = set[str]()

    def is_news(self, waiting: PendingChanges) -> bool:
        """Whether the host has not been told; from now on it has."""
        if waiting.digest in self._digests:
            return False
        if len(self._digests) >= TOLD_MAX:
            self._digests.clear()
        self._digests.add(waiting.digest)
        return True


def what_waits(rules: Rules, tiers: Tiers, grants: Sequence[LastingGrant]) -> PendingChanges | None:
    """Return what is looser at present than the session holds it; `None` when nothing is."""
    moved = {name: both for name, both in tiers.items() if both[0] != both[1]}
    changes: list[str] = []
    if rules.held is not rules.present:
        changes += _of_files(rules.held, rules.present)
        changes += _of_agents(rules.held.agents or {}, rules.present.agents or {})
    for name, (held, present) in moved.items():
        changes += (f"tiers of {name}: {what}" for what in _of_tiers(held, present))
    changes += map(_of_grant, grants)
    if not changes:
        return None
    present: object = [
        rules.present.facts(),
        {
            n: [*(sorted(getattr(now, s)) for s in SETS), now.is_assigned]
            for n, (_, now) in moved.items()
        },
        meanings(grants),
    ]
    data = json.dumps(present, sort_keys=True).encode()
    return PendingChanges(tuple(changes), f"sha256:{hashlib.sha256(data).hexdigest()}")


def _of_files(held: PolicySnapshot, present: PolicySnapshot) -> Iterator[str]:
    if present.policies.trusted and not held.policies.trusted:
        yield "the folder is trusted"
    for level in Level:
        if held.texts.get(level) == present.texts.get(level):
            continue
        path = (present.texts.get(level) or held.texts.get(level) or ("", ""))[0]
        then = held.policies.files.get(level) or PolicyFile(level, path)
        now = present.policies.files.get(level) or PolicyFile(level, path)
        for what in _looser(then, now):
            yield f"{path}: {what}"


def _looser(then: PolicyFile, now: PolicyFile) -> Iterator[str]:
    """Yield what a file allows now and did not allow then."""
    yield from (f"`{rule.text}` is no longer denied" for rule in _only(then.deny, now.deny))
    for rule in _only(then.rules, now.rules):
        if rule.verdict is not Verdict.ALLOW:
            yield f"the rule `{rule.text}` ({rule.verdict}) is gone"
    added = list(_only(now.rules, then.rules))
    yield from (f"`{rule.text}` is allowed" for rule in added if rule.verdict is Verdict.ALLOW)
    if any(rule.verdict is Verdict.ASK for rule in added) or _reordered(then.rules, now.rules):
        yield "the order of its rules has changed"
    before, after = (None if file.default is None else file.default[0] for file in (then, now))
    if (
        after is not before
        and STRICTNESS[after or Verdict.ASK] < STRICTNESS[before or Verdict.DENY]
    ):
        yield f"the default is {after or 'left to others'}"
    if _more(then.limits.grants, now.limits.grants):
        yield "more grants may be kept"
    known = [replace(table, source="") for table in then.mcp]
    for table in now.mcp:
        if replace(table, source="") not in known:
            yield f"MCP server {table.name}"


def _only(some: Iterable[Rule], others: Iterable[Rule]) -> Iterator[Rule]:
    """Yield the rules of `some` that are not among `others`, wherever they stand."""
    known: dict[tuple[object, ...], list[Rule]] = {}
    for rule in others:
        known.setdefault(_key(rule), []).append(rule)
    for rule in some:
        if not any(other.targets == rule.targets for other in known.get(_key(rule), ())):
            yield rule


def _reordered(then: Sequence[Rule], now: Sequence[Rule]) -> bool:
    both = {_key(rule) for rule in then} & {_key(rule) for rule in now}
    before, after = ([_key(r) for r in rules if _key(r) in both] for rules in (then, now))
    return before != after


def _key(rule: Rule) -> tuple[object, ...]:
    return rule.text, rule.verdict, rule.agent


def _more(then: int | None, now: int | None) -> bool:
    return then is not None and (now is None or now > then)


def _of_agents(
    held: Mapping[str, AgentDefinition], present: Mapping[str, AgentDefinition]
) -> Iterator[str]:
    for name, now in present.items():
        then = held.get(name)
        allowed = {tool for tool, tier in now.tiers.items() if tier == Tier.ALWAYS_ALLOW}
        if then is None:
            if allowed or now.model:
                yield f"agents/{name}.md: a new agent allows tools or chooses its model"
            continue
        stops = {tool: tier for tool, tier in then.tiers.items() if tier != Tier.ALWAYS_ALLOW}
        wider = then.tools is not None and (now.tools is None or not now.tools <= then.tools)
        looser = any(then.tiers.get(tool) != Tier.ALWAYS_ALLOW for tool in allowed) or any(
            now.tiers.get(tool) not in (tier, Tier.BLOCKED) for tool, tier in stops.items()
        )
        if wider or looser or now.model != then.model:
            yield f"agents/{name}.md: the agent has changed"


def _of_tiers(held: AgentPermissionSnapshot, now: AgentPermissionSnapshot) -> Iterator[str]:
    for tool in sorted(now.user_overrides - held.user_overrides):
        yield f"{tool} is not asked about (override)"
    if held.is_assigned and not now.is_assigned:
        yield "any tool is offered"
    for tool in sorted(now.always_allow | now.needs_approval | held.needs_approval | held.blocked):
        then, status = held.tier_of(tool), now.tier_of(tool)
        if then == status:
            continue
        was_missing = then is None and held.is_assigned and status is not Tier.BLOCKED
        if status is Tier.ALWAYS_ALLOW or then is Tier.BLOCKED or was_missing or status is None:
            yield f"{tool} is {status or 'without a status'}"


def _of_grant(grant: LastingGrant) -> str:
    match grant.scope:
        case AlwaysPrefix(prefix):
            what = f" `{prefix}`"
        case AlwaysPath(root):
            what = f" {root}"
        case AlwaysExact(command):
            what = f" exactly `{command}`"
        case Always():
            what = ""
    return f"grant for {grant.agent}: {grant.tool}{what} ({grant.persist})"
