"""Where the memory is: a file in the user's state folder, another file, or a PostgreSQL URL."""

import os
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from wcore.store.errors import StoreError

FILE_NAME: Final = "wcore.db"
_ENDINGS: Final = ("", "-wal", "-shm", "-journal")
_URL_SCHEMES: Final = ("postgresql://", "postgres://")


class Location(Struct, frozen=True):
    """One store. `path` of a file, or `url` of a server; `own_folder`: only wcore uses it."""

    name: str
    path: str = ""
    url: str | None = None
    own_folder: bool = False

    def __repr__(self) -> str:
        return f"Location({self.name!r})"  # the URL may hold a password

    @property
    def files(self) -> tuple[str, ...]:
        """The files of a store in a file: the database, and what SQLite keeps beside it."""
        return () if self.url is not None else tuple(f"{self.path}{end}" for end in _ENDINGS)

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
    """Return the store that was asked for; `workspace` is absolute and resolved. No I/O.

    `given` is what `--store` says; without it `WCORE_STORE` counts, then the default place.

    Raises:
        StoreError: it is no place for a store.
    """
    chosen = given or environ.get("WCORE_STORE")
    if not chosen:
        path = os.path.realpath(os.path.join(_state_folder(environ), "wcore", FILE_NAME))
        return Location(path, path, own_folder=True)
    if chosen.startswith(_URL_SCHEMES):
        return Location(_without_secrets(chosen), url=chosen)
    if "://" in chosen:
        scheme = chosen.partition("://")[0][:40]
        raise StoreError(
            repr(scheme + "://…"), "is of no known kind", "give a file or a postgresql:// URL"
        )
    path = os.path.realpath(os.path.expanduser(chosen))
    if workspace is not None and f"{path}/".startswith(workspace.rstrip("/") + "/"):
        raise StoreError(
            path,
            "would lie in the workspace, where tools and other people can change it",
            "name a file outside of it",
        )
    return Location(path, path)


def _state_folder(environ: Mapping[str, str]) -> str:
    folder = environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(folder):  # a relative one is invalid and ignored, says the XDG standard
        return folder
    home = environ.get("HOME") or os.path.expanduser("~")
    return os.path.join(home, ".local", "state")


def _without_secrets(url: str) -> str:
    try:
        parts = urlsplit(url)
        user = f"{parts.username}@" if parts.username else ""
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "postgresql://…"
    return f"postgresql://{user}{host}{parts.path}"
