"""Which variables bash sets or treats itself, and what they hold. Tables."""

from collections.abc import Sequence
from typing import Final

from wcore.policy.shell_paths.values import ANYTHING, EMPTY, Value, text

_PUBLIC: Final = frozenset(["HOME", "USER", "LOGNAME", "SHELL", "PATH", "TMPDIR"])
#: Bash sets these by itself; where it did not, they are empty.
_COMPUTED: Final = frozenset(
    "RANDOM SRANDOM SECONDS LINENO PPID UID EUID HOSTNAME HOSTTYPE MACHTYPE OSTYPE SHLVL FUNCNAME"
    " EPOCHSECONDS EPOCHREALTIME OPTIND OPTARG OPTERR GROUPS PIPESTATUS REPLY MAPFILE COPROC"
    " PS1 PS2 PS3 HISTCMD HISTFILE TIMEFORMAT SHELL TERM PATH LINES COLUMNS SHELLOPTS".split()
)
_COMPUTED_TOO: Final = ("BASH", "COMP_", "READLINE_", "HIST")
_INHERITED: Final = frozenset(["PATH", "SHELL", "TERM"])  # as they were given, where they were
#: Who assigns these changes how words are read; a child shell inherits it.
OPTIONS: Final = frozenset(["GLOBIGNORE", "BASHOPTS", "SHELLOPTS", "BASH_ENV", "ENV"])


def is_computed(name: str) -> bool:
    """Whether bash gives it other values than those that it was assigned."""
    return name in _COMPUTED or name.startswith(_COMPUTED_TOO)


def is_public(name: str) -> bool:
    """Whether its value may be told."""
    return name in _PUBLIC or name.startswith("XDG_")


def own_values(name: str, given: Sequence[Value]) -> list[Value] | None:
    """Return what bash may make of a variable; `None`: it is one like any other.

    `given`: its value in the environment, if it is there.
    """
    if name == "IFS":
        return [text(" \t\n")]  # whatever the environment says
    if name == "PS4":
        return [text("+ "), EMPTY, *given]
    if is_computed(name) and not (given and name in _INHERITED):
        return [ANYTHING, EMPTY, *given]
    return None
