"""Whether the audit is as it was written: which rows were altered, removed, moved or cut off."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from wcore.store.audit import COLUMNS, FIRST_PREV_HASH, hash_of, pages
from wcore.store.database import Database

PROBLEMS_MAX: Final = 100  # after that everybody knows
MOVED_ROWS_MAX: Final = 250  # how far from its old place a moved row is recognised

_SEQ: Final = COLUMNS.index("seq")
_PREV_HASH: Final = COLUMNS.index("prev_hash")
_HASH: Final = COLUMNS.index("hash")
_HEAD: Final = re.compile(r"([0-9]{1,18}):([0-9a-f]{64})", re.IGNORECASE)


class Head(Struct, frozen=True):
    """The end of the chain at some moment; kept elsewhere, it shows a later truncation."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> "Head":
        """Read `SEQ:HASH`.

        Raises:
            ValueError: it is something else.
        """
        found = _HEAD.fullmatch(text)
        if found is None:
            raise ValueError("a head is SEQ:HASH, as `wcore audit verify` prints it")
        return cls(int(found[1]), found[2].lower())


class Problem(Struct, frozen=True):
    """One thing that is wrong. `kind`: `altered`, `removed`, `reordered` or `truncated`."""

    kind: str
    seq: int
    detail: str


class AuditReport(Struct, frozen=True):
    """What a pass over the audit found. Without `checked_head` a truncation cannot be seen."""

    rows: int
    head: Head
    problems: tuple[Problem, ...]
    checked_head: Head | None = None
    more_problems: bool = False

    @property
    def intact(self) -> bool:
        return not self.problems


def verify(database: Database, head: Head | None = None) -> AuditReport:
    """Check every row in one pass; memory stays flat however many there are.

    Raises:
        StoreError: the rows cannot be read.
    """
    end = Head(0, FIRST_PREV_HASH)
    trusted = True  # the row before is as it was written, so the next one must follow it
    rows = 0
    problems: list[Problem] = []
    seen_head = head is None or head == end
    for page in pages(database):
        for row in page:
            rows += 1
            if len(problems) <= PROBLEMS_MAX:
                found = _problems_of(row, end, trusted=trusted)
                problems += found
                trusted = all(problem.kind == "removed" for problem in found)
            end = Head(_number(row), str(row[_HASH]))
            if head is not None and end.seq == head.seq:
                problems += _against_head(end, head)
                seen_head = True
    if head is not None and not seen_head:
        problems.append(
            Problem(
                "truncated",
                head.seq,
                f"the row of the given head is missing; the audit ends at row {end.seq}",
            )
        )
    return AuditReport(
        rows, end, tuple(problems[:PROBLEMS_MAX]), head, len(problems) > PROBLEMS_MAX
    )


def _problems_of(row: Sequence[object], before: Head, *, trusted: bool) -> list[Problem]:
    seq, expected = _number(row), before.seq + 1
    if hash_of(row, str(row[_PREV_HASH])) != row[_HASH]:
        was = _former_seq(row)
        if was is not None:
            return [Problem("reordered", seq, f"row {seq} was written as row {was}")]
        return [
            *_gap(expected, seq),
            Problem("altered", seq, f"row {seq} is not as it was written"),
        ]
    if seq != expected:
        return _gap(expected, seq)
    if row[_PREV_HASH] == before.hash or not trusted:
        return []
    if before.seq == 0:
        return [Problem("altered", seq, f"row {seq} does not begin the chain")]
    return [
        Problem(
            "altered",
            before.seq,
            f"row {before.seq} was written anew: row {seq} follows another one",
        )
    ]


def _gap(expected: int, seq: int) -> list[Problem]:
    if seq == expected:
        return []
    gone = f"row {expected} is" if seq == expected + 1 else f"rows {expected} to {seq - 1} are"
    return [Problem("removed", expected, f"{gone} missing")]


def _former_seq(row: Sequence[object]) -> int | None:
    """Return the place a row was written for, if only its number was changed."""
    seq, prev_hash = _number(row), str(row[_PREV_HASH])
    other = list(row)
    for candidate in range(max(1, seq - MOVED_ROWS_MAX), seq + MOVED_ROWS_MAX + 1):
        other[_SEQ] = candidate
        if hash_of(other, prev_hash) == row[_HASH]:
            return candidate
    return None


def _against_head(found: Head, head: Head) -> Iterator[Problem]:
    if found.hash != head.hash:
        yield Problem("altered", found.seq, f"row {found.seq} has another hash than the given head")


def _number(row: Sequence[object]) -> int:
    seq = row[_SEQ]
    return seq if isinstance(seq, int) else 0
