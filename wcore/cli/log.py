"""The log: one JSON line an event on stderr, ids and reasons but never content."""

import logging
import sys

from pydantic_core import to_json


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "t": round(record.created, 3),
            "level": record.levelname,
            "event": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return to_json(line, inf_nan_mode="strings").decode()


def setup(*, verbose: bool) -> None:
    """Send the log of the whole process to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])
    logging.raiseExceptions = False  # a closed stderr must not disturb anything
