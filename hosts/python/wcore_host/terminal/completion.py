"""What `@` and `/` can be completed to."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wcore_host.headless.workspace import WorkspaceFiles

_FILE: Final = re.compile(r"(?:^|(?<=\s))@(\S*)$")


@dataclass(frozen=True)
class Completion:
    """What may replace the text from `start` up to the cursor."""

    start: int
    found: tuple[str, ...]


class Completer:
    """Completes one line up to the cursor."""

    def __init__(self, folder: Path, commands: Sequence[str]) -> None:
        self._files = WorkspaceFiles(folder)
        self._commands = tuple(commands)

    def complete(self, before: str) -> Completion | None:
        """Return what may stand there instead, or `None`; lists the workspace if needed."""
        if before.startswith("/") and " " not in before:
            found = tuple(name for name in self._commands if name.startswith(before))
            return Completion(0, found) if found and found != (before,) else None
        at = _FILE.search(before)
        if at is None:
            return None
        files = tuple(name for name in self._files.find(at[1]) if name != at[1])
        return Completion(at.start(1), files) if files else None
