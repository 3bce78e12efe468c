"""Which content a file has: known by who has read or written it, told to nobody."""

from msgspec import Struct


class FileContent(Struct, frozen=True):
    """Which content the file at a real path has, by its digest.

    `made_from` is the digest of what a change was made to, `None` where nothing was changed.
    """

    path: str
    digest: str
    made_from: str | None = None
