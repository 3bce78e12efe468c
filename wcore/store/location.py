"""Where the memory is: a file in the user's state folder, another file, or a PostgreSQL URL."""

import os
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from wcore.errors import UsageError
from wcore.store.errors import StoreError
from wcore.user_folders import home, lies_in, state_folder

FILE_NAME: Final = "wcore.db"
NONE: Final = "none"  # instead of a place: the conversation is in memory
_ENDINGS: Final = ("", "-wal", "-shm", "-journal")
_URL_SCHEMES: Final = ("postgresql://", "postgres://")


class Location(Struct, frozen=True):
    """One store. `path` of a file, or `url` of a server; `own_folder`: only wcore uses it.

    Without `is_kept` there is no store, and nothing is kept. `in_workspace`: the state folder leads
    there, so whoever made the workspace may have made the store; it is never opened.
    """

    name: str
    path: str = ""
    url: str | None = None
    own_folder: bool = False
    is_kept: bool = True
    in_workspace: bool = False

    def __repr__(self) -> str:
        return f"Location({self.name!r})"  # the URL may hold a password

    @property
    def files(self) -> tuple[str, ...]:
        """The files of a store in a file: the database, and what SQLite keeps beside it."""
        in_file = self.is_kept and self.url is None
        return () if not in_file else tuple(f"{self.path}{end}" for end in _ENDINGS)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What of the URL must be told to nobody: its passwords, as written and as meant."""
        try:
            parts = urlsplit(self.url or "")
            given = [parts.password or ""]
        except ValueError:  # not a URL; the client will say so
            return ()
        fields = (field.partition("=") for field in parts.query.split("&"))
        given += [value for name, _, value in fields if "password" in name]
        return tuple(dict.fromkeys(text for one in given for text in (one, unquote(one)) if text))

    @property
    def exists(self) -> bool:
        """Whether there is anything to read; a server is supposed to be there."""
        return self.url is not None or os.path.exists(self.path)


def locate(given: str | None, environ: Mapping[str, str], workspace: str | None = None) -> Location:
    """Return the store that was asked for; `workspace` is absolute and resolved. Opens nothing.

    `given` is what `--store` says; without it `WCORE_STORE` counts, then the default place.

    Raises:
        StoreError: it is no place for a store.
        UsageError: it is no name of one.
    """
    chosen = given or environ.get("WCORE_STORE")
    if chosen == NONE:
        return Location(NONE, is_kept=False)
    if chosen and chosen.startswith(":"):  # other programs take `:memory:`
        raise UsageError(f"--store {chosen[:40]!r} names no store; to keep nothing: --store none")
    if not chosen:
        path = os.path.realpath(os.path.join(state_folder(environ), FILE_NAME))
        is_inside = workspace is not None and lies_in(path, workspace)
        return Location(path, path, own_folder=True, in_workspace=is_inside)
    if chosen.startswith(_URL_SCHEMES):
        return Location(_without_secrets(chosen), url=chosen)
    if "://" in chosen:
        scheme = chosen.partition("://")[0][:40]
        raise StoreError(
            repr(scheme + "://…"), "is of no known kind", "give a file or a postgresql:// URL"
        )
    path = os.path.realpath(_expanded(chosen, environ))
    if workspace is not None and lies_in(path, workspace):
        raise StoreError(
            path,
            "would lie in the workspace, where tools and other people can change it",
            "name a file outside of it",
        )
    return Location(path, path)


def _expanded(chosen: str, environ: Mapping[str, str]) -> str:
    """Return a path without `~`, which is the home folder here, whatever HOME is."""
    if chosen == "~" or chosen.startswith("~/"):
        return home(environ) + chosen[1:]
    path = os.path.expanduser(chosen)
    if path.startswith("~"):
        raise UsageError(
            f"--store {chosen[:40]!r}: there is no such user; a file is ./{chosen[:40]}"
        )
    return path


def _without_secrets(url: str) -> str:
    try:
        parts = urlsplit(url)
        user = f"{parts.username}@" if parts.username else ""
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "postgresql://…"
    return f"postgresql://{user}{host}{parts.path}"
