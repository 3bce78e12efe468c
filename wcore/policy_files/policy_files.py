"""Finds and reads the policy files: administrator's, user's, project's; and who trusts what.

A user's file that leads into the workspace is the workspace's own: it only forbids, and trust in
the folder, which covers `.wcore/` alone, does not change that.

Files are read again before every turn, and parsed only when they changed. What is in force is
one value that a reload replaces: no decision ever sees half of one.
"""

import os
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from wcore.policy.protected import OWN_FOLDER, Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.policy_files.agent_files import AgentFiles, Agents, agent_files, parse_agents
from wcore.policy_files.reading import (
    POLICY_NAME,
    PolicyText,
    ProjectFiles,
    decode_project,
    read_owned,
    read_project,
)
from wcore.policy_files.snapshot import PolicySnapshot
from wcore.policy_files.trust import TrustBook, TrustError
from wcore.user_folders import lies_in

OUTSIDE: Final = "set XDG_CONFIG_HOME to a folder outside of it for one of your own"
MANAGED: Final = f"/etc/wcore/{POLICY_NAME}"  # not to be moved by anything a user or project says


class LoadedPolicies(Struct, frozen=True):
    """What was found now; `notices` are new, for people."""

    snapshot: PolicySnapshot
    notices: tuple[str, ...] = ()


class PolicyFiles:
    """The policy files of one workspace. `config` and `state` are wcore's own folders."""

    def __init__(self, places: Places, config: str, state: str) -> None:
        self.places = places
        self.trust = TrustBook(state)
        self._config = config
        self._paths = {
            Level.MANAGED: MANAGED,
            Level.USER: os.path.join(config, POLICY_NAME),
            Level.PROJECT: os.path.join(places.workspace, OWN_FOLDER, POLICY_NAME),
        }
        self._real: dict[str, str] = {}  # where folders that rules name really are
        self._since: dict[tuple[Level, str], str] = {}  # when liftable denies came to be there
        self._context = ParseContext(places, {}, self._realpath)
        self._texts: dict[Level, PolicyText] = {}
        self._was_trusted: bool | None = None
        self._found = PolicySnapshot()
        self._told: tuple[str, ...] = ()
        self._project = ProjectFiles({}, None)
        self._agents = Agents()
        self._agents_of: tuple[AgentFiles, bool | None] = (AgentFiles(), None)

    @classmethod
    def of(cls, places: Places) -> "PolicyFiles":
        """The files for `places`, whose own folders are those of configuration and state."""
        config, state, *_ = places.own
        return cls(places, config, state)

    def load(self) -> LoadedPolicies:
        """Read all files; blocking.

        Raises:
            PolicyError: a file cannot be honoured; what was in force before is not to be used.
        """
        project = read_project(self.places.workspace)
        texts = self._read(project)
        trusted, notice = self._is_trusted(project)
        notices = tuple(filter(None, (notice, self._on_user_file(texts))))
        if texts != self._texts or trusted != self._was_trusted:
            self._real.clear()
            since: dict[tuple[Level, str], str] = {}

            def came(level: Level, rule: str) -> str:
                known = self._since.get((level, rule), texts[level].changed)
                return since.setdefault((level, rule), known)

            context = replace(self._context, since=came)
            files = [
                replace(
                    parse(each.text, self._paths[at], at, context), only_forbids=each.only_forbids
                )
                for at, each in texts.items()
            ]
            named = {level: (self._paths[level], each.text) for level, each in texts.items()}
            policies = PolicySet(files, trusted=trusted)
            self._found = PolicySnapshot(policies, named, dict(self._real), since)
            self._texts, self._was_trusted, self._since = texts, trusted, since
        self._project = project
        fresh = tuple(each for each in notices if each not in self._told)
        self._told = notices
        return LoadedPolicies(self._found, fresh)

    def agents(self) -> Agents:
        """Return the agents as of the last `load`; what is wrong with files is told once.

        Blocking, and slower than `load`: for a turn, not for the start.
        """
        read = agent_files(self._config, self.places.workspace, self._project.contents)
        wanted = (read, self._was_trusted)
        if wanted == self._agents_of:
            return replace(self._agents, problems=())
        self._agents = parse_agents(wanted[0], trusted=self._was_trusted is True)
        self._agents_of = wanted
        return self._agents

    def load_all(self) -> tuple[LoadedPolicies, Agents]:
        """Do both, one after the other, for a turn; blocking.

        Raises:
            PolicyError: as `load`.
        """
        loaded, agents = self.load(), self.agents()
        if self._found.agents is not agents.named:
            self._found = replace(self._found, agents=agents.named, of_project=agents.of_project)
        return LoadedPolicies(self._found, loaded.notices), agents

    def look(self) -> PolicySnapshot:
        """Read all files, for somebody who asks what has changed; notices wait for the next turn.

        Raises:
            PolicyError: as `load`.
        """
        told, agents, agents_of = self._told, self._agents, self._agents_of
        found = self.load_all()[0].snapshot
        self._told, self._agents, self._agents_of = told, agents, agents_of
        return found

    def load_with_user_policy(self, text: str, path: str) -> PolicySet:
        """Return what would be in force if `text`, the file `path`, were the user's policy.

        Raises:
            PolicyError: one of the files cannot be honoured.
        """
        project = read_project(self.places.workspace)
        paths = {**self._paths, Level.USER: path}
        texts = {**self._read(project), Level.USER: PolicyText(text, "")}
        files = [parse(texts[at].text, paths[at], at, self._context) for at in texts]
        trusted, _ = self._is_trusted(project)
        return PolicySet(files, trusted=trusted)

    def project(self) -> ProjectFiles:
        """Return the project's files as they are now.

        Raises:
            PolicyError: they are not what they should be.
        """
        return read_project(self.places.workspace)

    def _read(self, project: ProjectFiles) -> dict[Level, PolicyText]:
        found: dict[Level, PolicyText] = {}
        for level in (Level.MANAGED, Level.USER):
            file = read_owned(self._paths[level])
            if file is not None:
                found[level] = file
        if Level.USER in found and lies_in(self._paths[Level.USER], self.places.workspace):
            found[Level.USER] = replace(found[Level.USER], only_forbids=True)
        data = project.contents.get(POLICY_NAME)
        if data is not None:
            text = decode_project(self.places.workspace, data)
            found[Level.PROJECT] = PolicyText(text, project.changed)
        return found

    def _on_user_file(self, texts: dict[Level, PolicyText]) -> str:
        file = texts.get(Level.USER)
        if file is None or not file.only_forbids:
            return ""
        path = self._paths[Level.USER]
        return f"{path} lies in the workspace, so what it allows does not count: {OUTSIDE}"

    def _realpath(self, folder: str) -> str:
        self._real[folder] = found = os.path.realpath(folder)
        return found

    def _is_trusted(self, project: ProjectFiles) -> tuple[bool, str]:
        try:
            digest = self.trust.digest_of(self.places.workspace)
        except TrustError as error:
            return False, f"no folder is trusted: {error}"
        if digest is None or digest == project.digest:
            return digest is not None, ""
        folder = self.places.workspace
        text = f"{folder} is no longer trusted: its {OWN_FOLDER}/ files have changed since"
        return False, f"{text}; read them, then run: wcore trust {folder}"
