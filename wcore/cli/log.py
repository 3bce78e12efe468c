"""The log: one JSON line an event on stderr, ids and reasons but never content, nor a secret."""

import logging
import sys
from collections.abc import Callable

from pydantic_core import to_json


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


def setup(redact: Callable[[str], str], *, verbose: bool) -> None:
    """Send the log of the whole process to stderr; `redact` takes secrets out of it."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines(redact))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])
    logging.raiseExceptions = False  # a closed stderr must not disturb anything
