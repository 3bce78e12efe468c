"""What a card shows: who wants to do what, why that asks, and what exactly will happen. Pure.

Everything on a card may be written by the model or by a hostile file. So all of it is made
visible, and every row begins with our own bar: no text can step out of its card.
"""

import json
from collections.abc import Iterator
from typing import Final

from wcore_host.events import JsonObject, ToolRequest
from wcore_host.headless.card_content import command_of, reason, shown_by, stands_out, title, where
from wcore_host.plain.cells import cells
from wcore_host.plain.style import Style, diff_colour, fold, wrap
from wcore_host.visible import visible, visible_line

BAR: Final = "│ "
ARGUMENT_CHARS_SHOWN: Final = 300  # of one argument, until the whole card is asked for
CHROME_ROWS: Final = 12  # head, reason, answers and prompt beside the body
BODY_ROWS_MIN: Final = 8  # less of a diff says nothing


def rows(request: ToolRequest, style: Style, *, whole: bool = False) -> list[str]:
    """Return the card, row by row; a long body is folded unless `whole`."""
    bar = style.yellow(BAR)
    width = max(20, style.width - len(BAR) - 1)
    head = f"{title(request)} ({visible_line(request.tool.category, 20)})"
    body = list(_body(request, width, style, whole=whole))
    if not whole:
        body = fold(body, max(BODY_ROWS_MIN, style.rows - CHROME_ROWS), "v shows them")
    return [
        style.yellow("╭ ") + style.bold(head),
        *(bar + style.dim(row) for row in wrap(f"asks because: {reason(request.why)}", width)),
        *(bar + row for row in _where(request, width, style)),
        bar,
        *(bar + row for row in body),
        bar,
    ]


def is_folded(request: ToolRequest, style: Style) -> bool:
    """Whether `rows` hides a part of the body."""
    return rows(request, style) != rows(request, style, whole=True)


def _where(request: ToolRequest, width: int, style: Style) -> Iterator[str]:
    if (view := request.sandbox) is not None:
        paint = style.red if stands_out(view) else style.dim
        yield from (paint(row) for row in wrap(where(view), width))


def _body(request: ToolRequest, width: int, style: Style, *, whole: bool) -> Iterator[str]:
    preview, command, known = request.preview, command_of(request), shown_by(request)
    if command is not None:
        yield from _command(command, request.why.span, width, style)
        known |= {"command"}
    elif preview is not None:
        yield from _text(preview.text, preview.kind == "diff", width, style)
    if preview is not None and preview.truncated:
        yield style.red("… this is not all of it: the engine cut the preview here")
    yield from _arguments(request.tool.args, known, width, style, whole=whole)


def _text(text: str, is_diff: bool, width: int, style: Style) -> Iterator[str]:  # noqa: FBT001
    for line in visible(text.removesuffix("\n").expandtabs(4)).split("\n"):
        for row in wrap(line, width):
            yield diff_colour(row, style, line) if is_diff else row


def _command(command: str, span: tuple[int, int] | None, width: int, style: Style) -> Iterator[str]:
    """Yield the command with a row of carets under the bytes of `span`."""
    start, end = span or (0, 0)
    row, carets, used, offset = "", "", 0, 0
    for char in command:
        size = len(char.encode(errors="surrogatepass"))
        mark = "^" if start <= offset < end else " "
        offset += size
        shown = "" if char == "\n" else visible_line(char)
        if char == "\n" or used + cells(shown) > width:
            yield from _marked(row, carets, style)
            row, carets, used = "", "", 0
        row += shown
        carets += mark * cells(shown)
        used += cells(shown)
    yield from _marked(row, carets, style)


def _marked(row: str, carets: str, style: Style) -> Iterator[str]:
    yield style.bold(row)
    if carets.strip():
        yield style.red(carets.rstrip())


def _arguments(
    args: JsonObject, known: frozenset[str], width: int, style: Style, *, whole: bool
) -> Iterator[str]:
    for name, value in args.items():
        if name in known:
            continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        cut = visible_line(text, len(text) + 1 if whole else ARGUMENT_CHARS_SHOWN)
        if not whole and len(text) > ARGUMENT_CHARS_SHOWN:
            cut += f" ({len(text)} characters; v shows them)"
        yield from (style.dim(row) for row in wrap(f"{visible_line(name, 60)}: {cut}", width))
