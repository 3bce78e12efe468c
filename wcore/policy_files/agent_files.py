"""Agent files: a Markdown text, the agent's instructions, below a front matter in YAML.

A person's own (`agents/NAME.md` beside the user's policy) and the project's
(`.wcore/agents/NAME.md`); of two of one name the person's counts, understood or not. What a
project brings along may only narrow until the folder is trusted: its `model` and every
`always_allow` are passed over.
A file that is not understood makes no agent, and somebody is told.
"""

import os
import re
from collections.abc import Mapping
from typing import Any, Final, cast

from msgspec import Struct, field
from msgspec.structs import replace

from wcore.agents import AgentDefinition
from wcore.policy.rules.policy_file import PolicyError
from wcore.policy.tiers import Tier
from wcore.policy_files.front_matter import FRONT_CHARS_MAX, AgentError, read_front
from wcore.policy_files.reading import read_owned, sha256
from wcore.user_folders import lies_in
from wcore.visible import visible, visible_line

FOLDER: Final = "agents"
AGENTS_MAX: Final = 64  # more is offered by no model and reviewed by no person
FILE_BYTES_MAX: Final = 64 * 1024  # 16,000 tokens of instructions, in every request of the agent
FRONTS_CHARS_MAX: Final = 64 * 1024  # of all files: a cloned folder must not hold up a turn
TOOLS_MAX: Final = 256  # of one list
RESERVED: Final = frozenset({"main", "general"})  # the session itself, and an agent without a file

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_PARTS: Final = re.compile(r"\A---[ \t]*\n(.*?\n)??---[ \t]*(?:\n|\Z)(.*)\Z", re.DOTALL)
_KEYS: Final = frozenset({"name", "description", "model", "tools", "tiers"})


class AgentFile(Struct, frozen=True):
    """One file; `is_own` when it is the person's and not the project's."""

    name: str
    data: bytes
    is_own: bool


class AgentFiles(Struct, frozen=True):
    """All agent files as they were read, the person's first, and what could not be read."""

    files: tuple[AgentFile, ...] = ()
    problems: tuple[str, ...] = ()


class Agents(Struct, frozen=True):
    """The agents there are, by name, and what is wrong with files that make none.

    `of_project` are the names of those that the project brings along.
    """

    named: Mapping[str, AgentDefinition] = field(default_factory=dict[str, AgentDefinition])
    problems: tuple[str, ...] = ()
    of_project: frozenset[str] = frozenset()


def agent_files(config: str, workspace: str, project: Mapping[str, bytes]) -> AgentFiles:
    """Return the files of the user's folder and of the project. Blocking.

    `project` has the contents of the files below `.wcore/` by path. A file of the user's folder
    that leads into the workspace is nobody's: the trust in a folder covers `.wcore/` alone.
    """
    problems: list[str] = []
    files = (*_of_user(config, workspace, problems), *_of_project(project))
    return AgentFiles(files, tuple(problems))


def parse_agents(read: AgentFiles, *, trusted: bool) -> Agents:
    """Return the agents that the files make; a file that is not understood makes none."""
    found: dict[str, AgentDefinition] = {}
    problems = list(read.problems)
    left = FRONTS_CHARS_MAX
    own = {file.name for file in read.files if file.is_own}
    for file in read.files:
        if file.name in own and not file.is_own:
            continue
        try:
            front, prompt = _parts_of(file, left)
            left -= len(front)
            agent = _agent(file, front, prompt)
        except AgentError as error:
            problems.append(f"agent {visible_line(file.name, 64)} is not used: {error}")
            continue
        found[file.name] = agent if file.is_own or trusted else narrowed(agent)
    return Agents(dict(sorted(found.items())), tuple(problems), frozenset(found) - own)


