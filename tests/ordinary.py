"""How tests become an ordinary user: root may look into every process, which proves nothing."""

import os
from pathlib import Path
from typing import Final

import pytest

SETPRIV: Final = "/usr/bin/setpriv"
NOBODY: Final = 65534
_ROOTS_OWN: Final = (  # it still reads root's files: Python and this repository may lie there
    f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all,+dac_read_search",
    "--ambient-caps=-all,+dac_read_search", "--bounding-set=-all,+dac_read_search",
)  # fmt: skip


def become() -> list[str]:
    """Return the words before a command line that make it an ordinary user's."""
    if os.geteuid() != 0:
        return []
    if not os.access(SETPRIV, os.X_OK):
        pytest.skip("setpriv is missing")
    return [SETPRIV, *_ROOTS_OWN]


def read_as_told() -> list[str]:
    """Return the words before a command line that reads only what the modes of files let it."""
    if os.geteuid() != 0:
        return []
    if not os.access(SETPRIV, os.X_OK):
        pytest.skip("setpriv is missing")
    powers = "-dac_override,-dac_read_search"
    return [SETPRIV, f"--inh-caps={powers}", f"--bounding-set={powers}"]


def give(*folders: Path) -> None:
    """Give these folders and all in them to that user."""
    if os.geteuid() == 0:
        for folder in folders:
            for path in (folder, *folder.rglob("*")):
                os.lchown(path, NOBODY, NOBODY)
