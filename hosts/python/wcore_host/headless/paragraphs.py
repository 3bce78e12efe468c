"""Where a stream of Markdown can be cut so that its beginning never changes. Pure."""

import re
from typing import Final

BLOCK_CHARS_MAX: Final = 8 * 1024  # drawn again with every frame while it grows

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


def split_at(text: str) -> tuple[int, str] | None:
    """Return where `text` can be cut so that its beginning never changes again.

    The second value is what the rest must begin with (an opened code fence). Between two
    paragraphs a cut changes nothing; text that is too long is cut at any line, or anywhere.
    """
    fence, before, at, safe, last = "", "", 0, 0, 0
    blank = False
    for line in text.splitlines(keepends=True):
        if blank and not fence and line.strip() and not line[0].isspace():
            safe = at
        found, before = _FENCE.match(line), fence
        if found and not fence:
            fence = found[0].strip("\r\n")
        elif found and _closes(found, fence):
            fence = ""
        blank = not line.strip()
        last, at = at, at + len(line)
    if safe:
        return safe, ""
    if len(text) <= BLOCK_CHARS_MAX:
        return None
    cut = last if last > len(before) + 1 else BLOCK_CHARS_MAX  # one line may be all of it
    return cut, (f"{before}\n" if before else "")


def _closes(found: re.Match[str], fence: str) -> bool:
    mark = fence.strip()[0]
    opened = len(fence.strip()) - len(fence.strip().lstrip(mark))
    return found[1][0] == mark and len(found[1]) >= opened and not found[2].strip()
