"""The decision: one table, read from the top, the first row that has an answer wins.

The same function serves the gate, tests and anything that explains a decision. Facts and
standing come in as values; asking twice gives the same answer.
"""

from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from wcore.policy import shell
from wcore.policy.covering_grants import find_covering_grant, granted_exactly
from wcore.policy.facts import Facts, PathFact
from wcore.policy.grants import MAIN_AGENT, GrantBook
from wcore.policy.rules.policy_set import NO_POLICIES, PolicySet
from wcore.policy.rules.rule import Level, Rule
from wcore.policy.rules.rule_index import DecisionInput, Match
from wcore.policy.safety import find_danger
from wcore.policy.tiers import NO_TIERS, AgentPermissionSnapshot, Tier
from wcore.views import READ_ONLY, covers
from wcore.vocabulary import Access, AlwaysExact, Category, Decision, Mode, Row, Verdict, Why

QUESTION_TOOL: Final = "AskUserQuestion"
OVERRIDE: Final = "override"  # the rule of an allow that a user's override gave
_PLAN: Final = "mode plan changes nothing, and runs commands in a read-only sandbox only"
AUTO_EDIT_EXCLUDES: Final = "Delete"  # an edit that no later edit can undo

MODE_COVERS: Final[dict[Mode, frozenset[Category]]] = {
    **dict.fromkeys((Mode.PLAN, Mode.READ_ONLY), frozenset({Category.INFO})),
    Mode.DEFAULT: frozenset(),
    **dict.fromkeys((Mode.AUTO_EDIT, Mode.AUTO_RUN), frozenset({Category.INFO, Category.EDIT})),
    Mode.FORCE: frozenset(Category),
}


class DecisionContext(Struct, frozen=True):
    """What is in force when a call is decided. `offered` are the tools the model was shown.

    `tiers` are those of `agent` at this moment, overrides included.
    """

    mode: Mode
    grants: GrantBook
    offered: frozenset[str]
    policies: PolicySet = NO_POLICIES
    tiers: AgentPermissionSnapshot = NO_TIERS
    agent: str = MAIN_AGENT


Answer = Callable[[DecisionInput, DecisionContext], Decision | None]


def decide(facts: Facts, context: DecisionContext) -> Decision:
    """Return the answer of the first row that has one; the last row always has."""
    return decide_by_row(facts, context)[1]


def decide_by_row(facts: Facts, context: DecisionContext) -> tuple[str, Decision]:
    """Return the decision with the number of its row in the table below."""
    case = DecisionInput(facts, context.agent)
    if facts.analysis is not None:
        context = replace(context, grants=context.grants.in_view(facts.tool, facts.view))
    found = next(
        ((row.__doc__ or "").partition(":")[0].removeprefix("Row "), decision)
        for row in ROWS
        if (decision := row(case, context)) is not None
    )
    # A rule that asks goes before a default that denies; not one of a file that may only forbid.
    for policies in context.policies.without_forbidding if found[1].verdict is Verdict.ASK else ():
        other = decide_by_row(facts, replace(context, policies=policies))
        if other[1].verdict is Verdict.DENY:
            return other
    return found


def _not_offered(case: DecisionInput, context: DecisionContext) -> Decision | None:
    """Row 1: the tool is blocked for this agent, or not offered."""
    tool = case.facts.tool
    if tool in context.offered and context.tiers.offers(tool):
        return None
    return _answer(Verdict.DENY, Row.BLOCKED, f"{tool} is not offered")


def _absolute_deny(case: DecisionInput, context: DecisionContext) -> Decision | None:
    """Row 2: an absolute deny of a policy file."""
    match = context.policies.absolute_deny(case)
    return None if match is None else _by_rule(Row.DENY, match, "is denied by the policy")


def _never_allowed(case: DecisionInput, context: DecisionContext) -> Decision | None:
    """Row 2: writing wcore's own rules, grants or records; a command that can never be right."""
    del context  # in every mode
    for path in case.facts.paths:
        if path.own and path.access is Access.WRITE and not path.unknown:
            return _answer(Verdict.DENY, Row.SAFETY, f"{path.path} holds wcore's own files")
    return _danger(case, Verdict.DENY)


