"""The log: one JSON line an event on stderr, ids and reasons but never content, nor a secret.

A thread of its own writes it: who does not read stderr holds nothing up. What there is no room for
is dropped and counted.
"""

import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from queue import Full, Queue
from threading import Thread
from typing import Final

from pydantic_core import to_json

LINES_MAX: Final = 1000  # that wait to be written; more is a reader that sleeps
DRAIN_S: Final = 0.5  # for what still waits when the process ends


class Lines(logging.Formatter):
    """One record as a line of JSON, without secrets."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "t": round(record.created, 3),
            "level": record.levelname,
            "event": self._redact(record.getMessage()),
        }
        if record.exc_info:
            line["traceback"] = self._redact(self.formatException(record.exc_info))
        return to_json(line, inf_nan_mode="strings").decode()


class Writer(logging.Handler):
    """Writes lines to a descriptor, from a thread that begins with the first of them."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._fd = fd
        self._lines = Queue[str](LINES_MAX)
        self._dropped = 0
        self._thread: Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record; never waits."""
        try:
            self._lines.put_nowait(self.format(record))
        except Full:
            self._dropped += 1
        if self._thread is None:
            self._thread = Thread(target=self._write, name="log", daemon=True)
            self._thread.start()

    def drain(self) -> None:
        """Wait until all is written, for `DRAIN_S` at most."""
        with self._lines.all_tasks_done:
            self._lines.all_tasks_done.wait_for(lambda: not self._lines.unfinished_tasks, DRAIN_S)

    def _write(self) -> None:
        while True:
            line = self._lines.get()
            if self._dropped and self._lines.empty():
                dropped, self._dropped = self._dropped, 0
                line += f'\n{{"level":"WARNING","event":"log.dropped","lines":{dropped}}}'
            rest = f"{line}\n".encode()
            with suppress(OSError):  # a closed stderr must not disturb anything
                while rest:
                    rest = rest[os.write(self._fd, rest) :]
            self._lines.task_done()


def setup(redact: Callable[[str], str], *, verbose: bool) -> Callable[[], None]:
    """Send the log of the whole process to stderr; `redact` takes secrets out of it.

    Returns what waits until it is written, for the end of the process.
    """
    handler = Writer(sys.stderr.fileno() if sys.stderr is not None else -1)
    handler.setFormatter(Lines(redact))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])
    logging.raiseExceptions = False  # a line that cannot be made must not disturb anything either
    return handler.drain
