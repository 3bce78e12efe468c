"""Names that people would call the same: other blanks, composed letters or widths at most.

Models write plain blanks and composed letters whatever stands on the disk; macOS composes none.
"""

import json
import os
from itertools import islice
from typing import Final

SIBLINGS_MAX: Final = 10_000  # of a folder that are compared with a name that is missing
_WIDTHS: Final = ("<wide>", "<narrow>", "<noBreak>")


def looks_same(one: str, other: str) -> bool:
    """Tell whether two names look the same."""
    return _plain(one) == _plain(other)


def alike(folder: str, name: str) -> list[str]:
    """Return the names in `folder` that look like `name`; none if there are too many to tell."""
    try:
        with os.scandir(folder) as entries:
            names = [each.name for each in islice(entries, SIBLINGS_MAX + 1)]
    except OSError:
        return []
    wanted = _plain(name)
    return [each for each in names if _plain(each) == wanted] if len(names) <= SIBLINGS_MAX else []


def lookalike(path: str) -> str | None:
    """Return what stands in the place of the first missing name of `path`, and looks the same."""
    found = "/"
    for name in path.split("/"):
        if name and not os.path.lexists(os.path.join(found, name)):
            names = alike(found, name)
            return os.path.join(found, names[0]) if names else None
        found = os.path.join(found, name)
    return None


def true_name(path: str) -> str:
    """Say the name of what was not found under the one that was given; JSON can repeat it."""
    name = json.dumps(os.path.basename(path))
    return f"its name is {name}: other blanks or letters than were given"


def _plain(name: str) -> str:
    if name.isascii():
        return name
    from unicodedata import decomposition, normalize  # noqa: PLC0415 - nearly no name needs it

    return normalize(
        "NFC",
        "".join(
            normalize("NFKC", char)
            if char.isspace() or decomposition(char).startswith(_WIDTHS)
            else char
            for char in name
        ),
    )
