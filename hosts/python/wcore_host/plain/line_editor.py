"""One editable line: keys in, text and cursor out. Pure; drawing it is the screen's job."""

from wcore_host.plain.cells import cells
from wcore_host.plain.keys import Key, Pasted, Press, Typed
from wcore_host.visible import visible_line


class LineEditor:
    """The line being typed, and the lines typed before."""

    def __init__(self) -> None:
        self.text = ""
        self._cursor = 0
        self._history: list[str] = []
        self._shown = 0  # index into the history; its length means the new line

    def set(self, text: str) -> None:
        """Replace the line, the cursor at its end."""
        self.text = text
        self._cursor = len(text)

    def remember(self, text: str) -> None:
        """Add a line to the history."""
        if text and (not self._history or self._history[-1] != text):
            self._history.append(text)
        self._shown = len(self._history)

    def press(self, press: Press) -> None:
        """Obey one editing key; keys that do not edit change nothing."""
        match press:
            case Typed(text) | Pasted(text):
                self._insert(text)
            case Key.UP:
                self._recall(-1)
            case Key.DOWN:
                self._recall(1)
            case Key():
                self._erase(press)
                self._move(press)

    def window(self, width: int) -> tuple[str, int]:
        """Return the part of the line that fits into `width` columns, and the cursor's column."""
        before = visible_line(self.text[: self._cursor])
        after = visible_line(self.text[self._cursor :])
        if cells(before) >= width:
            before = before[-(width - 1) :]
            while cells(before) >= width - 1:
                before = before[1:]
            before = "…" + before
        column = cells(before)
        room = width - column - 1
        while after and cells(after[:room]) > room:
            room -= 1
        return before + after[: max(0, room)], column

    def _erase(self, key: Key) -> None:
        match key:
            case Key.BACKSPACE if self._cursor:
                self._cut(self._cursor - 1, self._cursor)
            case Key.DELETE:
                self._cut(self._cursor, self._cursor + 1)
            case Key.KILL_LINE:
                self._cut(0, self._cursor)
            case Key.KILL_REST:
                self._cut(self._cursor, len(self.text))
            case Key.KILL_WORD:
                before = self.text[: self._cursor].rstrip()
                self._cut(len(before) - len(before.split(" ")[-1]), self._cursor)
            case _:
                pass

    def _move(self, key: Key) -> None:
        match key:
            case Key.LEFT:
                self._cursor = max(0, self._cursor - 1)
            case Key.RIGHT:
                self._cursor = min(len(self.text), self._cursor + 1)
            case Key.HOME:
                self._cursor = 0
            case Key.END:
                self._cursor = len(self.text)
            case _:
                pass

    def _insert(self, text: str) -> None:
        self.text = self.text[: self._cursor] + text + self.text[self._cursor :]
        self._cursor += len(text)

    def _cut(self, start: int, end: int) -> None:
        self.text = self.text[:start] + self.text[end:]
        self._cursor = start

    def _recall(self, step: int) -> None:
        shown = self._shown + step
        if 0 <= shown <= len(self._history):
            self._shown = shown
            self.set(self._history[shown] if shown < len(self._history) else "")
