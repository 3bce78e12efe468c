"""What the modes of an engine mean to a person, and which of them let more run. Pure."""

from typing import Final

START_MODE: Final = "read_only"  # of hosts of people, where nobody chose one
MODES: Final = {  # in their order, least first
    "plan": "reading, and commands that cannot write, run unasked; all else is denied",
    "default": "every call asks",
    "read_only": "reading the workspace runs unasked",
    "auto_edit": "reading and editing in the workspace run unasked",
    "auto_run": "reading, editing, and commands in the sandbox run unasked",
    "force": "everything runs unasked, commands included",
}
_WHOLE: Final = frozenset({"plan", "default", "force"})  # their words say what becomes of the rest
_AS_MUCH: Final = {"plan": "read_only"}  # as much runs unasked, and nothing can be changed


def meaning(mode: str) -> str:
    """Return what a mode means, and what becomes of all other calls."""
    rest = "" if mode in _WHOLE else ", everything else asks first"
    return f"{MODES.get(mode, 'see /mode')}{rest}"


def is_raise(current: str, wanted: str) -> bool:
    """Whether `wanted` lets more run unasked; a mode we do not know might."""
    order = list(MODES)
    if current in MODES and wanted in MODES:
        now, then = (order.index(_AS_MUCH.get(mode, mode)) for mode in (current, wanted))
        return then > now
    return wanted != current
