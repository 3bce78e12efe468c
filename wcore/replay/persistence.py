"""Rules, tiers and grants of a replay: as they were found then, each at its time."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from msgspec import field
from msgspec.structs import replace

from wcore.agents import AgentDefinition
from wcore.errors import Code, WcoreError
from wcore.persistence import grant_codec
from wcore.persistence.persistence import KEPT, REFRESHED, REVOKED, SessionPersistence, Told
from wcore.persistence.records import as_list
from wcore.persistence.tier_facts import from_facts, held_in
from wcore.persistence.tiers import StoredTiers
from wcore.policy.grants import MAIN_AGENT, Grant, GrantBook
from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.policy.tiers import AgentPermissionSnapshot, Assigned
from wcore.policy_files.session_policy import BrokenRulesError, SessionPolicy
from wcore.policy_files.snapshot import PolicySnapshot, Rules
from wcore.replay.journal import RecordedJournal
from wcore.replay.stubs import NoStore
from wcore.replay.timeline import Timeline, facts_of, what_of
from wcore.turn.policy_reload import POLICIES
from wcore.vocabulary import Json

RELOADED: Final = "reloaded "


class RecordedStoreError(WcoreError):
    """The store failed then."""

    code = Code.CONFIG


class RecordedTiers(StoredTiers):
    """Tiers and overrides as they were read."""

    def __init__(self, script: Timeline, workspace: str, user_id: UUID, journal: RecordedJournal):
        super().__init__(NoStore(), workspace, user_id, journal)
        self._script = script

    async def preload_for_agent(self, agent_id: str, user_id: str) -> AgentPermissionSnapshot:
        facts = await come(self._script, f"tiers {agent_id}")
        return self.learn(agent_id, facts)

    def learn(self, agent_id: str, facts: Mapping[str, Json]) -> AgentPermissionSnapshot:
        """Know from now on what was read.

        Raises:
            RecordedStoreError: it could not be read.
        """
        _check(facts)
        snapshot, tools = from_facts(facts)
        if tools is None:
            self._assigned.pop(agent_id, None)
        else:
            self._assigned[agent_id] = tools
        self._known[agent_id] = snapshot
        self._held[agent_id] = held_in(facts) or snapshot
        return snapshot

    async def assign(
        self, agent_id: str, tools: Mapping[str, Assigned] | None, *, only: bool = True
    ) -> None:
        _check(await come(self._script, f"assigned {agent_id}"))
        await self.preload_for_agent(agent_id, "")
        if tools:
            self._assigned[agent_id] = dict(tools)

    async def override(self, agent_id: str, user_id: str, tool: str, *, approve: bool) -> None:
        _check(await come(self._script, f"overridden {agent_id}"))
        await self.preload_for_agent(agent_id, "")


class RecordedPersistence(SessionPersistence):
    """The session's way to a store that is not there."""

    def __init__(
        self, script: Timeline, journal: RecordedJournal, workspace: str, user_id: UUID
    ) -> None:
        super().__init__(NoStore(), workspace, journal.session_id, str(user_id), journal.secrets)
        self.journal = journal
        self.recorded = RecordedTiers(script, workspace, user_id, journal)
        self.tiers = self.recorded
        self.decision_events = self._decisions_of(MAIN_AGENT)
        self._script = script

    async def refresh(
        self, book: GrantBook, call_id: str = "", rules: Rules | None = None
    ) -> list[Told]:
        mine = f"{REFRESHED} {call_id}"

        def is_next(what: str | None) -> bool:
            return what == mine or (what or "").startswith(RELOADED)

        while True:
            head = await self._script.wait_for(lambda item: is_next(what_of(item)))
            self._script.take(head)
            what, facts = str(what_of(head)), facts_of(head)
            if what != mine:
                self._reload(what, facts)
                continue
            if "grants" in facts:
                grants = [
                    each for each in as_list(facts.get("grants")) if isinstance(each, Mapping)
                ]
                kept = (grant_codec.parsed(grant_codec.from_facts(each)) for each in grants)
                book.replace_lasting([grant for grant in kept if grant])
            told = (as_list(each) for each in as_list(facts.get("told")))
            return [(str(text), None if of is None else str(of)) for text, of in told]

    def _reload(self, what: str, facts: Mapping[str, Json]) -> None:
        if "problem" not in facts:
            self.recorded.learn(what.removeprefix(RELOADED), facts)

    async def store_grant(self, *grants: Grant) -> str | None:
        problem = (await come(self._script, f"{KEPT} {grants[0].from_call_id}")).get("problem")
        return problem if isinstance(problem, str) else None

    async def revoke(self, grant_id: str) -> bool:
        facts = await come(self._script, REVOKED)
        _check(facts)
        return facts.get("revoked") is True

    def warm(self) -> None:
        """Nothing is cold."""

    async def purge_older(self, days: float) -> None:
        """Nothing is deleted."""

    async def close(self) -> None:
        """Nothing is open."""