def _parts_of(file: AgentFile, chars_left: int) -> tuple[str, str]:
    """Return front matter, of at most `chars_left` characters, and instructions."""
    if not _NAME.fullmatch(file.name) or file.name in RESERVED:
        raise AgentError("the name must be letters, digits, `-` and `_`, and not a reserved one")
    if len(file.data) > FILE_BYTES_MAX:
        raise AgentError(f"the file is longer than {FILE_BYTES_MAX} bytes")
    try:
        parts = _PARTS.match(file.data.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError:
        raise AgentError("it is not UTF-8") from None
    if parts is None:
        raise AgentError("it must begin with a front matter between two lines of `---`")
    front = parts[1] or ""
    if len(front) > FRONT_CHARS_MAX:
        raise AgentError(f"the front matter is longer than {FRONT_CHARS_MAX} characters")
    if len(front) > chars_left:
        raise AgentError(f"all front matters together pass {FRONTS_CHARS_MAX} characters")
    return front, parts[2]


def _agent(file: AgentFile, text: str, prompt: str) -> AgentDefinition:
    front = _front(text)
    if front.get("name", file.name) != file.name:
        raise AgentError(f"`name` must be {file.name}, as the file is called")
    return AgentDefinition(
        name=file.name,
        description=visible_line(_text(front, "description") or "", 200),
        prompt=visible(prompt.strip()),
        digest=sha256(file.data),
        tools=_tools(front),
        tiers=_tiers(front),
        model=_text(front, "model"),
    )


def narrowed(agent: AgentDefinition) -> AgentDefinition:
    """Return an agent that nobody vouches for: it allows nothing and chooses no model."""
    tiers = {tool: tier for tool, tier in agent.tiers.items() if tier != Tier.ALWAYS_ALLOW}
    return replace(agent, model=None, tiers=tiers, digest=f"untrusted:{agent.digest}")


def _of_project(project: Mapping[str, bytes]) -> list[AgentFile]:
    below = [path.removeprefix(f"{FOLDER}/") for path in project if path.startswith(f"{FOLDER}/")]
    files = sorted(filter(_is_file, below))[:AGENTS_MAX]
    return [
        AgentFile(name.removesuffix(".md"), project[f"{FOLDER}/{name}"], is_own=False)
        for name in files
    ]


def _of_user(config: str, workspace: str, problems: list[str]) -> list[AgentFile]:
    folder = os.path.join(config, FOLDER)
    try:
        names = sorted(name for name in os.listdir(folder) if _is_file(name))
    except OSError:
        return []
    found: list[AgentFile] = []
    for name in names[:AGENTS_MAX]:
        path = os.path.join(folder, name)
        if lies_in(path, workspace):
            problems.append(f"agent file not used: {path} lies in the workspace")
            continue
        try:
            file = read_owned(path)
        except PolicyError as error:
            problems.append(f"agent file not used: {error}")
            continue
        if file is not None:
            found.append(AgentFile(name.removesuffix(".md"), file.text.encode(), is_own=True))
    return found


def _is_file(name: str) -> bool:
    return name.endswith(".md") and "/" not in name


def _front(text: str) -> Mapping[Any, Any]:
    front = read_front(text)
    unknown = [str(key) for key in front if key not in _KEYS]
    if unknown:
        known = ", ".join(sorted(_KEYS))
        raise AgentError(f"unknown key {visible_line(unknown[0], 64)!r}; there are {known}")
    return front


def _text(front: Mapping[str, Any], key: str) -> str | None:
    value = front.get(key)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise AgentError(f"`{key}` must be a text")
    return value


def _tools(front: Mapping[str, Any]) -> frozenset[str] | None:
    value = front.get("tools")
    if value is None:
        return None
    names = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(_is_tool(name) for name in cast("list[Any]", names)):
        raise AgentError("`tools` must be a list of tool names")
    if len(cast("list[Any]", names)) > TOOLS_MAX:
        raise AgentError(f"`tools` has more than {TOOLS_MAX} names")
    return frozenset(cast("list[str]", names))


def _tiers(front: Mapping[str, Any]) -> dict[str, str]:
    value = front.get("tiers")
    if value is None:
        return {}
    tiers: dict[Any, Any] = (
        cast("dict[Any, Any]", value) if isinstance(value, dict) else {None: None}
    )
    known = {tier.value for tier in Tier}
    if len(tiers) > TOOLS_MAX or not all(
        _is_tool(k) and isinstance(v, str) and v in known for k, v in tiers.items()
    ):
        raise AgentError(f"`tiers` must give tools one of {', '.join(sorted(known))}")
    return tiers


def _is_tool(name: object) -> bool:
    return isinstance(name, str) and bool(name.strip())
