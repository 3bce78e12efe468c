"""Text to rows of cells. Pure. The last gate: nothing leaves here that a terminal would obey.

Content is always wrapped by us, with our own bar in front where it belongs to a card or a call,
so that no text can end its row early, begin a new one, or stand where only we write.
"""

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.syntax import Syntax
from rich.text import Text
from textual.strip import Strip

from wcore_host.terminal.markdown import CODE_THEME, LEXERS
from wcore_host.visible import visible, visible_line

TAB_CELLS: Final = 4
SYNTAX_CHARS_MAX: Final = 128 * 1024  # twice the longest preview
LINE_SYNTAX_CHARS_MAX: Final = 2_000  # beyond this a line is data, and patterns get slow
PLAIN: Final = Style()
DIM: Final = Style(dim=True)
BOLD: Final = Style(bold=True)
RED: Final = Style(color="#ff7b80")  # light enough to be read without colours, too
GREEN: Final = Style(color="green")
YELLOW: Final = Style(color="yellow")
CYAN: Final = Style(color="cyan")
MARKED: Final = Style(bold=True, reverse=True, color="yellow")
BAR: Final = "│ "
# What stands between two columns of a header; never in content, where it would be marked.
_ADDED: Final = Style(bgcolor="#0e2a16")
_REMOVED: Final = Style(bgcolor="#3a1216")


def strip_of(*parts: tuple[str, Style]) -> Strip:
    """Return one row; control characters that got this far are marked, whatever they are."""
    return Strip([Segment(_inert(text), style) for text, style in parts if text])


def rows_of(
    text: str,
    width: int,
    style: Style = PLAIN,
    *,
    bar: tuple[str, Style] | None = None,
    words: bool = False,
) -> Iterator[Strip]:
    """Yield untrusted text as rows of at most `width` cells, each behind `bar`.

    Prose is cut between `words` where that is possible; code and output are not.
    """
    lead = () if bar is None else (bar,)
    room = max(1, width - (cell_len(bar[0]) if bar else 0))
    for line in lines_of(text):
        for row in between_words(line, room) if words else cut(line, room):
            yield strip_of(*lead, (row, style))


def lines_of(text: str) -> list[str]:
    """Return the lines of untrusted text, made visible; a last newline ends no line."""
    whole = text.replace("\r\n", "\n").removesuffix("\n")
    return visible(whole).expandtabs(TAB_CELLS).split("\n")


def cut(line: str, width: int) -> Iterator[str]:
    """Cut one visible line into rows of at most `width` cells; nothing is left out."""
    if line.isascii():
        yield from (line[at : at + width] for at in range(0, len(line) or 1, width))
        return
    row, used = "", 0
    for char in line:
        size = _cells(char)
        if row and used + size > width:
            yield row
            row, used = "", 0
        row += char
        used += size
    yield row


def between_words(line: str, width: int) -> Iterator[str]:
    """Cut one visible line like `cut`, after a space where a row has one; nothing is left out."""
    rest = line
    while cell_len(rest) > width:
        row = next(cut(rest, width))
        space = row.rfind(" ") + 1 if rest[len(row)] != " " else len(row) + 1
        row = rest[: space or len(row)]
        yield row
        rest = rest[len(row) :]
    yield rest


def cropped(text: str, width: int) -> str:
    """Return untrusted text on one row of at most `width` cells, a cut marked by `…`."""
    shown = visible_line(text, max(1, width))
    if cell_len(shown) <= width:
        return shown
    return next(cut(shown, max(1, width - 1)), "") + "…"


def rich_rows(text: Text, width: int, *, bar: tuple[str, Style] | None = None) -> Iterator[Strip]:
    """Yield one line of styled, visible text as rows of at most `width` cells."""
    room = max(1, width - (cell_len(bar[0]) if bar else 0))
    lead = [Segment(*bar)] if bar else []
    at = 0
    breaks: list[int] = []
    for row in cut(text.plain, room):
        at += len(row)
        breaks.append(at)
    for piece in text.divide(breaks[:-1]):
        yield Strip([*lead, *_segments(piece)])


def rendered(lines: Iterable[Iterable[Segment]]) -> Iterator[Strip]:
    """Yield what Rich has rendered, with everything a terminal would obey taken out."""
    for line in lines:
        yield Strip([Segment(_inert(s.text), s.style) for s in line if not s.control])


def diff_rows(
    text: str, width: int, path: str = "", *, bar: tuple[str, Style] | None = None
) -> Iterator[Strip]:
    """Yield a unified diff: signs, colours, and the syntax of the file that it changes."""
    lines = lines_of(text)
    coloured = iter(_coloured([line[1:] for line in lines], path))
    for line in lines:
        code = next(coloured)
        shown = Text(line) if _is_head(line) else Text(line[:1]) + code
        match line[:1]:
            case "+" | "-" if _is_head(line):
                shown.stylize(BOLD)
            case "+":
                shown.stylize(_ADDED)
                shown.stylize(BOLD, 0, 1)
            case "-":
                shown.stylize(_REMOVED)
                shown.stylize(BOLD, 0, 1)
            case "@":
                shown.stylize(CYAN)
            case _:
                pass
        yield from rich_rows(shown, width, bar=bar)


def _is_head(line: str) -> bool:
    return line.startswith(("+++ ", "--- ", "@@ "))


def _coloured(lines: list[str], path: str) -> list[Text]:
    """Return the lines with the colours of their language, as far as that is worth its time."""
    lexer = _lexer(path.rpartition("/")[2])
    plain = [Text(line) for line in lines]
    too_long = max(map(len, lines), default=0) > LINE_SYNTAX_CHARS_MAX
    if not lexer or too_long or sum(map(len, lines)) > SYNTAX_CHARS_MAX:
        return plain
    code = Syntax("", lexer, theme=CODE_THEME).highlight("\n".join(lines))
    coloured = code.split("\n", allow_blank=True)
    same = [text.plain for text in coloured][: len(lines)] == lines
    return list(coloured)[: len(lines)] if same else plain


@lru_cache(maxsize=256)
def _lexer(name: str) -> str:
    found = Syntax.guess_lexer(name)
    return found if found in LEXERS else ""


@cache
def console() -> Console:
    """Return what Rich draws with."""
    return Console(width=80, color_system="truecolor", legacy_windows=False, no_color=False)


def _segments(text: Text) -> list[Segment]:
    text.end = ""
    return [Segment(_inert(s.text), s.style) for s in text.render(console()) if s.text]


def _inert(text: str) -> str:
    return text if text.isprintable() else visible_line(text, len(text) + 1)


@lru_cache(maxsize=4096)
def _cells(char: str) -> int:
    return cell_len(char)
