"""The user's own folders, as the environment names them, and whether they are the user's at all.

A folder belongs to whoever may write it. What leads into the workspace was laid there by whoever
made the workspace, whatever HOME or an XDG variable calls it; see `lies_in`.
"""

import os
import pwd
from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePath
from typing import Final

from wcore.errors import ConfigError

_NAMES: Final = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


def home(environ: Mapping[str, str]) -> str:
    """Return the home folder: HOME if it is absolute, else what the password database says.

    Raises:
        ConfigError: neither names one.
    """
    with suppress(KeyError):  # a user without a name, as in some containers
        found = environ.get("HOME", "")
        found = found if os.path.isabs(found) else pwd.getpwuid(os.getuid()).pw_dir
        if os.path.isabs(found):
            return found
    raise ConfigError("there is no home folder: set HOME to an absolute path")


def config_folder(environ: Mapping[str, str]) -> str:
    """Return wcore's folder of configuration, absolute and resolved; it may not be there."""
    return _own(environ, "XDG_CONFIG_HOME", ".config")


def state_folder(environ: Mapping[str, str]) -> str:
    """Return wcore's folder of state, absolute and resolved; it may not be there."""
    return _own(environ, "XDG_STATE_HOME", ".local/state")


def ignored(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence for each variable that names no absolute folder, and so none."""
    given = {name: environ.get(name, "") for name in _NAMES}
    return tuple(
        f"{name} is ignored: it must be an absolute path, and `~` is not expanded in it"
        for name, value in given.items()
        if value and not os.path.isabs(value)
    )


def lies_in(path: str, folder: str) -> bool:
    """Whether `path` leads to `folder` or below it, by whatever name; `folder` is resolved.

    Links are followed, the case of letters is not looked at, and a folder that is mounted at two
    places is one. A path that is not there yet lies where it would come to be.
    """
    real = os.path.realpath(path)
    if f"{real}/".casefold().startswith(f"{folder.rstrip('/')}/".casefold()):
        return True
    with suppress(OSError):
        wanted = os.stat(folder)
        for above in (real, *map(str, PurePath(real).parents)):
            with suppress(OSError):
                if os.path.samestat(os.stat(above), wanted):
                    return True
    return False


def _own(environ: Mapping[str, str], name: str, below_home: str) -> str:
    """Return wcore's folder in an XDG folder; a relative one is ignored, as the standard says."""
    given = environ.get(name, "")
    root = given if os.path.isabs(given) else os.path.join(home(environ), below_home)
    return os.path.realpath(os.path.join(root, "wcore"))