def _ordered_deny(case: DecisionInput, context: DecisionContext) -> Decision | None:
    """Row 3: the first ordered rule that fits says deny."""
    denies = [m for m in context.policies.in_force(case) if m.rule.verdict is Verdict.DENY]
    for match in denies:
        if not _is_lifted(match.rule, case, context):
            return _by_rule(Row.RULE, match, "is denied by a rule")
    return None


def _planned(case: DecisionInput, context: DecisionContext) -> Decision | None:
    """Row 3a: mode plan denies what could change something."""
    facts = case.facts
    changes = facts.category in (Category.EDIT, Category.MCP) or facts.analysis is not None
    if context.mode is not Mode.PLAN or not changes or _is_held(case, context):
        return None
    return _answer(Verdict.DENY, Row.MODE, _PLAN)


def _unreadable(case: DecisionInput, context: DecisionContext) -> Decision | None:
    """Row 3b: a command that a deny rule may be about, and nobody can say."""
    found = context.policies.may_deny(case)
    if found is None or granted_exactly(case.facts, context.grants):
        return None
    rule = found.rule
    detail = f"the command may be one that `{rule.text}` denies"
    why = Why(Row.UNREADABLE, detail, rule.text, rule.source, found.span, found.code)
    return Decision(Verdict.ASK, why)


def _uncounted(case: DecisionInput, context: DecisionContext) -> Decision | None:
    """Row 3b: what may be denied, in every mode: one of more paths than are looked at.

    So may one of wcore's own files that is named to a program which may write it.
    """
    for path in case.facts.paths:
        is_lost = not path.path  # of a text that cannot be read to its end
        uncounted = path.own or (path.inside and path.protected is None)
        if not path.unknown or not (uncounted or is_lost):
            continue
        if path.protected is not None and context.mode is not Mode.FORCE:
            continue  # row 5 says why it asks
        writes_own = path.own and path.access is Access.WRITE
        if writes_own and path.protected is not None:
            detail = f"the command may write {path.path} ({path.protected})"
            return _answer(Verdict.ASK, Row.UNREADABLE, detail)
        if writes_own or context.policies.stops_files(case.agent, context.mode):
            what = path.path or "the command"
            detail = f"{what} stands for more paths than are looked at: one may be denied"
            return _answer(Verdict.ASK, Row.UNREADABLE, detail)
    return None


def _needs_person(case: DecisionInput, context: DecisionContext) -> Decision | None:
    """Row 4b: only a person can answer: a question, or a command with somebody else's rights."""
    del context  # in every mode
    if case.facts.tool == QUESTION_TOOL:
        return _answer(Verdict.ASK, Row.QUESTION, "only a person can answer this")
    return _danger(case, Verdict.ASK)


def _standing_ask(case: DecisionInput, context: DecisionContext) -> Decision | None:
    """Row 4c: a rule asks that has a spec, is `always` or managed: nothing lifts it."""
    levels = (Level.MANAGED,) if context.mode is Mode.FORCE else tuple(Level)
    match = context.policies.standing_ask(case, levels)
    return None if match is None else _by_rule(Row.RULE, match, "asks by a rule that nothing lifts")


def _reaches(case: DecisionInput, context: DecisionContext) -> Decision | None:
    """Row 4d: a command leaves the sandbox, or asks for hosts that nobody agreed to."""
    view = case.facts.view
    if view is None or (view.is_held and not view.proposed):
        return None
    if find_covering_grant(case.facts, context.grants):
        return None
    match = _allow_or_ask(case, context)
    if match and match.rule.verdict is Verdict.ALLOW and covers(match.rule.pin, view):
        return None
    if not view.is_held:
        return _answer(Verdict.ASK, Row.SANDBOX, "the command would run outside of the sandbox")
    detail = f"the command could reach {', '.join(view.proposed)}"
    return _answer(Verdict.ASK, Row.SANDBOX, detail)


