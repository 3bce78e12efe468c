"""What child processes see of the environment, and where programs are looked for."""

import os
import sys
from collections.abc import Mapping
from typing import Final

from wcore.tools.fs.paths import inside

# Each of these changes what a shell text means or makes bash read a file (see SHELL rules in
# the specification): commands must run as they were analysed.
_REMOVED: Final = frozenset(
    {
        "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "IFS", "CDPATH", "GLOBIGNORE",
        "EXECIGNORE", "POSIXLY_CORRECT", "POSIX_PEDANTIC", "POSIX_PEDANDTIC", "BASH_COMPAT",
        "BASH_XTRACEFD", "LANG", "LANGUAGE", "LOCPATH", "RIPGREP_CONFIG_PATH",
    }
)  # fmt: skip
_REMOVED_PREFIXES: Final = ("BASH_FUNC_", "LC_")
#: What git is told in every child: a repository that a model wrote must not run its commands.
_GIT_CONFIG: Final = (
    ("safe.bareRepository", "explicit"),  # a `HEAD`, `config` and `objects/` are no repository
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
)
_GIT_COUNT_MAX: Final = 9999  # of entries by the environment; git reads them one by one
#: What starts an editor without a terminal would wait in it until its time is over.
_NO_EDITOR: Final = dict.fromkeys(
    ("EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"),
    'sh -c \'echo "no editor here: give the text with -m, or keep it with GIT_EDITOR=true" >&2; '
    "exit 1'",
)
_PATH_DEFAULT: Final = "/usr/local/bin:/usr/bin:/bin"
_SYSTEM_FOLDERS: Final = ("/bin", "/usr/bin")


def child_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return a child's environment: C.UTF-8, absolute PATH, no editor, nothing to re-route bash."""
    kept = {
        name: value
        for name, value in environ.items()
        if name not in _REMOVED and not name.startswith(_REMOVED_PREFIXES)
    }
    folders = [folder for folder in kept.get("PATH", "").split(":") if folder.startswith("/")]
    fixed = {"PATH": ":".join(folders) or _PATH_DEFAULT, "LC_ALL": "C.UTF-8"}
    return {**kept, **fixed, **_NO_EDITOR, **_git_config(kept)}


def _git_config(environ: Mapping[str, str]) -> dict[str, str]:
    """Return entries behind those that the user has in the environment: the last one counts."""
    given = environ.get("GIT_CONFIG_COUNT", "")
    count = int(given) if given.isascii() and given.isdecimal() and len(given) <= 4 else 0
    count = min(count, _GIT_COUNT_MAX)
    added = {"GIT_CONFIG_COUNT": str(count + len(_GIT_CONFIG))}
    for number, (key, value) in enumerate(_GIT_CONFIG, count):
        added |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return added


def find_bash(environ: Mapping[str, str], workspace: str) -> str | None:
    """Return the absolute path of bash: the system's own first."""
    return _found("bash", (*_SYSTEM_FOLDERS, *_path_folders(environ)), workspace)


def find_ripgrep(environ: Mapping[str, str], workspace: str) -> str | None:
    """Return the absolute path of ripgrep, also one installed beside this interpreter."""
    beside = os.path.join(os.path.dirname(sys.executable), "rg")
    if sys.executable and _runnable(beside):
        return beside
    return _found("rg", _path_folders(environ), workspace)


def _path_folders(environ: Mapping[str, str]) -> list[str]:
    return child_environment(environ)["PATH"].split(":")


def _found(name: str, folders: tuple[str, ...] | list[str], workspace: str) -> str | None:
    """Find a program, but never one that the project itself brings along."""
    for folder in folders:
        path = os.path.join(folder, name)
        if _runnable(path) and not inside(workspace, os.path.realpath(path)):
            return path
    return None


def _runnable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
