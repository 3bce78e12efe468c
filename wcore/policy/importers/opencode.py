"""opencode: `permission` of its configuration. The last entry that fits wins there.

A `*` spans folders and words. Entries of an agent come after all others; the agent that people
talk to at first (`default_agent`, else `build`) is `main` here.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from wcore.policy.grants import MAIN_AGENT
from wcore.policy.importers.commands import grant_text, stop_text, words_of
from wcore.policy.importers.draft import Draft, ForeignError
from wcore.policy.importers.globs import around_wildcard, inside_wildcard, is_whole_wildcard
from wcore.policy.importers.values import as_object, literal_name
from wcore.policy.rules.rule import SHELL_TOOL, ParseContext
from wcore.vocabulary import Verdict

_EDITS: Final = ("Write", "Edit", "MultiEdit")
_TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "*": ("*",),
    "read": ("Read",),
    "edit": _EDITS,
    "write": _EDITS,
    "patch": _EDITS,
    "apply_patch": _EDITS,
    "multiedit": _EDITS,
    "list": ("LS",),
    "glob": ("Glob",),
    "grep": ("Grep",),
    "bash": (SHELL_TOOL,),
    "task": ("Spawn",),
    "question": ("AskUserQuestion",),
}
_ABOUT_PATHS: Final = frozenset(
    {"read", "edit", "write", "patch", "apply_patch", "multiedit", "list"}
)
_FOREIGN: Final = frozenset(
    "webfetch websearch codesearch browser skill lsp todoread todowrite".split()
)
_OUTSIDE: Final = "external_directory"
_LOOP: Final = "doom_loop"
_BUILT_IN: Final = {"read": {"*.env": "deny", "*.env.*": "deny", "*.env.example": "allow"}}
_TALKED_TO: Final = "build"
_PLANNER: Final = "plan"
_PLANNERS_OWN: Final = {"edit": "deny", "bash": "ask", "task": "ask"}  # before all that is said
_EXPLORER: Final = "explore"  # may do little more than read
_AGENTS: Final = ("agent", "mode")
_VERSION_2: Final = "permissions"


class _Entry(Struct, frozen=True):
    key: str
    pattern: str
    do: Verdict
    agent: str | None

    @property
    def said(self) -> str:
        above = f"agent.{self.agent}." if self.agent else ""
        return f"{above}permission.{self.key}: {self.pattern} = {self.do}"


def from_opencode(value: object, context: ParseContext) -> Draft:
    """Return the policy that the configuration amounts to.

    Raises:
        ForeignError: it is not what such a configuration is.
    """
    draft = Draft(context, is_ordered=True)
    config = as_object(value, "the file")
    agents = _agents(config)
    talked_to = _talked_to(draft, config, agents)
    entries = [*_entries(_BUILT_IN, None)]
    for ours in _ours(_PLANNER, talked_to) if _PLANNER in (talked_to, *agents) else ():
        entries += _entries(_PLANNERS_OWN, ours)
    entries += [*_of_tools(config.get("tools"), None), *_entries(config.get("permission"), None)]
    for agent, told in agents.items():
        for ours in _ours(agent, talked_to):
            for settings in told:
                entries += _of_tools(settings.get("tools"), ours)
                entries += _entries(settings.get("permission"), ours)
    for entry in reversed(entries):
        _add(draft, entry)
    if _EXPLORER in agents:
        draft.looser(f"agent.{_EXPLORER}", "what this agent is denied there anyway")
    draft.finish()
    return draft


def _agents(config: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the settings of each agent, from both places where they may be.

    Raises:
        ForeignError: they, or others, are those of another version.
    """
    found: dict[str, list[Mapping[str, Any]]] = {}
    tables = [("the file", config)]
    for name in (*_AGENTS, "agents"):
        for agent, told in as_object(config.get(name), name).items():
            settings = as_object(told, f"{name}.{agent}")
            tables.append((f"{name}.{agent}", settings))
            found.setdefault(agent, []).append(settings)
    for where, table in tables:
        if _VERSION_2 in table:
            raise ForeignError(f"{where} has `{_VERSION_2}`: only `permission` is understood")
    return found


def _talked_to(
    draft: Draft, config: Mapping[str, Any], agents: Mapping[str, list[Mapping[str, Any]]]
) -> str:
    """Return the agent that people talk to at first."""
    said = config.get("default_agent")
    if isinstance(said, str) and said:
        if said not in (_TALKED_TO, _PLANNER, *agents):
            draft.looser(f"default_agent: {said}", "what its own file says is not read")
        return said
    gone = {name for name, told in agents.items() if any(t.get("disable") is True for t in told)}
    if _TALKED_TO not in gone:
        return _TALKED_TO
    draft.looser(f"agent.{_TALKED_TO}.disable", "which agent comes instead is a guess: set another")
    primary = {_PLANNER} | {
        name for name, told in agents.items() if not any(t.get("mode") == "subagent" for t in told)
    }
    return min(primary - gone, default=_PLANNER)


