"""Lasting yeses as a person reads and edits them. Pure."""

from typing import Final

from wcore_host.events import Grant, Json, Scope
from wcore_host.headless.card_content import beyond
from wcore_host.visible import visible_line

GRANT_CHARS_SHOWN: Final = 200
NOTE_CHARS_SHOWN: Final = 300  # two sentences
NOT_DESCRIBED: Final = "another lasting yes is offered, of a form that this host cannot describe"
PERSISTS: Final = ("session", "project", "user")
_EXACT: Final = "every call of this exact command"
_KINDS: Final = {"always_prefix": "prefix", "always_path": "root"}
_LABELS: Final = {
    "always_prefix": "command that starts with",
    "always_path": "reading below",
}
_NAMED: Final = {  # scopes that are a name, which nobody edits
    "always_server": "every call of any tool of the MCP server `{}`, as its tools are now",
    "always_host": "let every command of this session reach `{}`",
}
_GRANTS: Final = {  # kinds in `list_grants`
    "name": "every call",
    "prefix": "commands that begin with",
    "path": "reading below",
    "exact": "the exact command",
    "host": "every command reaches",
}


def always_exact(command: str) -> Scope:
    """Return the scope that covers this very command, to the byte."""
    return {"always_exact": {"command": command}}


def always_prefixes(*prefixes: str) -> Scope:
    """Return the scope that covers commands of these beginnings; all are kept, or none."""
    return {"always_prefixes": {"prefixes": list(prefixes)}}


def is_known(scope: Scope) -> bool:
    """Whether a suggested scope can be described, whole and as it is; others are not answered."""
    kind, body = _parts(scope)
    if kind == "always_exact":
        return isinstance(body.get("command"), str)
    texts = _prefixes(scope) or [_name(scope) or grant_text(scope)]
    return all(text and visible_line(text) == text for text in texts)


def grant_text(scope: Scope) -> str:
    """Return the editable part of a suggested scope; empty if there is none."""
    kind, body = _parts(scope)
    text = body.get(_KINDS.get(kind, ""))
    return text if isinstance(text, str) else ""


def grant_label(scope: Scope) -> str:
    """Return what kind of calls the scope speaks of."""
    return _LABELS.get(_parts(scope)[0], "such call")


def grant_shown(scope: Scope) -> str:
    """Return the scope as a card shows it, behind "yes, and"."""
    kind, _ = _parts(scope)
    if kind == "always_exact":
        return _EXACT
    if name := _name(scope):
        return _NAMED[kind].format(name)
    if prefixes := _prefixes(scope):
        begins = " or ".join(f"`{visible_line(prefix, GRANT_CHARS_SHOWN)}`" for prefix in prefixes)
        return f"every command that begins with {begins}{grant_note(scope)}"
    shown = visible_line(grant_text(scope), GRANT_CHARS_SHOWN)
    return f"every {grant_label(scope)} {shown!r}{grant_note(scope)}"


def grant_note(scope: Scope) -> str:
    """Return, in brackets, what the engine says of the scope; empty if it says nothing."""
    note = _parts(scope)[1].get("note")
    return f" ({visible_line(note, NOTE_CHARS_SHOWN)})" if isinstance(note, str) and note else ""


def keeps(scope: Scope) -> tuple[str, ...]:
    """Return how long the yes can be kept, the shortest first."""
    return PERSISTS[: {"always_host": 1, "always_exact": 2}.get(_parts(scope)[0], 3)]


def covered(grant: Grant) -> str:
    """Return what a lasting yes covers, as `list_grants` told it."""
    if grant.kind not in _GRANTS:
        return f"{grant.tool}: of a form that this host cannot describe"
    covers = f" {visible_line(grant.covers, GRANT_CHARS_SHOWN)!r}" if grant.covers else ""
    more = "" if grant.kind == "host" else beyond(grant.sandbox)
    return f"{grant.tool}: {_GRANTS[grant.kind]}{covers}" + (f", {more}" if more else "")


def regrant(scope: Scope, text: str) -> Scope:
    """Return the scope with its text as the person left it."""
    kind, body = _parts(scope)
    return {kind: {**body, _KINDS[kind]: text}}


def _prefixes(scope: Scope) -> list[str]:
    kind, body = _parts(scope)
    found = body.get("prefixes")
    if kind != "always_prefixes" or not isinstance(found, list):
        return []
    return [each if isinstance(each, str) else "" for each in found]


def _name(scope: Scope) -> str:
    kind, body = _parts(scope)
    name = body.get(kind.removeprefix("always_"))
    return name if kind in _NAMED and isinstance(name, str) else ""


def _parts(scope: Scope) -> tuple[str, dict[str, Json]]:
    if isinstance(scope, str) or len(scope) != 1:
        return "", {}
    kind = next(iter(scope))
    body = scope[kind]
    return kind, body if isinstance(body, dict) else {}
