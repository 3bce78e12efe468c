"""The proxy that broken engines are made of: between a host and our engine, it spoils nothing."""

import json
import sys
import threading
from typing import Any

Table = dict[str, Any]


class Faithful:
    """Passes everything on. `up` goes to the engine, `down` to the host."""

    def __init__(self) -> None:
        self.asked: dict[str, Table] = {}  # questions by call_id
        self.engine: Any = None
        self.lock = threading.Lock()

    def arguments(self, words: list[str]) -> list[str]:
        return words

    def started(self) -> None:
        pass

    def up(self, command: Table) -> list[Table]:
        return [command]

    def up_raw(self, line: bytes) -> None:
        self.tell(line)

    def down(self, event: Table) -> list[Table]:
        return [event]

    def ended(self) -> None:
        self.engine.stdin.close()

    def tell(self, line: bytes) -> None:
        with self.lock:
            self.engine.stdin.write(line)
            self.engine.stdin.flush()

    def command(self, **command: object) -> None:
        self.tell(json.dumps(command).encode() + b"\n")

    def say(self, event: Table) -> None:
        sys.stdout.buffer.write(json.dumps(event).encode() + b"\n")
        sys.stdout.buffer.flush()