def _ours(agent: str, talked_to: str) -> tuple[str, ...]:
    """Return the names that an agent has here."""
    return (MAIN_AGENT, agent) if agent == talked_to else (agent,)


def _entries(permission: object, agent: str | None) -> Iterator[_Entry]:
    if isinstance(permission, str):
        yield _Entry("*", "*", _verdict(permission, "permission"), agent)
        return
    for key, value in as_object(permission, "permission").items():
        if isinstance(value, str):
            yield _Entry(key, "*", _verdict(value, key), agent)
        else:
            for pattern, action in as_object(value, f"permission.{key}").items():
                yield _Entry(key, pattern, _verdict(action, f"{key}: {pattern}"), agent)


def _of_tools(tools: object, agent: str | None) -> Iterator[_Entry]:
    """Yield the old way of switching tools off."""
    for key, is_on in as_object(tools, "tools").items():
        if not isinstance(is_on, bool):
            raise ForeignError(f"`tools.{key}` is neither true nor false")
        yield _Entry(key, "*", Verdict.ALLOW if is_on else Verdict.DENY, agent)


def _add(draft: Draft, entry: _Entry) -> None:
    if entry.key == _OUTSIDE:
        if entry.do is Verdict.DENY:
            draft.looser(entry.said, "paths outside the workspace ask; deny folders by name")
        elif entry.do is Verdict.ALLOW:
            draft.left_out(entry.said, "paths outside the workspace ask")
    elif entry.key == _LOOP:
        if entry.do is not Verdict.ALLOW:
            draft.looser(entry.said, "repeated calls are not looked at here")
    elif entry.do is Verdict.ALLOW:
        for match in _allowed(draft, entry):
            draft.allow(match, entry.said, entry.agent)
    else:
        for tool, spec, why in _stopped(entry):
            draft.stop(entry.do, tool, spec, entry.said, why=why, agent=entry.agent)


def _allowed(draft: Draft, entry: _Entry) -> Iterator[str]:
    tools = _TOOLS.get(entry.key, ())
    if not tools:
        draft.left_out(entry.said, "which tools that means cannot be said here; they ask")
    elif entry.pattern == "*":
        yield from tools
    elif entry.key == "bash":
        text = _allowed_command(entry.pattern)
        if text is None:
            draft.left_out(entry.said, "only the beginning of a command can be allowed; it asks")
        else:
            yield f"{SHELL_TOOL}({text})"
    else:
        glob = inside_wildcard(entry.pattern) if entry.key in _ABOUT_PATHS else None
        if glob is None:
            draft.left_out(entry.said, "the pattern cannot be said here; it asks")
        yield from (f"{tool}({glob})" for tool in tools if glob is not None)


def _allowed_command(pattern: str) -> str | None:
    """Return the beginning for `git log *`; a pattern without a star means no arguments."""
    beginning = pattern.removesuffix("*")
    words, whole = words_of(beginning)
    is_prefix = beginning != pattern and whole and not {"*", "?"} & set(beginning)
    return grant_text(words) if is_prefix else None


def _stopped(entry: _Entry) -> Iterator[tuple[str, str | None, str]]:
    """Yield tool, spec, and why that is more than was said."""
    tools = _TOOLS.get(entry.key) or (_tool_glob(entry.key),)
    if tools == _EDITS:
        tools = (*_EDITS, "Delete")
    if entry.pattern == "*":
        yield from ((tool, None, "") for tool in tools)
    elif entry.key == "bash":
        yield _stopped_command(entry.pattern)
    else:
        glob = around_wildcard(entry.pattern) if entry.key in _ABOUT_PATHS else None
        named = ("@edit",) if glob and "Delete" in tools else tools
        why = "" if is_whole_wildcard(entry.pattern) else "more paths than the pattern"
        yield from ((t, glob, why if glob else "every call of it") for t in named)


def _stopped_command(pattern: str) -> tuple[str, str | None, str]:
    wild = min((at for c in "*?" if (at := pattern.find(c)) >= 0), default=len(pattern))
    beginning = pattern[:wild]
    words, whole = words_of(beginning)
    open_end = not whole or (beginning != pattern and not beginning[-1:].isspace())
    text = stop_text(words, open_end=open_end) if words else None
    if text is None:
        return SHELL_TOOL, None, "every command: its beginning cannot be said here"
    exact = whole and pattern == f"{beginning}*"
    return SHELL_TOOL, text, "" if exact else f"every command that begins with `{text}`"


def _tool_glob(key: str) -> str:
    """Return the glob of a tool that is none of ours; those of MCP are `server_tool` there."""
    name = literal_name(key)
    return name if key in _FOREIGN else re.sub(r"[*_]+", "*", f"mcp*{name}*")


def _verdict(value: object, where: str) -> Verdict:
    if value not in list(Verdict):
        raise ForeignError(f"{where}: {value!r} is none of allow, ask, deny")
    return Verdict(str(value))
