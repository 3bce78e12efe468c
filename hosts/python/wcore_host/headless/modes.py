"""What the modes of an engine mean to a person, and which of them let more run. Pure."""

from typing import Final

MODES: Final = {  # in their order, least first
    "default": "every call asks",
    "read_only": "reading the workspace runs unasked",
    "auto_edit": "reading and editing in the workspace run unasked",
    "force": "everything runs unasked, commands included",
}


def is_raise(current: str, wanted: str) -> bool:
    """Whether `wanted` lets more run unasked; a mode we do not know might."""
    order = list(MODES)
    if current in MODES and wanted in MODES:
        return order.index(wanted) > order.index(current)
    return wanted != current
