"""Claude Code: `permissions` of a settings file. The strictest list that fits wins there.

`Bash(git log:*)` and `Bash(git log *)` are beginnings, other commands are meant letter by letter;
paths are gitignore patterns. Those of `Edit` count for all tools that write files, a stop of
`Read` for writing too, and both for what commands do; paths of other tools are never looked at.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from wcore.policy.importers.commands import grant_text, stop_text, words_of
from wcore.policy.importers.draft import Difference, Draft, ForeignError
from wcore.policy.importers.globs import around_gitignore, inside_gitignore
from wcore.policy.importers.values import as_object, as_texts, literal_name
from wcore.policy.rules.rule import SHELL_TOOL, ParseContext
from wcore.vocabulary import Mode, Verdict

_LISTS: Final = {"deny": Verdict.DENY, "ask": Verdict.ASK, "allow": Verdict.ALLOW}
_READS: Final = ("Read", "LS", "Glob", "Grep")
_WRITES: Final = ("Write", "Edit", "MultiEdit")
_SPAWNS: Final = ("Agent", "Task")
_RULE: Final = re.compile(r"([^()\s]+)(?:\((.*)\))?", re.DOTALL)
_NEVER_LOOKED_AT: Final = ("Write", "MultiEdit", "NotebookEdit", "LS", "Glob", "Grep")
_ONE_SERVER: Final = re.compile(r"mcp__(?:(?!__)[^*])+(?:__|\Z)")  # named in full
_PARAMETER: Final = re.compile(r"[A-Za-z_]+:(?!\*$)")  # `Tool(name:value)`
_MODES: Final = {
    "default": "",
    "plan": "nothing may be changed; here: --mode read_only",
    "acceptEdits": "here: --mode auto_edit",
    "auto": "there is no such mode here",
    "bypassPermissions": "here: --mode force",
    "dontAsk": "",
}
_KNOWN: Final = (*_LISTS, "defaultMode", "disableBypassPermissionsMode", "additionalDirectories")
_RESTRICTING: Final = {
    "allowedMcpServers": "here every server is started that the user names",
    "allowManagedPermissionRulesOnly": "which files count is not said by a policy here",
    "sandbox": "commands are not run in a sandbox here",
    "deniedMcpServers": "deny the tools of such servers as `mcp__NAME__*`",
}
_ASKING_HOOKS: Final = ("PreToolUse", "PermissionRequest")


def from_claude_code(value: object, context: ParseContext) -> Draft:
    """Return the policy that the settings amount to.

    Raises:
        ForeignError: they are not what such settings are.
    """
    draft = Draft(context)
    settings = as_object(value, "the file")
    permissions = as_object(settings.get("permissions"), "permissions")
    for name, do in _LISTS.items():
        for rule in as_texts(permissions.get(name), name):
            _add(draft, do, rule)
    for server in as_texts(settings.get("disabledMcpjsonServers"), "disabledMcpjsonServers"):
        draft.stop(Verdict.DENY, f"mcp__{literal_name(server)}__*", None, server)
    _modes(draft, permissions)
    for folder in as_texts(permissions.get("additionalDirectories"), "additionalDirectories"):
        draft.note(Difference.STRICTER, f"additionalDirectories: {folder}", "paths outside ask")
    _not_carried(draft, settings, permissions)
    draft.finish()
    return draft


def _modes(draft: Draft, permissions: Mapping[str, Any]) -> None:
    mode = permissions.get("defaultMode", "default")
    if mode not in _MODES:
        raise ForeignError(f"`defaultMode` is {mode!r}, which is not known")
    if _MODES[mode]:
        kind = Difference.LOOSER if mode == "plan" else Difference.LEFT_OUT
        draft.note(kind, f"defaultMode: {mode}", f"a policy sets no mode; {_MODES[mode]}")
    if mode == "dontAsk":
        draft.default, draft.max_mode = Verdict.DENY, Mode.DEFAULT
    elif permissions.get("disableBypassPermissionsMode") == "disable":
        draft.max_mode = Mode.AUTO_EDIT


def _not_carried(draft: Draft, settings: Mapping[str, Any], permissions: Mapping[str, Any]) -> None:
    for key in permissions:
        if key not in _KNOWN:
            draft.looser(f"permissions.{key}", "not known, not carried over")
    for key, text in _RESTRICTING.items():
        if settings.get(key):
            draft.looser(key, text)
    hooks = as_object(settings.get("hooks"), "hooks")
    for name in _ASKING_HOOKS:
        if hooks.get(name):
            draft.looser(f"hooks.{name}", "a hook that refuses calls has no counterpart here")


def _add(draft: Draft, do: Verdict, said: str) -> None:
    found = _RULE.fullmatch(said.strip())
    if found is None:
        raise ForeignError(f"{said!r} is no permission rule")
    tool, spec = found[1], found[2]
    if spec is not None and spec.strip() in ("", "*", ":*"):
        spec = None
    if do is Verdict.ALLOW:
        _allow(draft, tool, spec, said)
        return
    stops = list(_stops(tool, spec))
    for name, limit, why in stops:
        draft.stop(do, name, limit, said, why=why)
    if tool in ("Read", "Edit") and all(limit is None for _, limit, _ in stops):
        draft.looser(said, f"commands that do the same are not stopped; `{SHELL_TOOL}` stops all")


# --- allow: never more than was said --------------------------------------------------------------


def _allow(draft: Draft, tool: str, spec: str | None, said: str) -> None:
    names = _tools_allowed(tool, spec)
    if spec is not None and tool in _NEVER_LOOKED_AT:
        draft.left_out(said, "paths of this tool are never looked at there: only Read and Edit")
    elif tool.startswith("mcp__") and not names:
        draft.left_out(said, "such a pattern allows nothing there: it must name the server")
    elif not names:
        draft.left_out(said, "there is nothing here that it could be said of; it asks")
    elif spec is None:
        for name in names:
            draft.allow(name, said)
    elif _is_parameter(spec):
        draft.left_out(said, "rules about other arguments cannot be said here; it asks")
    elif tool == SHELL_TOOL:
        _allow_command(draft, spec, said)
    elif spec.startswith("!"):  # takes back what other patterns allow
        for name, limit, why in _stops(tool, spec[1:]):
            draft.stop(Verdict.ASK, name, limit, said, why=why or "it asks, whatever allows it")
    else:
        _allow_paths(draft, names, spec, said)


def _allow_paths(draft: Draft, names: tuple[str, ...], spec: str, said: str) -> None:
    glob = inside_gitignore(spec)
    if glob is None:
        draft.left_out(said, "the pattern has another meaning here; it asks")
        return
    if spec.startswith(("~", "//")):
        draft.note(Difference.STRICTER, said, "outside the workspace it asks anyway")
    for name in names:
        draft.allow(f"{name}({glob})", said)


def _allow_command(draft: Draft, spec: str, said: str) -> None:
    beginning = spec.removesuffix(":*").removesuffix("*")
    words, whole = words_of(beginning)
    text = grant_text(words) if whole and "*" not in beginning else None
    if beginning == spec:
        draft.left_out(said, "a command without its arguments cannot be said here; it asks")
    elif text is None:
        draft.left_out(said, "only the beginning of a command can be allowed here; it asks")
    else:
        if not spec.endswith((" *", ":*")):
            draft.note(Difference.STRICTER, said, f"only whole words: `{text}`")
        draft.allow(f"{SHELL_TOOL}({text})", said)


def _tools_allowed(tool: str, spec: str | None) -> tuple[str, ...]:
    if tool.startswith("mcp__"):
        return (_mcp(tool),) if spec is None and _ONE_SERVER.match(tool) else ()
    if tool == SHELL_TOOL:
        return (SHELL_TOOL,)
    if tool == "Read":
        return ("@info",) if spec is not None else ("Read",)
    if tool == "Edit":
        return _WRITES if spec is not None else ("Edit", "MultiEdit")
    if tool in ("Write", "MultiEdit"):
        return (tool,) if spec is None else ()
    if tool in ("LS", "Glob", "Grep"):
        return (tool,) if spec is None else ()
    return ("Spawn",) if tool in _SPAWNS and spec is None else ()


# --- ask and deny: never less ---------------------------------------------------------------------


def _stops(tool: str, spec: str | None) -> Iterator[tuple[str, str | None, str]]:
    """Yield tool, spec, and why that is more than was said."""
    if tool == SHELL_TOOL and spec is not None:
        yield _stopped_command(spec)
        return
    names = _tools_stopped(tool)
    if tool == "Read" and spec is not None:
        names = (*_READS, *_WRITES, "Delete")
    about_paths = spec is not None and tool in ("Read", "Write", "Edit", "MultiEdit")
    globs = around_gitignore(spec or "") if about_paths and not _is_parameter(spec) else None
    if globs is None:
        why = "" if spec is None else "every call of it"
        yield from ((name, None, why) for name in names)
        return
    why = "" if tool in ("Read", "Edit") else "there only Read and Edit have paths"
    groups = ("@info", "@edit") if tool == "Read" else ("@edit",)
    yield from ((group, glob, why) for group in groups for glob in globs)


def _is_parameter(spec: str | None) -> bool:
    return spec is not None and _PARAMETER.match(spec) is not None


def _stopped_command(spec: str) -> tuple[str, str | None, str]:
    if _is_parameter(spec):
        return SHELL_TOOL, None, "every call of it"
    beginning = spec.partition("*")[0].removesuffix(":")
    words, whole = words_of(beginning)
    is_prefix = spec in (f"{beginning}:*", f"{beginning}*")
    open_end = not whole or (
        beginning != spec and not beginning[-1:].isspace() and spec != f"{beginning}:*"
    )
    text = stop_text(words, open_end=open_end)
    if text is None:
        return SHELL_TOOL, None, "every command: its beginning cannot be said here"
    exact = whole and is_prefix
    return SHELL_TOOL, text, "" if exact else f"every command that begins with `{text}`"


def _tools_stopped(tool: str) -> tuple[str, ...]:
    if tool.startswith("mcp__"):
        return (_mcp(tool),)
    if tool == "Read":
        return _READS
    if tool in ("Edit", "Write", "MultiEdit", "NotebookEdit"):
        return (*_WRITES, "Delete")
    return ("Spawn",) if tool in _SPAWNS else (literal_name(tool),)


# --- pieces ---------------------------------------------------------------------------------------


def _mcp(tool: str) -> str:
    """Return the glob of an MCP rule: a server's name alone means all its tools."""
    name = literal_name(tool)
    return name if "__" in name.removeprefix("mcp__") else f"{name}__*"
