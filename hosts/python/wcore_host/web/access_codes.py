"""Who may come in: one-time codes that a start link carries, and the page tokens they yield.

A code works once and for a minute. A token lives as long as the server and is known to one page.
Only digests are kept, so that looking one up tells nothing about the others.
"""

from collections.abc import Callable
from hashlib import sha256
from secrets import token_urlsafe
from time import monotonic
from typing import Final

CODE_LIFE_S: Final = 60.0  # long enough to click a link, too short to be found later
CODES_MAX: Final = 16  # more links than a person follows within a minute
PAGES_MAX: Final = 64  # pages of one server; the one that came first is forgotten
SECRET_BYTES: Final = 32  # nobody guesses 256 bits


class AccessCodes:
    """The codes and tokens of one server."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._codes: dict[bytes, float] = {}  # digest to the end of its life
        self._pages: dict[bytes, str] = {}  # digest to a name for the page

    def code(self) -> str:
        """Return a new one-time code."""
        _make_room(self._codes, CODES_MAX)
        code = token_urlsafe(SECRET_BYTES)
        self._codes[_digest(code)] = self._now() + CODE_LIFE_S
        return code

    def enter(self, code: str) -> str | None:
        """Take a code back and return a page token; `None`: unknown, used, or too old."""
        ends_at = self._codes.pop(_digest(code), None)
        if ends_at is None or self._now() >= ends_at:
            return None
        _make_room(self._pages, PAGES_MAX)
        token = token_urlsafe(SECRET_BYTES)
        self._pages[_digest(token)] = token_urlsafe(6)
        return token

    def page(self, token: str) -> str | None:
        """Return the name of the page that has `token`, `None` if nobody has."""
        return self._pages.get(_digest(token))


def _digest(secret: str) -> bytes:
    return sha256(secret.encode(errors="replace")).digest()


def _make_room(kept: dict[bytes, float] | dict[bytes, str], entries_max: int) -> None:
    """Forget the oldest entry if one more would be too many."""
    while len(kept) >= entries_max:
        kept.pop(next(iter(kept)))  # pyright: ignore[reportArgumentType] - both keys are bytes
