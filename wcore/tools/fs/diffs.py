"""Unified diffs for cards and results, in bounded time and size."""

from collections.abc import Iterator, Sequence
from typing import Final

from wcore.tools.fs.text_encoding import line_end
from wcore.tools.truncate import truncate
from wcore.visible import visible, visible_line
from wcore.vocabulary import OUTPUT_BYTES_MAX, PREVIEW_BYTES_MAX, Preview

LINES_MAX: Final = 2000  # difflib is quadratic at worst; beyond this nothing is matched
CONTEXT_LINES: Final = 3  # as diff and git show it
NAME_CHARS_MAX: Final = 1000  # a header line, not a path that goes on for ever
_CUT: Final = "[diff cut here: it is longer than can be shown]"


def unified(name: str, before: str | None, after: str | None, notes: Sequence[str] = ()) -> str:
    """Return the unified diff from `before` to `after`; `None` means that there is no file.

    `notes`, about what a diff does not show, stand before it, as `git diff` has its own.
    """
    old, new = _lines(before or ""), _lines(after or "")
    body = "".join(_body(old, new))
    if not body and not notes and before is not None and after is not None:
        return ""
    label = visible_line(name, NAME_CHARS_MAX)
    source = "/dev/null" if before is None else f"a/{label}"
    target = "/dev/null" if after is None else f"b/{label}"
    head = "".join(f"[{note}]\n" for note in notes)
    return f"{head}--- {source}\n+++ {target}\n{body}"


def preview(name: str, before: str | None, after: str | None, notes: Sequence[str] = ()) -> Preview:
    """Return the card's diff: whole or marked as cut, with everything invisible marked.

    CR is not marked where both sides end every line with it; a change of line ends is seen.
    """
    ends = {line_end(side) for side in (before, after) if side}
    if len(ends) == 1 and (end := ends.pop()):
        before = before and before.replace(end, "\n")
        after = after and after.replace(end, "\n")
    start = unified(name, before, after, notes)[: PREVIEW_BYTES_MAX + 1]  # enough to see a cut
    text, cut = truncate(visible(start), PREVIEW_BYTES_MAX, _CUT)
    return Preview("diff", text, truncated=cut)


def result(name: str, before: str | None, after: str | None, notes: Sequence[str] = ()) -> str:
    """Return the diff as the output of a call."""
    return truncate(unified(name, before, after, notes), OUTPUT_BYTES_MAX, _CUT)[0]


def _lines(text: str) -> list[str]:
    lines = text.split("\n")  # only this is a line end; form feeds and U+2028 are content
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def _body(old: list[str], new: list[str]) -> Iterator[str]:
    from difflib import SequenceMatcher  # noqa: PLC0415 - not before the first change

    start, old_end, new_end = _changed(old, new)
    if start == old_end and start == new_end:
        return
    if max(old_end, new_end) - start > LINES_MAX and start < min(old_end, new_end):
        yield f"@@ -{_span(start, old_end)} +{_span(start, new_end)} @@\n"
        yield from _marked("+", new[start:new_end])  # first: a cut is better in what goes
        yield from _marked("-", old[start:old_end])
        return
    first = max(start - CONTEXT_LINES, 0)
    matcher = SequenceMatcher(
        None, old[first : old_end + CONTEXT_LINES], new[first : new_end + CONTEXT_LINES]
    )
    for group in matcher.get_grouped_opcodes(CONTEXT_LINES):
        _, i1, _, j1, _ = group[0]
        _, _, i2, _, j2 = group[-1]
        yield f"@@ -{_span(first + i1, first + i2)} +{_span(first + j1, first + j2)} @@\n"
        for tag, a1, a2, b1, b2 in group:
            if tag == "equal":
                yield from _marked(" ", old[first + a1 : first + a2])
                continue
            yield from _marked("-", old[first + a1 : first + a2])
            yield from _marked("+", new[first + b1 : first + b2])


def _changed(old: list[str], new: list[str]) -> tuple[int, int, int]:
    """Return where the sides begin to differ, and where each begins to be equal again."""
    shorter = min(len(old), len(new))
    start = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    same = next((i for i in range(shorter - start) if old[-1 - i] != new[-1 - i]), shorter - start)
    return start, len(old) - same, len(new) - same


def _span(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _marked(sign: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield sign + line
        if not line.endswith("\n"):
            yield "\n\\ No newline at end of file\n"
