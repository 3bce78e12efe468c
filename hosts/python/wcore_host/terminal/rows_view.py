"""Widgets that show rows: only those on the screen are drawn, however many there are."""

from collections.abc import Sequence

from rich.style import Style
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip


class RowsView(ScrollView):
    """Scrolls rows. A subclass says how many there are, and draws one at a time."""

    DEFAULT_CSS = """
    RowsView { scrollbar-size-vertical: 1; overflow-x: hidden; }
    """

    def row_count(self) -> int:
        """Return how many rows there are."""
        raise NotImplementedError

    def row(self, at: int) -> Strip:
        """Return one row."""
        raise NotImplementedError

    def row_style(self, _at: int) -> Style | None:
        """Return what is laid over a row: a cursor, for example."""
        return None

    def sized(self) -> None:
        """The number of rows has changed."""
        self.virtual_size = Size(self.scrollable_content_region.width, self.row_count())
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width, at = self.size.width, self.scroll_offset.y + y
        if at >= self.row_count():
            return Strip.blank(width, self.rich_style)
        strip = self.row(at)
        over = self.row_style(at)
        strip = strip.crop_extend(0, width, None)
        if over is not None:
            strip = Strip([*strip.apply_style(Style())]).apply_style(over)
        selection = self.text_selection
        span = selection.get_span(at) if selection else None
        if span is not None:
            strip = restyled(strip, span, self.screen.get_component_rich_style("screen--selection"))
        return strip.apply_style(self.rich_style).apply_offsets(0, at)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        first = selection.start.y if selection.start else 0
        last = selection.end.y if selection.end else self.row_count() - 1
        rows: list[str] = []
        for at in range(first, min(last + 1, self.row_count())):
            span = selection.get_span(at)
            text = self.row(at).text
            if span is not None:
                start, end = span
                rows.append(text[start : None if end == -1 else end].rstrip())
        return "\n".join(rows), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        del selection
        self.refresh()

    def show_row(self, at: int) -> None:
        """Scroll as far as needed to show one row."""
        top, height = self.scroll_offset.y, self.scrollable_content_region.height
        if at < top:
            self.scroll_to(y=at, animate=False)
        elif at >= top + height:
            self.scroll_to(y=at - height + 1, animate=False)


class Rows(RowsView, can_focus=False):
    """A fixed list of rows."""

    def __init__(self, rows: Sequence[Strip] = (), *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._rows = list(rows)

    def put(self, rows: Sequence[Strip]) -> None:
        """Show other rows, from the first; the same ones stay where they are."""
        if self._rows == list(rows):
            return
        self._rows = list(rows)
        self.sized()
        self.scroll_home(animate=False)

    def row_count(self) -> int:
        return len(self._rows)

    def row(self, at: int) -> Strip:
        return self._rows[at]


def restyled(strip: Strip, span: tuple[int, int], style: Style) -> Strip:
    """Lay a style over a part of a row, from cell to cell; -1 is its end."""
    start, end = span
    end = strip.cell_length if end == -1 else min(end, strip.cell_length)
    if start >= end:
        return strip
    before, within = strip.crop(0, start), strip.crop(start, end)
    return Strip.join([before, within.apply_style(style), strip.crop(end)])