def _protected(case: DecisionInput, context: DecisionContext) -> Decision | None:
    """Row 5: a protected path asks, whatever was granted."""
    if context.mode is Mode.FORCE or _is_held(case, context):
        return None
    for path in case.facts.paths:
        if path.protected is not None:
            how = "may name" if path.unknown else "is"
            return _answer(Verdict.ASK, Row.PROTECTED, f"{path.path} {how} {path.protected}")
    return None


def _outside(case: DecisionInput, context: DecisionContext) -> Decision | None:
    """Row 6: a path outside the workspace asks, unless a grant or rule for it covers it."""
    if context.mode is Mode.FORCE or _is_held(case, context):
        return None
    if granted_exactly(case.facts, context.grants):
        return None
    for path in case.facts.paths:
        if path.inside or _granted_folder(path, case.facts, context):
            continue
        if path.unknown or not context.policies.opens(path, case):
            what, doubt = path.path, None if path.path else case.facts.seen
            code, span = (doubt.doubt, doubt.span) if doubt else (None, None)
            if code == shell.Reason.SCRIPT_FROM_INPUT:
                what = "what a shell reads and runs"
            what = what or "a path of a command that cannot be read"
            how = "may lead" if path.unknown else "is"
            detail = f"{what} {how} outside the workspace"
            return Decision(Verdict.ASK, Why(Row.OUTSIDE, detail, span=span, code=code))
    return None


def _granted(case: DecisionInput, context: DecisionContext) -> Decision | None:
    """Row 7: a grant or the user's override covers the call."""
    facts = case.facts
    if facts.tool in context.tiers.user_overrides:
        detail = f"the user lets {context.agent} use {facts.tool} without asking"
        return Decision(Verdict.ALLOW, Why(Row.GRANT, detail, rule=OVERRIDE))
    grant = find_covering_grant(facts, context.grants)
    if grant is None:
        return None
    what = f"`{grant.prefix.text}`" if grant.prefix else grant.tool
    if isinstance(grant.scope, AlwaysExact):
        what = "this exact command"
    return Decision(
        Verdict.ALLOW,
        Why(Row.GRANT, f"{what} was granted {grant.lasts}", rule=grant.grant_id),
    )


def _chosen_tier(case: DecisionInput, context: DecisionContext) -> Decision | None:
    """Row 8: the tier that was chosen for the tool of this agent."""
    tiers, tool = context.tiers, case.facts.tool
    tier = None if tool in tiers.defaulted else tiers.tier_of(tool)
    return None if tier is None else _by_tier(tier, "chosen", case, context)


def _ordered_rule(case: DecisionInput, context: DecisionContext) -> Decision | None:
    """Row 9: the first ordered rule that fits says allow or ask."""
    match = _allow_or_ask(case, context)
    if match is None:
        return None
    allows = match.rule.verdict is Verdict.ALLOW
    told = _by_rule(Row.RULE, match, "is allowed by a rule" if allows else "asks by a rule")
    return _unless_forced(told, context)


def _allow_or_ask(case: DecisionInput, context: DecisionContext) -> Match | None:
    found = context.policies.in_force(case)
    return next((match for match in found if match.rule.verdict is not Verdict.DENY), None)


def _unread(case: DecisionInput, context: DecisionContext) -> Decision | None:
    """Row 9b: the tiers of the agent cannot be read: what only mode or default allows asks."""
    if not context.tiers.unread or context.mode is Mode.FORCE:
        return None
    detail = f"the store was lost, and what it says of {case.facts.tool} is not known"
    return _answer(Verdict.ASK, Row.TIER, detail)


def _mode(case: DecisionInput, context: DecisionContext) -> Decision | None:
    """Row 10: the mode covers the category."""
    mode, facts = context.mode, case.facts
    if facts.category not in MODE_COVERS[mode] and not _is_held(case, context):
        return None
    if facts.tool == AUTO_EDIT_EXCLUDES and mode is not Mode.FORCE:
        return None
    return _answer(Verdict.ALLOW, Row.MODE, f"mode {mode} covers {facts.category} tools")


def _default_tier(case: DecisionInput, context: DecisionContext) -> Decision | None:
    """Row 11: the tier that a tool has when none was chosen."""
    tier = context.tiers.tier_of(case.facts.tool)
    return None if tier is None else _by_tier(tier, "default", case, context)


