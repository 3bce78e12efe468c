"""What runs right now, for the live row. Pure: the time is handed in."""

from wcore_host import events
from wcore_host.events import Event
from wcore_host.headless.durations import seconds
from wcore_host.visible import visible_line

NAME_CHARS = 60  # one line of a narrow terminal
TAIL_CHARS = 200  # enough to see that it goes on


class Running:
    """The calls whose effect has begun and not ended."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, float]] = {}  # name and start, by call_id
        self._tail = ""
        self._since = 0.0

    def begin(self, now: float) -> None:
        """A turn begins."""
        self._calls.clear()
        self._since = now

    def follow(self, event: Event, now: float) -> None:
        """Learn from one event."""
        match event:
            case events.ToolRunning(call_id=call_id, tool_name=name):
                if call_id not in self._calls:  # it is repeated while the tool is silent
                    self._calls[call_id] = (visible_line(name, NAME_CHARS), now)
                    self._tail = ""
            case events.ToolChunk(chunk=chunk):
                lines = chunk[-2 * TAIL_CHARS :].strip().splitlines()
                self._tail = visible_line(lines[-1], TAIL_CHARS) if lines else self._tail
            case events.ToolResult(call_id=call_id) | events.ToolCancelled(call_id=call_id):
                self._calls.pop(call_id, None)
                self._since = now
            case _:
                pass

    def status(self, now: float) -> str:
        """Return what to show while nothing is said."""
        if not self._calls:
            return f"… {seconds(now - self._since)}"
        name, since = next(iter(self._calls.values()))
        more = f" and {len(self._calls) - 1} more" if len(self._calls) > 1 else ""
        tail = f" · {self._tail}" if self._tail else ""
        return f"… {name}{more} {seconds(now - since)}{tail}"
