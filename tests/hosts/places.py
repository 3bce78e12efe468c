"""Where host tests run, and how they wait."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FAKE_ENGINE: Final = Path(__file__).parent / "fake_engine.py"
PYTHON: Final = (sys.executable, "-P")


@dataclass(frozen=True)
class Place:
    """A workspace, an environment, and a way to script the model."""

    workspace: Path
    env: dict[str, str]
    script: Callable[..., str]

    def file(self, name: str) -> Path:
        return self.workspace / name
