"""Looks up on disk whether `python -m NAME` would import what lies in the folder where it starts.

Python looks there first, for the module and for all that it imports: with a `json/` or an
`argparse.py` in the workspace, `python -m json.tool` runs the workspace's code.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Final

from wcore.policy.shell.other_programs import MODULE
from wcore.vocabulary import ProgramFact

ENTRIES_MAX: Final = 4096  # of a folder; one with more may have any module

_NAMED: Final = re.compile(r"-m(?:[ \t]|\\\n)+([A-Za-z_][\w.]*)")
_ENDINGS: Final = (".py", ".pyc", ".so")


def shadowed_modules(command: str, folders: Iterable[str]) -> Iterator[ProgramFact]:
    """Yield the modules of `command` that would be, or import, what lies in one of `folders`.

    A fact `shadows` where the library of Python is overlaid, which every module imports. Blocks.
    """
    named = dict.fromkeys(_NAMED.findall(command))
    if not named:
        return
    found: set[str] = set()
    for folder in folders:
        found |= _modules(folder)
    for module in named:
        top = module.partition(".")[0]
        of_library = found & sys.stdlib_module_names
        if top in found and top not in sys.stdlib_module_names:
            yield ProgramFact(MODULE + module, top, inside=True)
        elif of_library:
            yield ProgramFact(MODULE + module, min(of_library), inside=True, shadows=True)


def _modules(folder: str) -> set[str]:
    """Return the names that can be imported from a folder; those of the library, if in doubt."""
    found: set[str] = set()
    try:
        with os.scandir(folder) as entries:
            for count, entry in enumerate(entries):
                if count >= ENTRIES_MAX:
                    return set(sys.stdlib_module_names)
                if entry.name.endswith(_ENDINGS) or _is_package(entry):
                    found.add(entry.name.partition(".")[0])
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return found  # nothing can start there
    except OSError:
        return set(sys.stdlib_module_names)
    return found


def _is_package(entry: os.DirEntry[str]) -> bool:
    """Whether a folder is imported; one of the library's name only where it has an `__init__`."""
    if not entry.is_dir():
        return False
    if entry.name not in sys.stdlib_module_names:
        return True
    return any(name.startswith("__init__.") for name in os.listdir(entry.path))
