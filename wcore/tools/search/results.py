"""What a search finds, whoever searched, and how it is shown."""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct, field

from wcore.tools.fs.walk import Root, plain_name

LINE_CHARS_MAX: Final = 1000  # of a line in a result
BEFORE_CHARS: Final = 200  # kept before a hit far into a long line
RECORD_BYTES_MAX: Final = 8 * 1024 * 1024  # of one line of the helper's output


class Query(Struct, frozen=True):
    """What to look for. `max_results` counts matching lines."""

    pattern: str
    ignore_case: bool
    context: int
    max_results: int
    wanted: Callable[[str], bool]


class ResultLine(Struct, frozen=True):
    """One line of a result: `start` is where the match begins, `None` for context."""

    path: str
    line: int
    text: str
    start: int | None


class SearchResults(Struct):
    """Everything found, in order of files and lines."""

    hits: list[ResultLine] = field(default_factory=list[ResultLine])
    protected: int = 0
    overlong: int = 0
    matches: int = 0

    def add(self, hit: ResultLine) -> None:
        """Take the next line."""
        self.hits.append(hit)
        self.matches += hit.start is not None


class RecordSplitter:
    """Splits a helper's output into lines; an overlong one is dropped and counted."""

    def __init__(self, take: Callable[[bytes], bool]) -> None:
        self._take = take
        self._buffer = bytearray()
        self._dropping = False
        self.dropped = 0

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes; false as soon as a record was the last one wanted."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            record, dropping = bytes(self._buffer) + line, self._dropping
            self._buffer.clear()
            self._dropping = False
            if not dropping and not self._take(record):
                return False
        if len(self._buffer) + len(rest) > RECORD_BYTES_MAX and not self._dropping:
            self._dropping = True
            self.dropped += 1
        if self._dropping:
            self._buffer.clear()
        else:
            self._buffer += rest
        return True


def excerpt(text: str, start: int | None) -> str:
    """Return the part of a line that is shown."""
    if len(text) <= LINE_CHARS_MAX:
        return text
    first = max((start or 0) - BEFORE_CHARS, 0)
    first = min(first, len(text) - LINE_CHARS_MAX)
    cut = text[first : first + LINE_CHARS_MAX]
    return f"{'…' if first else ''}{cut}…"


def laid_out(root: Root, hits: Sequence[ResultLine], *, context: bool) -> str:
    """Return `path:line:text` lines; context lines as `path-line-text`, groups split by `--`."""
    lines: list[str] = []
    last: tuple[str, int] | None = None
    for hit in hits:
        if not root.holds(hit.path):
            continue
        if context and last is not None and last != (hit.path, hit.line - 1):
            lines.append("--\n")
        last = (hit.path, hit.line)
        mark = ":" if hit.start is not None else "-"
        text = excerpt(hit.text, hit.start).replace("\r", "␍").replace("\n", "␊")
        lines.append(f"{plain_name(hit.path)}{mark}{hit.line}{mark}{text}\n")
    return "".join(lines)
