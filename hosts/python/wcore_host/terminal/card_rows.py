"""What a card shows: who wants to do what, why that asks, and what exactly will happen. Pure.

Everything here may be written by the model or by a hostile file. Each row begins with our own
bar, and nothing is left out: what the preview does not show is shown as an argument.
"""

from collections.abc import Iterator
from typing import Final

from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from wcore_host.events import JsonObject, ToolRequest
from wcore_host.headless.argument_editing import differences
from wcore_host.headless.card_content import (
    SANDBOX_ARGS,
    asker,
    command_of,
    reason,
    shown_by,
    stands_out,
    title,
    where,
)
from wcore_host.headless.card_queue import Card
from wcore_host.terminal.render_blocks import argument
from wcore_host.terminal.text_layout import (
    BAR,
    BOLD,
    CYAN,
    DIM,
    MARKED,
    PLAIN,
    RED,
    YELLOW,
    cropped,
    diff_rows,
    rich_rows,
    rows_of,
    strip_of,
)
from wcore_host.visible import visible_line

ARGUMENT_CHARS_SHOWN: Final = 400  # of one argument; the viewer shows all of it
FACT_ROWS_MAX: Final = 2  # before what would run, which is never to be out of sight behind it
ARGUMENTS_SHOWN: Final = 30  # a tool of ours has seven


def card_rows(card: Card, width: int, *, whole: bool = False) -> list[Strip]:
    """Return the card without its head and its answers; `whole` cuts no argument."""
    request, bar = card.request, _bar(card)
    if card.is_question:
        question = request.tool.args.get("question")
        text = question if isinstance(question, str) else ""
        return list(rows_of(text or "(no question)", width, bar=bar, words=True))
    rows, rest = list[Strip](), list[Strip]()
    for text, style in _facts(card):
        told = list(rows_of(text, width, style, bar=bar, words=True))
        if len(told) > FACT_ROWS_MAX:  # the whole of it stands below what would run
            rest, told = rest + told, [strip_of(bar, (cropped(text, width - 2), style))]
        rows += told
    if card.problem:
        rows += rows_of(f"not taken: {card.problem}", width, RED, bar=bar, words=True)
    if card.changed is not None:
        changed = _changed(request.tool.args, card.changed, width, bar, whole=whole)
        return [*rows, *changed, *rest]
    return [*rows, *_body(request, width, bar, whole=whole), *rest]


def head(card: Card, width: int, right: str) -> Strip:
    """Return the head of a card: tool, category, agent; on the right what is told by us."""
    request = card.request
    asked = request.tool.args.get("header")
    name = asked if card.is_question and isinstance(asked, str) and asked else title(request)
    what = "question" if card.is_question else visible_line(request.tool.category, 20)
    whom = f" asked by {asker(request)}" if card.is_question and request.agent else ""
    room = max(4, width - len(right) - 3)
    text = cropped(f"{name} · {what}{whom}", room)
    gap = " " * max(1, room - len(text) + 1)
    return strip_of(("╭ ", _colour(card)), (text, BOLD), (gap, PLAIN), (right, _colour(card)))


def _facts(card: Card) -> Iterator[tuple[str, Style]]:
    """Yield why the call asks, and what it will run in, unless a person has changed that."""
    request, asked = card.request, card.request.tool.args
    yield f"asks because {reason(request.why)}", DIM
    is_as_asked = all(card.args.get(name) == asked.get(name) for name in SANDBOX_ARGS)
    if (view := request.sandbox) is not None and is_as_asked:
        yield where(view), MARKED if stands_out(view) else DIM


