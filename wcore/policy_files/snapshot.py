"""The rules of one moment, and the two moments that count: what the session holds, and now.

What others change while a session runs counts where it is stricter; where it is looser it waits
until the session's own host accepts it, or for the next start.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from wcore.agents import AgentDefinition
from wcore.policy.rules.mcp_tables import ServerTable
from wcore.policy.rules.policy_file import Limits
from wcore.policy.rules.policy_set import NO_POLICIES, PolicySet
from wcore.policy.rules.rule import Level
from wcore.policy.rules.rule_index import STRICTNESS
from wcore.policy_files.agent_files import narrowed
from wcore.vocabulary import Json, Verdict

CHANGED: Final = "changed:"  # before the digest of a definition that is bounded by an older one


class PolicySnapshot(Struct, frozen=True):
    """Policy and agent files as they were read at one moment.

    `texts` are path and text of each policy file, `real` is where folders that rules name really
    were, `since` when each deny that a grant can lift came to be there. `agents` is `None` until
    they were read; `of_project` names the project's among them.
    """

    policies: PolicySet = NO_POLICIES
    texts: Mapping[Level, tuple[str, str]] = field(default_factory=dict[Level, tuple[str, str]])
    real: Mapping[str, str] = field(default_factory=dict[str, str])
    since: Mapping[tuple[Level, str], str] = field(default_factory=dict[tuple[Level, str], str])
    agents: Mapping[str, AgentDefinition] | None = None
    of_project: frozenset[str] = frozenset()

    def says_what(self, other: "PolicySnapshot") -> bool:
        """Whether it says the same as another one."""
        return (
            self.policies.trusted == other.policies.trusted
            and self.policies.vouched == other.policies.vouched
            and self.texts == other.texts
            and self.real == other.real
            and self.since == other.since
            and self.agents == other.agents
        )

    def facts(self) -> dict[str, Json]:
        """Return it as JSON, for the digest of what waits: agents without their words."""
        return {
            "texts": {level.value: list(each) for level, each in self.texts.items()},
            "real": dict(self.real),
            "since": [[level.value, text, at] for (level, text), at in self.since.items()],
            "trusted": self.policies.trusted,
            "only_forbids": any(file.only_forbids for file in self.policies.files.values()),
            "agents": [_agent_facts(agent) for agent in (self.agents or {}).values()],
        }


class Rules(Struct):
    """What the session holds and what is there at present. Shared by all agents of a session."""

    held: PolicySnapshot = PolicySnapshot()
    present: PolicySnapshot = PolicySnapshot()

    @classmethod
    def of(cls, snapshot: PolicySnapshot) -> "Rules":
        """The rules at the start of a session."""
        return cls(snapshot, snapshot)

    @property
    def both(self) -> tuple[PolicySnapshot, ...]:
        """What counts: the present ones first, and alone where nothing has changed."""
        return (self.present,) if self.held is self.present else (self.present, self.held)

    @property
    def limits(self) -> Limits:
        """The strictest of each limit."""
        present, held = self.present.policies.limits, self.held.policies.limits
        return present if self.held is self.present else present.with_(held)

    def hosts(self) -> tuple[str, ...]:
        """The hosts that programs may reach: what has come in since waits for the next session."""
        return tuple(filter(self.held.policies.hosts.__contains__, self.present.policies.hosts))

    def on_reading(self, path: str) -> Verdict:
        """Return what rules say of the real path `path` where it is not named, as in a search."""
        return max(
            (each.policies.on_reading(path) for each in self.both), key=STRICTNESS.__getitem__
        )

    def read(self, present: PolicySnapshot) -> None:
        """Know what was read anew."""
        if self.held.agents is None:
            held = replace(self.held, agents=present.agents, of_project=present.of_project)
            self.held = held
        self.present = present
        if self.held.says_what(present):
            self.held = present  # one decision is enough

    def accept(self) -> None:
        """Hold what is there at present: the session's own host has agreed."""
        self.held = self.present

    def trust(self, project: PolicySnapshot) -> None:
        """Hold the files of a project that the own host trusts, as `project` has them.

        Only those: what else has changed meanwhile is not what the host was shown.
        """
        held, name = self.held, Level.PROJECT
        files = {**held.policies.files, name: project.policies.files.get(name)}
        texts = {**held.texts, name: project.texts.get(name)}
        agents = held.agents
        if agents is not None:  # else all of them are held as the first turn finds them
            own = {name: each for name, each in agents.items() if name not in held.of_project}
            theirs = {n: a for n, a in (project.agents or {}).items() if n in project.of_project}
            agents = dict(sorted({**theirs, **own}.items()))
        self.held = PolicySnapshot(
            PolicySet([file for file in files.values() if file], trusted=True),
            {level: text for level, text in texts.items() if text},
            {**held.real, **project.real},
            {**held.since, **project.since},
            agents,
            project.of_project,
        )

    def distrust(self) -> None:
        """Hold no longer that the project is trusted."""
        held = self.held
        agents = held.agents
        if agents is not None:
            agents = {name: each for name, each in agents.items() if name not in held.of_project}
        policies = PolicySet(held.policies.files.values(), trusted=False)
        self.held = replace(held, policies=policies, agents=agents, of_project=frozenset())

    def agents(self) -> Mapping[str, AgentDefinition]:
        """Return the agents that there are, each no wider than the session holds it."""
        present = self.present.agents or {}
        if self.held is self.present:
            return present
        return {name: _bounded(agent, self.held_agent(agent)) for name, agent in present.items()}

    def held_agent(self, agent: AgentDefinition) -> AgentDefinition:
        """Return how the session holds an agent of the present; a new one may only narrow."""
        known = (self.held.agents or {}).get(agent.name)
        return narrowed(agent) if known is None else known

    def holds_server(self, level: Level, table: ServerTable) -> bool:
        """Whether the session holds that the file of `level` may have this server started."""
        held = self.held
        file = held.policies.files.get(level)
        if file is None or level not in held.policies.vouched:
            return False
        return any(replace(each, source=table.source) == table for each in file.mcp)


def _bounded(now: AgentDefinition, then: AgentDefinition) -> AgentDefinition:
    """Return `now` with no more tools than `then`; its tiers are held against both."""
    if now == then:
        return now
    tools = then.tools if now.tools is None else now.tools
    if now.tools is not None and then.tools is not None:
        tools = now.tools & then.tools
    digest = now.digest if now.digest == then.digest else f"{CHANGED}{now.digest}"
    return replace(now, tools=tools, model=then.model, digest=digest)


def _agent_facts(agent: AgentDefinition) -> dict[str, Json]:
    return {
        "name": agent.name,
        "digest": agent.digest,
        "tools": None if agent.tools is None else sorted(agent.tools),
        "tiers": dict(agent.tiers),
        "model": agent.model,
    }