def _default(case: DecisionInput, context: DecisionContext) -> Decision | None:
    """Row 12: nothing else applied: the default permission of the policy, else ask."""
    facts, default = case.facts, context.policies.default
    if default is not None:
        detail = f"the default of the policy is {default[0]}"
        return Decision(default[0], Why(Row.DEFAULT, detail, source=default[1]))
    detail = f"mode {context.mode} asks before {facts.category} tools"
    prefixes = [g.prefix for g in context.grants.prefixes(facts.tool) if g.prefix]
    if facts.analysis is None or (facts.analysis.reason is None and not prefixes):
        return _answer(Verdict.ASK, Row.DEFAULT, detail)
    coverage = shell.matches(facts.analysis, prefixes)
    return Decision(Verdict.ASK, Why(Row.DEFAULT, detail, span=coverage.span, code=coverage.reason))


#: What binds sub-agents as well: what is denied to an agent, or asks whatever was granted.
BINDING: Final[tuple[Answer, ...]] = (
    *(
        _not_offered,
        _absolute_deny,
        _never_allowed,
        _ordered_deny,
        _planned,
        _unreadable,
        _uncounted,
        _needs_person,
        _standing_ask,
    ),
)

ROWS: Final[tuple[Answer, ...]] = (
    *BINDING,
    _reaches,
    _protected,
    _outside,
    _granted,
    _chosen_tier,
    _ordered_rule,
    _unread,
    _mode,
    _default_tier,
    _default,
)


def _danger(case: DecisionInput, verdict: Verdict) -> Decision | None:
    facts = case.facts
    if facts.analysis is None or facts.seen is None:
        return None
    danger = find_danger(facts.analysis, facts.seen, verdict, facts.paths)
    if danger is None:
        return None
    detail = f"the command {danger.check.what}"
    return Decision(verdict, Why(Row.SAFETY, detail, rule=danger.check.name, span=danger.span))


def _is_held(case: DecisionInput, context: DecisionContext) -> bool:
    """Whether a command is one of those that run unasked because the kernel holds them."""
    view = case.facts.view
    if context.mode is Mode.PLAN:
        return view is not None and view.view == READ_ONLY
    return context.mode is Mode.AUTO_RUN and view is not None and view.is_held


def _is_lifted(rule: Rule, case: DecisionInput, context: DecisionContext) -> bool:
    """Whether a yes to the tool's name lifts a deny; never one with a spec or an admin's.

    Nor does a yes that is older: it was not said in spite of the rule.
    """
    if rule.stands:
        return False
    tool, tiers = case.facts.tool, context.tiers
    grant = context.grants.by_name(tool, case.facts.pin)
    said = [tiers.overridden_at.get(tool, "")] if tool in tiers.user_overrides else []
    said += [grant.created_at] if grant else []
    return any(not rule.since or at > rule.since for at in said)


def _by_rule(row: Row, match: Match, what: str) -> Decision:
    rule = match.rule
    detail = f"`{rule.text}` {what}"
    return Decision(rule.verdict, Why(row, detail, rule.text, rule.source, match.span, match.code))


def _by_tier(tier: Tier, which: str, case: DecisionInput, context: DecisionContext) -> Decision:
    verdict = Verdict.ALLOW if tier is Tier.ALWAYS_ALLOW else Verdict.ASK
    detail = f"{case.facts.tool} is {tier} for {context.agent} ({which})"
    return _unless_forced(_answer(verdict, Row.TIER, detail), context)


def _unless_forced(decision: Decision, context: DecisionContext) -> Decision:
    """Return `decision`, or in mode force the allow that it becomes instead of an ask."""
    if decision.verdict is not Verdict.ASK or context.mode is not Mode.FORCE:
        return decision
    return _answer(Verdict.ALLOW, Row.MODE, f"mode {context.mode} asks nothing")


def _granted_folder(path: PathFact, facts: Facts, context: DecisionContext) -> bool:
    readable = facts.category is Category.INFO and path.access is Access.READ
    return readable and context.grants.of_path(path.path) is not None


def _answer(verdict: Verdict, row: Row, detail: str) -> Decision:
    return Decision(verdict, Why(row, detail))
