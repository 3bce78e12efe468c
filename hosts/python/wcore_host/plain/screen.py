"""The terminal's output: text scrolls, and below it one live row (a prompt or what runs)."""

import os
import re
import shutil
from typing import Final, TextIO

from wcore_host.plain.cells import cells
from wcore_host.plain.line_editor import LineEditor
from wcore_host.plain.style import Style

ERASE_ROW: Final = "\r\x1b[K"
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")


class Screen:
    """Writes what scrolls, and redraws the live row below it. Text must be visible already."""

    def __init__(self, out: TextIO, *, tty: bool, colour: bool) -> None:
        self._out = out
        self._colour = colour
        self.tty = tty
        self._at_start = True
        self._live: tuple[str, int] | None = None
        self._drawn = False

    @property
    def style(self) -> Style:
        """The style for the terminal's present size."""
        if not self.tty:
            return Style()
        try:
            size = os.get_terminal_size(self._out.fileno())
        except OSError:
            size = shutil.get_terminal_size()
        return Style(self._colour, max(size.columns, 20), max(size.lines, 5))

    def write(self, text: str) -> None:
        """Write streaming text; it may stop in the middle of a line."""
        if not text:
            return
        self._erase()
        self._out.write(text)
        self._at_start = text.endswith("\n")
        self._draw()

    def line(self, text: str = "") -> None:
        """Write whole lines, on a fresh one."""
        self._erase()
        self._out.write(("" if self._at_start else "\n") + text + "\n")
        self._at_start = True
        self._draw()

    def live(self, text: str, column: int | None = None) -> None:
        """Show `text` as the live row, the cursor in `column` of it (by default at its end)."""
        if not self.tty:
            return
        if not self._at_start:
            self._out.write("\n")
            self._at_start = True
        wanted = (text, cells(_COLOURS.sub("", text)) if column is None else column)
        if wanted != self._live or not self._drawn:
            self._erase()
            self._live = wanted
            self._draw()

    def edit(self, prompt: str, editor: LineEditor) -> None:
        """Show a prompt and the line being typed as the live row."""
        text, column = editor.window(max(10, self.style.width - cells(prompt) - 1))
        self.live(self.style.bold(prompt) + text, cells(prompt) + column)

    def clear_live(self) -> None:
        """Remove the live row."""
        self._erase()
        self._live = None
        self._out.flush()

    @property
    def is_mid_line(self) -> bool:
        """Whether streaming text has stopped in the middle of a line."""
        return not self._at_start

    def _erase(self) -> None:
        if self._drawn:
            self._out.write(ERASE_ROW)
            self._drawn = False

    def _draw(self) -> None:
        if self._live is not None and self._at_start:
            text, column = self._live
            self._out.write(text + "\r" + (f"\x1b[{column}C" if column else ""))
            self._drawn = True
        self._out.flush()
