"""Rules of other engines as a policy of ours: never more permissive, and what differs is told.

Each format is a module with one function from the content of a file to a `Draft`. What cannot be
said exactly is said more strictly; an allow that cannot be said is left out, so that it asks.
"""

from collections.abc import Callable, Mapping
from typing import Final

from wcore.policy.importers.claude_code import from_claude_code
from wcore.policy.importers.codex import from_codex
from wcore.policy.importers.draft import Difference, Draft, ForeignError, Note, as_toml
from wcore.policy.importers.gemini import from_gemini
from wcore.policy.importers.opencode import from_opencode
from wcore.policy.rules.rule import ParseContext

#: Formats whose files are text that is read as it is.
TEXTS: Final[Mapping[str, Callable[[str, ParseContext], Draft]]] = {
    "codex": from_codex,
    "gemini": from_gemini,
}
#: Formats whose files are JSON, read before.
OBJECTS: Final[Mapping[str, Callable[[object, ParseContext], Draft]]] = {
    "claude": from_claude_code,
    "opencode": from_opencode,
}

__all__ = ["OBJECTS", "TEXTS", "Draft", "ForeignError", "Difference", "Note", "as_toml"]
