"""Lasting yeses as a person reads and edits them. Pure."""

from typing import Final

from wcore_host.events import Json, Scope
from wcore_host.visible import visible_line

GRANT_CHARS_SHOWN: Final = 200
_KINDS: Final = {"always_prefix": "prefix", "always_path": "root"}
_LABELS: Final = {
    "always_prefix": "command that starts with",
    "always_path": "reading below",
}


def grant_text(scope: Scope) -> str:
    """Return the editable part of a suggested scope; empty if there is none."""
    kind, body = _parts(scope)
    text = body.get(_KINDS.get(kind, ""))
    return text if isinstance(text, str) else ""


def grant_label(scope: Scope) -> str:
    """Return what kind of calls the scope speaks of."""
    return _LABELS.get(_parts(scope)[0], "such call")


def grant_shown(scope: Scope) -> str:
    """Return the scope as a card shows it."""
    return f"{grant_label(scope)} {visible_line(grant_text(scope), GRANT_CHARS_SHOWN)!r}"


def regrant(scope: Scope, text: str) -> Scope:
    """Return the scope with its text as the person left it."""
    kind, body = _parts(scope)
    return {kind: {**body, _KINDS[kind]: text}}


def _parts(scope: Scope) -> tuple[str, dict[str, Json]]:
    if isinstance(scope, str):
        return scope, {}
    kind = next(iter(scope), "")
    body = scope.get(kind)
    return kind, body if isinstance(body, dict) else {}
