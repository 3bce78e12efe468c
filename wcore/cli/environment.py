"""What the environment means to us: folders and PATH."""

import os
from collections.abc import Mapping, MutableMapping

from wcore import user_folders
from wcore.errors import UsageError
from wcore.policy.protected import Places, is_within


def settle_home(environ: MutableMapping[str, str]) -> tuple[str, ...]:
    """Make HOME the home folder also where it names none; return what people should be told.

    Whatever expands `~` from here on, children too, would else look in the folder it runs in.

    Raises:
        ConfigError: there is no home folder.
    """
    told = user_folders.ignored(environ)
    environ["HOME"] = user_folders.home(environ)
    return told


def take_store(environ: MutableMapping[str, str]) -> None:
    """Remove where the store is from what children see; a URL may hold a password."""
    environ.pop("WCORE_STORE", None)


def refuse_plugins(environ: MutableMapping[str, str]) -> None:
    """Keep pydantic from loading what other packages bring: it would see every command and event.

    Looking for it takes milliseconds as well. For this process, not for its children.
    """
    environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"


def folder(given: str | None) -> str:
    """Return the folder that `--cwd` names, or the current one; absolute.

    Raises:
        UsageError: there is no such folder.
    """
    try:
        cwd = os.path.abspath(given or os.curdir)
    except FileNotFoundError:
        gone = "the current folder does not exist any more"
        raise UsageError(f"{gone}: cd to another one, or name one with --cwd") from None
    if not os.path.isdir(cwd):
        raise UsageError(f"{given}: there is no such folder")
    return cwd


def places(cwd: str, environ: Mapping[str, str], store: tuple[str, ...] = ()) -> Places:
    """Return the folders the decision must know, with every symlink resolved.

    `store`: the files of the store, wherever it is.

    Raises:
        ConfigError: there is no home folder.
    """
    workspace = os.path.realpath(cwd)
    on_path = {os.path.realpath(f) for f in environ.get("PATH", "").split(os.pathsep) if f}
    return Places(
        workspace=workspace,
        home=os.path.realpath(user_folders.home(environ)),
        own=(user_folders.config_folder(environ), user_folders.state_folder(environ), *store),
        on_path=tuple(sorted(f for f in on_path if is_within(f, workspace) and f != workspace)),
    )
