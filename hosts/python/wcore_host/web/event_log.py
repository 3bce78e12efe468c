"""What has happened so far, for pages that come later, and the pages that watch it happen.

The log is bounded and forgets its oldest entries; pieces of one text are kept as one entry. The
engine never waits for a page: every page has its own bounded queue.
"""

import json
from collections import deque
from typing import Final, cast

from wcore_host.events import Json, JsonObject
from wcore_host.web.tabs import Tab

LOG_BYTES_MAX: Final = 16 * 1024 * 1024  # a long day of talking; the journal has the rest
CHUNKS_CHARS_MAX: Final = 64 * 1024  # of a running tool's output, its end; the result has more
PIECES_CHARS_MAX: Final = 256 * 1024  # of one text in one entry: what is forgotten at once
TABS_MAX: Final = 16  # more pages than anybody watches
JOINED: Final = {"text_delta": "text", "thinking": "text", "tool_chunk": "chunk"}


class Entry:
    """One logged event; one that comes in pieces can grow."""

    def __init__(self, event: JsonObject) -> None:
        self.event = event
        self._key = JOINED.get(str(event.get("type")))
        self._parts = [str(event.get(self._key, ""))] if self._key else []
        self.chars = len(self._parts[0]) if self._parts else len(json.dumps(event))

    def grow(self, event: JsonObject) -> bool:
        """Take `event` in if it is the next piece of the same text."""
        same = all(event.get(k) == self.event.get(k) for k in ("type", "msg_id", "call_id", "tab"))
        whole = self.chars > PIECES_CHARS_MAX and event.get("type") != "tool_chunk"
        if self._key is None or not same or whole:
            return False
        text = str(event.get(self._key, ""))
        self._parts.append(text)
        self.chars += len(text)
        if self.event["type"] == "tool_chunk" and self.chars > 2 * CHUNKS_CHARS_MAX:
            self._parts = ["".join(self._parts)[-CHUNKS_CHARS_MAX:]]
            self.chars = CHUNKS_CHARS_MAX
        return True

    def frame(self) -> bytes:
        if self._key is None:
            return frame(self.event)
        self._parts = ["".join(self._parts)]
        return frame({**self.event, self._key: self._parts[0]})


class EventLog:
    """The log of one server, and its tabs."""

    def __init__(self) -> None:
        self._log: deque[Entry] = deque()
        self._chars = 0
        self._cut = False  # the log has forgotten its beginning
        self._tabs: list[Tab] = []
        self._shown = 0  # how many frames tabs were shown: the number of the last one
        self._closed = False
        self.state: dict[str, Json] = {"engine": "starting"}

    def post(self, event: JsonObject) -> None:
        """Log one event and show it to every tab; never waits."""
        before = self._log[-1].chars if self._log else 0
        if self._log and self._log[-1].grow(event):
            self._chars += self._log[-1].chars - before
        else:
            self._log.append(Entry(event))
            self._chars += self._log[-1].chars
        while self._chars > LOG_BYTES_MAX and len(self._log) > 1:
            self._chars -= self._log.popleft().chars
            self._cut = True
        self._show(event)

    def change(self, **state: Json) -> None:
        """Remember how things stand now (not logged), and tell every tab."""
        self.state |= state
        self._show({"type": "host_state", **self.state})

    def clear(self) -> None:
        """Forget the log: another conversation begins."""
        self._log.clear()
        self._chars, self._cut = 0, False
        self._show({"type": "host_cleared"})

    def open(self, page: str) -> Tab:
        """Return a new tab that is told everything so far, and whatever comes."""
        hello: JsonObject = {"type": "host_hello", "cut": self._cut, **self.state}
        tab = Tab(page, [frame(hello, self._shown), *(entry.frame() for entry in self._log)])
        if self._closed:
            tab.drop()
            return tab
        if len(self._tabs) >= TABS_MAX:
            self.close(self._tabs[0])
        self._tabs.append(tab)
        return tab

    def close(self, tab: Tab) -> None:
        """The tab is gone, or has to go."""
        tab.drop()
        if tab in self._tabs:
            self._tabs.remove(tab)

    def close_all(self) -> None:
        """Send every page away, and those that come now: the server ends."""
        self._closed = True
        for tab in list(self._tabs):
            self.close(tab)

    def _show(self, event: JsonObject) -> None:
        self._shown += 1
        data = frame(event, self._shown)
        for tab in list(self._tabs):
            tab.offer(data)


def frame(event: JsonObject, number: int | None = None) -> bytes:
    """Return `event` as one server-sent event. ASCII: no line end can be smuggled in.

    What happens has a number, so that pages that tell each other can say what they know already.
    """
    mark = b"" if number is None else b"id: %d\n" % number
    data = json.dumps(cast("Json", event), separators=(",", ":")).encode()
    return b"%sdata: %s\n\n" % (mark, data)
