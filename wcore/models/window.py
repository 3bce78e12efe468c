"""What of a long conversation still goes to the model. Pure.

The strategy: first the oldest tool outputs are replaced by a short marker, then the oldest whole
turns are left out, and a summary stands in for them (`compaction.py`). A call is never parted from
its result, the newest results and the newest turn always stay. A cut only grows, and takes more
than it must, so that the text before it stays the same for many requests and the provider's
prompt cache keeps its worth.
"""

from collections.abc import Sequence
from enum import Enum, auto
from typing import Final

from msgspec import Struct

BYTES_PER_TOKEN: Final = 4  # corrected by what the provider reports
MARKER: Final = "[output left out: the conversation has grown too long]"
KEPT_SHARE: Final = 0.7  # of the room, after a cut


class EntryKind(Enum):
    """What an entry is to a cut."""

    TURN = auto()  # the user's message that begins a turn
    OUTPUT = auto()  # a tool's result
    OTHER = auto()


class Entry(Struct, frozen=True):
    """One entry of the history and its cost in tokens, whole and as a marker."""

    kind: EntryKind
    tokens: int
    short_tokens: int


class Cut(Struct, frozen=True):
    """Entries before `dropped` are left out, outputs before `shortened` are markers."""

    shortened: int = 0
    dropped: int = 0


def fit(entries: Sequence[Entry], room_tokens: float, cut: Cut) -> Cut:
    """Return `cut`, or a larger one if what it keeps does not fit into the room.

    The result may still be too much: then one turn alone is larger than the window.
    """
    left = sum(
        entry.short_tokens
        if at < cut.shortened and entry.kind is EntryKind.OUTPUT
        else entry.tokens
        for at, entry in enumerate(entries)
        if at >= cut.dropped
    )
    if left <= room_tokens:
        return cut
    target = room_tokens * KEPT_SHARE
    shortened, left = _shorten(entries, target, cut, left)
    dropped = cut.dropped
    if left > room_tokens:
        dropped = _drop(entries, left - target, Cut(shortened, dropped))
    return Cut(max(shortened, dropped), dropped)


def _shorten(entries: Sequence[Entry], target: float, cut: Cut, left: int) -> tuple[int, int]:
    newest = max((at for at, e in enumerate(entries) if e.kind is not EntryKind.OUTPUT), default=0)
    at = max(cut.shortened, cut.dropped)
    while left > target and at < newest:
        entry = entries[at]
        if entry.kind is EntryKind.OUTPUT:
            left -= entry.tokens - entry.short_tokens
        at += 1
    return at, left


def _drop(entries: Sequence[Entry], surplus: float, cut: Cut) -> int:
    """Return where to begin: the first turn behind enough tokens, else the newest turn."""
    dropped, gone = cut.dropped, 0
    for at in range(cut.dropped, len(entries)):
        entry = entries[at]
        if entry.kind is EntryKind.TURN and at > cut.dropped:
            dropped = at
            if gone >= surplus:
                return dropped
        is_short = at < cut.shortened and entry.kind is EntryKind.OUTPUT
        gone += entry.short_tokens if is_short else entry.tokens
    return dropped