def _body(
    request: ToolRequest, width: int, bar: tuple[str, Style], *, whole: bool
) -> Iterator[Strip]:
    preview, args, command = request.preview, request.tool.args, command_of(request)
    path, known = args.get("file_path"), shown_by(request)
    if command is not None:
        yield from _command(command, request.why.span, width, bar)
        known |= {"command"}
    elif preview is not None and preview.kind == "diff":
        yield from diff_rows(preview.text, width, path if isinstance(path, str) else "", bar=bar)
    elif preview is not None:
        yield from rows_of(preview.text, width, BOLD, bar=bar)
    if preview is not None and preview.truncated:
        cut = "… this is not all of it: the engine cut the preview here; the arguments are whole"
        yield from rows_of(cut, width, RED, bar=bar)
    yield from _arguments(args, known, width, bar, whole=whole)


def _changed(
    before: JsonObject, now: JsonObject, width: int, bar: tuple[str, Style], *, whole: bool
) -> Iterator[Strip]:
    """Yield what a yes would run instead, and how that differs from what the model wanted."""
    yield from rows_of(
        "changed by you: this runs, not what the model wrote", width, YELLOW, bar=bar
    )
    command, path = now.get("command"), now.get("file_path")
    known = frozenset({"command"}) if isinstance(command, str) else frozenset[str]()
    if isinstance(command, str):
        yield from _command(command, None, width, bar)
    for name, lines in differences(before, now):
        yield from rows_of(f"your changes of {visible_line(name, 60)}:", width, DIM, bar=bar)
        yield from diff_rows(lines, width, path if isinstance(path, str) else "", bar=bar)
    yield from _arguments(now, known, width, bar, whole=whole)


def _command(
    command: str, span: tuple[int, int] | None, width: int, bar: tuple[str, Style]
) -> Iterator[Strip]:
    """Yield the command; the bytes of `span` are marked, by carets too for want of colour."""
    start, end = span or (0, 0)
    line, marks, offset = "", "", 0
    for char in [*command, "\n"]:
        size = len(char.encode(errors="surrogatepass"))
        inside = start <= offset < end
        offset += size
        shown = "    " if char == "\t" else "" if char == "\n" else visible_line(char)
        if char == "\n":
            yield from _marked(line, marks, width, bar)
            line, marks = "", ""
        line += shown
        marks += ("^" if inside else " ") * len(shown)


def _marked(line: str, marks: str, width: int, bar: tuple[str, Style]) -> Iterator[Strip]:
    text = Text(line)
    text.stylize(BOLD)
    for at, mark in enumerate(marks):
        if mark == "^":
            text.stylize(MARKED, at, at + 1)
    at = 0
    for row in rich_rows(text, width, bar=bar):
        yield row
        shown = row.text[len(bar[0]) :]
        under = marks[at : at + len(shown)]
        at += len(shown)
        if "^" in under:
            carets = "".join(
                mark * max(1, Text(char).cell_len) for mark, char in zip(under, shown, strict=True)
            )
            yield strip_of(bar, (carets.rstrip(), YELLOW))


def _arguments(
    args: JsonObject,
    known: frozenset[str],
    width: int,
    bar: tuple[str, Style],
    *,
    whole: bool,
) -> Iterator[Strip]:
    named = [(name, argument(value)) for name, value in args.items() if name not in known]
    for name, text in named if whole else named[:ARGUMENTS_SHOWN]:
        label = f"{visible_line(name, 60)}: "
        if whole or len(text) <= ARGUMENT_CHARS_SHOWN:
            yield from rows_of(label + text, width, CYAN, bar=bar)
        else:
            yield from rows_of(label + text[:ARGUMENT_CHARS_SHOWN], width, CYAN, bar=bar)
            rest = f"… {len(text) - ARGUMENT_CHARS_SHOWN:,} more characters; Ctrl+O shows all"
            yield from rows_of(rest, width, YELLOW, bar=bar)
    if not whole and len(named) > ARGUMENTS_SHOWN:
        rest = f"… {len(named) - ARGUMENTS_SHOWN} more arguments; Ctrl+O shows all"
        yield from rows_of(rest, width, YELLOW, bar=bar)


def _bar(card: Card) -> tuple[str, Style]:
    return BAR, _colour(card)


def _colour(card: Card) -> Style:
    return CYAN if card.is_question else YELLOW