def _nothing() -> Timeline:
    return Timeline(())


class RecordedSessionPolicy(SessionPolicy):
    """The policies that were in force at each turn, parsed anew."""

    script: Timeline = field(default_factory=_nothing)
    places: Places = field(default_factory=lambda: Places("", ""))
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])

    async def refresh(self) -> tuple[str, ...]:
        found = next((each for each in self.script.ahead() if what_of(each) == POLICIES), None)
        if found is None:
            await self.script.never()
        self.facts = facts_of(found)
        if "problem" in self.facts:
            raise BrokenRulesError(str(self.facts["problem"]))
        self._learn(self.facts)
        return tuple(map(str, as_list(self.facts.get("notices"))))

    async def find_changes(self, what: str) -> bool:
        found = next((each for each in self.script.ahead() if what_of(each) == what), None)
        if found is None:
            await self.script.never()
        facts = facts_of(found)
        if "problem" in facts:
            raise BrokenRulesError(str(facts["problem"]))
        self._learn(facts)
        return bool(facts)

    def _learn(self, facts: Mapping[str, Json]) -> None:
        if not facts:
            return
        self.facts = facts
        held = facts.get("held")
        self.rules.present = self.rules.held = _snapshot(facts, self.places)
        if isinstance(held, Mapping):
            self.rules.held = _snapshot(held, self.places)

    def journal_facts(self, notices: tuple[str, ...]) -> dict[str, Json]:
        return {name: value for name, value in self.facts.items() if name != "what"}


async def come(script: Timeline, what: str) -> Mapping[str, Json]:
    """Wait until it was reached; return what was found then."""
    head = await script.wait_for(lambda item: what_of(item) == what)
    script.take(head)
    return facts_of(head)


def _check(facts: Mapping[str, Json]) -> None:
    if "problem" in facts:
        raise RecordedStoreError(str(facts["problem"]))


def _snapshot(facts: Mapping[str, Json], places: Places) -> PolicySnapshot:
    return PolicySnapshot(_policies(facts, places), agents=_agents(facts))


def _policies(facts: Mapping[str, Json], places: Places) -> PolicySet:
    texts, real = facts.get("texts"), facts.get("real")
    known = {k: str(v) for k, v in real.items()} if isinstance(real, Mapping) else {}
    since = {
        (str(level), str(rule)): str(at)
        for level, rule, at in (as_list(each) for each in as_list(facts.get("since")))
    }
    context = ParseContext(
        places,
        {},
        lambda folder: known.get(folder, folder),
        lambda level, rule: since.get((level.value, rule), ""),
    )
    files = [
        parse(str(text), str(path), Level(level), context)
        for level, (path, text) in (
            ((level, as_list(each)) for level, each in texts.items())
            if isinstance(texts, Mapping)
            else ()
        )
    ]
    foreign = facts.get("only_forbids") is True
    files = [replace(f, only_forbids=foreign and f.level is Level.USER) for f in files]
    return PolicySet(files, trusted=facts.get("trusted") is True)


def _agents(facts: Mapping[str, Json]) -> dict[str, AgentDefinition]:
    found: dict[str, AgentDefinition] = {}
    for each in as_list(facts.get("agents")):
        if not isinstance(each, Mapping):
            continue
        tools, tiers, model = each.get("tools"), each.get("tiers"), each.get("model")
        name = str(each.get("name"))
        found[name] = AgentDefinition(
            name,
            digest=str(each.get("digest")),
            tools=None if tools is None else frozenset(map(str, as_list(tools))),
            tiers={k: str(v) for k, v in tiers.items()} if isinstance(tiers, Mapping) else {},
            model=None if model is None else str(model),
        )
    return found
