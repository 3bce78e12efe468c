"""Blocks become rows. Everything untrusted goes through `text_layout`; widths are in cells."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Final

from rich.style import Style
from textual.strip import Strip

from wcore_host.events import Json
from wcore_host.headless.card_content import NAME_CHARS_MAX, headline
from wcore_host.headless.durations import seconds
from wcore_host.headless.transcript_blocks import (
    AssistantBlock,
    Block,
    CallBlock,
    CallState,
    NoteBlock,
    ThinkingBlock,
    UserBlock,
)
from wcore_host.terminal.markdown import ModelMarkdown
from wcore_host.terminal.text_layout import (
    BAR,
    BOLD,
    CYAN,
    DIM,
    GREEN,
    PLAIN,
    RED,
    YELLOW,
    console,
    cropped,
    diff_rows,
    rendered,
    rows_of,
    strip_of,
)
from wcore_host.visible import visible, visible_line

ROWS_MAX: Final = 2_000  # of one unfolded block; the viewer shows the rest
TAIL_ROWS: Final = 3  # of live output under a running call
TAIL_CHARS: Final = 4_000  # enough for three very long rows
QUICK_S: Final = 1.0  # faster than this needs no time shown
MARKS: Final[dict[CallState, tuple[str, Style]]] = {
    CallState.ANNOUNCED: ("·", DIM),
    CallState.WAITING: ("?", YELLOW),
    CallState.RUNNING: ("…", CYAN),
    CallState.DONE: ("✓", GREEN),
    CallState.FAILED: ("✗", RED),
    CallState.CANCELLED: ("✗", RED),
}


def paint(block: Block, width: int, now: float) -> list[Strip]:
    """Return the rows of one block, an empty one before what starts a new thought."""
    match block:
        case UserBlock():
            return [
                Strip([]),
                *_capped(rows_of(block.text, width, BOLD, bar=("> ", CYAN), words=True)),
            ]
        case AssistantBlock():
            return [Strip([]), *_spoken(block, width)]
        case ThinkingBlock():
            return list(_capped(_thought(block, width)))
        case CallBlock():
            return [_head(block, width, now), *_capped(_below(block, width))]
        case NoteBlock(alarming=alarming):
            style, bar = (RED, ("! ", RED)) if alarming else (DIM, ("· ", DIM))
            return list(_capped(rows_of(block.text, width, style, bar=bar, words=True)))
        case _:
            return []


def plain(block: Block) -> str:
    """Return all that a block says, in full: for copying, searching and the viewer."""
    match block:
        case UserBlock(text) | AssistantBlock(text) | NoteBlock(text):
            return text
        case ThinkingBlock(text=text):
            return text
        case CallBlock():
            said = [title(block), f"asked or ran because: {block.why.detail}"]
            said += [f"{name}: {argument(value)}" for name, value in block.args.items()]
            said += [block.output, block.reason]
            return "\n".join(text for text in said if text)
        case _:
            return ""


def title(call: CallBlock) -> str:
    """Return tool, gist and agent of a call on one line."""
    return headline(call.name, call.about, call.agent, gap="  ")


def argument(value: Json) -> str:
    """Return one argument as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def tail(text: str, width: int, style: Style, rows: int) -> list[Strip]:
    """Return the last rows of live output."""
    shown = text[-TAIL_CHARS:].rstrip("\n")
    return list(rows_of(shown, width, style, bar=("  " + BAR, DIM)))[-rows:]


def _capped(rows: Iterator[Strip]) -> Iterator[Strip]:
    yield from islice(rows, ROWS_MAX)
    if next(rows, None) is not None:
        yield strip_of(("  … there is more: Ctrl+O shows all of it", YELLOW))


def _spoken(block: AssistantBlock, width: int) -> Iterator[Strip]:
    text = visible(block.text.rstrip())
    options = console().options.update(width=width, height=None)
    yield from rendered(console().render_lines(ModelMarkdown(text), options, pad=False))


def _thought(block: ThinkingBlock, width: int) -> Iterator[Strip]:
    mark = "▸" if block.folded else "▾"
    count = len(block.text.split())
    words = f"{count:,} word{'s' * (count != 1)}"
    took = "thinking" if block.took_s is None else f"thought for {seconds(block.took_s)}"
    yield strip_of((cropped(f"{mark} {took}, {words}", width), DIM))
    if not block.folded:
        style = Style(dim=True, italic=True)
        yield from rows_of(block.text, width, style, bar=("  " + BAR, DIM), words=True)
    elif block.took_s is None:
        yield from tail(block.text, width, DIM, 1)


def _head(call: CallBlock, width: int, now: float) -> Strip:
    sign, style = MARKS[call.state]
    fold = "▸" if call.folded else "▾"
    facts = _facts(call, now)
    room = max(8, width - 4 - len(facts) - 2)
    name = visible_line(call.name, NAME_CHARS_MAX)
    text = cropped(title(call), room)
    first, rest = (name, text[len(name) :]) if text.startswith(name) else ("", text)
    parts = ((f"{fold} ", DIM), (f"{sign} ", style), (first, BOLD), (rest, PLAIN))
    return strip_of(*parts, (f"  {facts}" if facts else "", DIM))


def _facts(call: CallBlock, now: float) -> str:
    facts = ["changed by you"] if call.is_changed else []
    if call.state is CallState.RUNNING and call.began is not None:
        facts.append(seconds(now - call.began))
    elif call.took_s is not None and call.took_s >= QUICK_S:
        facts.append(seconds(call.took_s))
    if call.state is CallState.WAITING:
        facts.append("waits")
    elif call.state is CallState.ANNOUNCED and call.why.row:
        facts.append(visible_line(call.why.row, 20))
    elif call.state is CallState.DONE:
        facts.append(_gist(call))
    return " · ".join(fact for fact in facts if fact)


def _gist(call: CallBlock) -> str:
    lines = call.output.removesuffix("\n").split("\n") if call.output else []
    if call.output_type == "diff":
        added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
        removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
        return f"+{added} -{removed}"
    return f"{len(lines)} line{'s' if len(lines) != 1 else ''}" if lines else "no output"


def _below(call: CallBlock, width: int) -> Iterator[Strip]:
    bar = ("  " + BAR, DIM)
    if call.state is CallState.CANCELLED and call.reason:
        yield from rows_of(call.reason, width, RED, bar=bar, words=True)
    if call.folded:
        if call.state is CallState.RUNNING:
            yield from tail(call.output, width, DIM, TAIL_ROWS) if call.output else ()
        elif call.state is CallState.FAILED:
            yield from tail(call.output, width, RED, TAIL_ROWS)
        return
    for name, value in call.args.items():
        yield from rows_of(f"{visible_line(name, 60)}: {argument(value)}", width, CYAN, bar=bar)
    if call.why.detail:
        yield from rows_of(f"why: {call.why.detail}", width, DIM, bar=bar, words=True)
    if call.output_type == "diff":
        path = call.args.get("file_path")
        yield from diff_rows(call.output, width, path if isinstance(path, str) else "", bar=bar)
    elif call.output:
        yield from rows_of(call.output, width, bar=bar)
