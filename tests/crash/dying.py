"""An engine that is killed at a write of its journal: `dying.py WHEN:KIND:NUMBER ARGUMENTS…`.

WHEN is `before` or `after` the transaction; KIND is the kind of a record in it, or `any`; NUMBER
counts such writes from 1. The kill is SIGKILL from inside: nothing of the engine runs any more.
With `fail` for WHEN it lives, and that one write fails.
"""

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from wcore.__main__ import main
from wcore.store import Record, StoreError, journal


def arm(when: str, kind: str, number: int) -> None:
    """Wrap the one function that writes a journal."""
    write, left = journal.append, number

    def append(database: Any, lease: Any, records: Sequence[Record], *, durable: bool) -> int:
        nonlocal left
        counts = kind == "any" or any(record.kind.value == kind for record in records)
        left -= counts
        is_now = counts and left == 0
        if is_now and when == "fail":
            raise StoreError("in a test", "is full", "make room")
        if is_now and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        last = write(database, lease, records, durable=durable)
        if is_now and when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return last

    journal.append = append


if __name__ == "__main__":
    when, kind, number = sys.argv.pop(1).split(":")
    arm(when, kind, int(number))
    main()
