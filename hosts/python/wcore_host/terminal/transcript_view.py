"""The transcript: thousands of blocks, of which only those on the screen are ever drawn.

Each block keeps the height it had when it was last drawn. After a change of width the blocks on
the screen are measured at once, the others in slices while nothing else is to do.
"""

from collections import OrderedDict
from time import monotonic, perf_counter
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from wcore_host.headless.transcript import Transcript, folding
from wcore_host.headless.transcript_blocks import Block, CallBlock
from wcore_host.terminal.heights import Heights
from wcore_host.terminal.render_blocks import paint, plain
from wcore_host.terminal.rows_view import RowsView, restyled

DRAWN_MAX: Final = 400  # blocks whose rows are kept; a screen shows a hundred at most
SLICE_S: Final = 0.008  # of measuring between two frames
UNDER_CURSOR: Final = Style(reverse=True)
FOUND: Final = Style(bgcolor="yellow", color="black")


class TranscriptView(RowsView, can_focus=True):
    """Shows one story. Up and down go from call to call when it has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(-1)", "previous", show=False),
        Binding("down", "step(1)", "next", show=False),
        Binding("enter,space", "fold", "fold", show=False),
        Binding("home", "top", show=False),
        Binding("end", "bottom", show=False),
    ]

    class Opened(Message):
        """The person wants to see all of a block."""

        def __init__(self, block: Block) -> None:
            super().__init__()
            self.block = block

    def __init__(self, story: Transcript) -> None:
        super().__init__(id="transcript")
        self._story = story
        self._dropped = 0
        self._heights = Heights()
        self._drawn: OrderedDict[int, tuple[int, int, list[Strip]]] = OrderedDict()
        self._sweeping = False
        self._found = ""
        self.follows = True  # the newest row stays on the screen
        self.cursor: int | None = None

    # --- rows -------------------------------------------------------------------------------------

    def row_count(self) -> int:
        return self._heights.total

    def row(self, at: int) -> Strip:
        index = self._heights.at(at)
        rows = self._rows(index)
        inner = at - self._heights.start(index)
        strip = rows[inner] if inner < len(rows) else Strip([])
        if self._found and self._found in strip.text.casefold():
            return _highlighted(strip, self._found)
        return strip

    def row_style(self, at: int) -> Style | None:
        here = self.has_focus and self.cursor is not None and self._head_row(self.cursor) == at
        return UNDER_CURSOR if here else None

    def sync(self) -> None:
        """Take over what has changed in the story since the last time."""
        story = self._story
        if gone := story.dropped - self._dropped:
            self._dropped = story.dropped
            rows = self._heights.drop(gone)
            self.cursor = None if self.cursor is None else max(0, self.cursor - gone)
            if not self.follows:
                self.scroll_to(y=max(0, self.scroll_offset.y - rows), animate=False)
        for number in story.take_changed():
            if 0 <= (index := number - story.dropped) < len(self._heights):
                self._measure(index)
        for block in story.blocks[len(self._heights) :]:
            self._heights.add(len(self._draw(block)), self._width)
        self._settle()

    def _settle(self) -> None:
        self.sized()
        if self.follows:
            # Forced: the scroll bar may not be there yet, and without one nothing scrolls.
            self.scroll_end(animate=False, immediate=True, x_axis=False, force=True)

    def _measure(self, index: int) -> None:
        rows = self._draw(self._story.blocks[index])
        self._heights.set(index, len(rows), self._width)

    def _rows(self, index: int) -> list[Strip]:
        block = self._story.blocks[index]
        drawn = self._drawn.get(id(block))
        if drawn is None or drawn[:2] != (block.version, self._width):
            return self._draw(block)
        return drawn[2]

    def _draw(self, block: Block) -> list[Strip]:
        rows = paint(block, self._width, monotonic())
        self._drawn[id(block)] = (block.version, self._width, rows)
        self._drawn.move_to_end(id(block))
        if len(self._drawn) > DRAWN_MAX:
            self._drawn.popitem(last=False)
        return rows

    @property
    def _width(self) -> int:
        return max(10, self.size.width - 1)

    # --- size and place ---------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Measure what can be seen now, the rest while nothing else is to do."""
        if len(self._heights):
            top = self._heights.at(self.scroll_offset.y)
            last = self._heights.at(self.scroll_offset.y + self.size.height)
            for index in range(top, last + 1):
                self._measure(index)
            if not self.follows:
                self.scroll_to(y=self._heights.start(top), animate=False)
        self._settle()
        if not self._sweeping:
            self._sweeping = True
            self.call_later(self._sweep)

    def _sweep(self) -> None:
        until = perf_counter() + SLICE_S
        top = self._heights.at(self.scroll_offset.y)
        before = self._heights.start(top) if len(self._heights) else 0
        stale = self._heights.stale(self._width)
        while stale and perf_counter() < until:
            self._measure(stale.pop())
        if not self.follows and (moved := self._heights.start(top) - before):
            self.scroll_to(y=self.scroll_offset.y + moved, animate=False)
        self._settle()
        self._sweeping = bool(stale)
        if stale:
            self.set_timer(SLICE_S, self._sweep)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.follows = new_value >= self.max_scroll_y - 1

    # --- the cursor -------------------------------------------------------------------------------

    def action_step(self, step: int) -> None:
        """Go to the next block that can be folded, or scroll where there is none."""
        at = (len(self._heights) if self.cursor is None else self.cursor) + step
        while 0 <= at < len(self._heights) and folding(self._story.blocks[at]) is None:
            at += step
        if not 0 <= at < len(self._heights):
            self.scroll_relative(y=step, animate=False)
            return
        self.cursor = at
        self.show_row(self._head_row(at))
        self.refresh()

    def action_fold(self) -> None:
        """Fold or unfold the block under the cursor."""
        if self.cursor is not None:
            self.fold(self.cursor)

    def action_top(self) -> None:
        """Go to the beginning."""
        self.scroll_home(animate=False)

    def action_bottom(self) -> None:
        """Go to the newest row, and stay there."""
        self.cursor = None
        self.follows = True
        self.scroll_end(animate=False)

    def fold(self, index: int) -> None:
        """Fold or unfold one block; its head stays on the screen."""
        block = folding(self._story.blocks[index])
        if block is not None:
            block.fold()
            self._measure(index)
            self.follows = False
            self._settle()
            self.show_row(self._head_row(index))

    def on_click(self, event: events.Click) -> None:
        """A click on the head of a block folds it, a second one at once shows all of it."""
        at = self.scroll_offset.y + event.y
        if at >= self.row_count():
            return
        index = self._heights.at(at)
        block = folding(self._story.blocks[index])
        if block is None or at != self._head_row(index):
            return
        self.cursor = index
        if event.chain == 2:
            self.post_message(self.Opened(block))
        elif event.chain == 1:
            self.fold(index)

    def block_at_cursor(self) -> Block | None:
        """Return the block that the person means: under the cursor, or the newest call."""
        blocks = self._story.blocks
        if self.cursor is not None and self.cursor < len(blocks):
            return blocks[self.cursor]
        return next((block for block in reversed(blocks) if isinstance(block, CallBlock)), None)

    def _head_row(self, index: int) -> int:
        return self._heights.start(index)

    # --- search -----------------------------------------------------------------------------------

    def find(self, text: str, step: int) -> bool:
        """Go to the next block (by `step`) that says `text`; unfold it if needed."""
        self._found = text.casefold()
        order = range(len(self._heights))
        start = len(order) if self.cursor is None else self.cursor
        turned = [*order[:start][::-1], *order[start:][::-1]]
        if step > 0:
            turned = [*order[start + 1 :], *order[: start + 1]]
        for index in turned:
            if self._found and self._found in plain(self._story.blocks[index]).casefold():
                self._go_to(index)
                return True
        self.refresh()
        return False

    def _go_to(self, index: int) -> None:
        block = folding(self._story.blocks[index])
        if block is not None and block.folded and not self._matching(index):
            block.fold()
            self._measure(index)
        self.cursor = index
        self.follows = False
        self._settle()
        self.show_row(self._head_row(index) + next(iter(self._matching(index)), 0))
        self.refresh()

    def _matching(self, index: int) -> list[int]:
        rows = self._rows(index)
        return [at for at, row in enumerate(rows) if self._found in row.text.casefold()]


def _highlighted(strip: Strip, found: str) -> Strip:
    at = strip.text.casefold().find(found)
    start = cell_len(strip.text[:at])
    end = start + cell_len(strip.text[at : at + len(found)])
    return restyled(strip, (start, end), FOUND)
