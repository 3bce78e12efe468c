"""What the steps of a case act on."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from wcore.conformance.engine.conversation import MismatchError, Talk
from wcore.conformance.engine.provider import Provider
from wcore.conformance.engine.script_export import Scripted

Table: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class Stage:
    """The engine, the provider, the folder, and what was heard under which name."""

    workspace: Path
    provider: Provider | Scripted
    start: Callable[[list[str]], Awaitable[Talk]]
    run: Callable[[list[str]], Awaitable[tuple[int, bytes]]]
    needs: Callable[[str], None]
    known: Table
    talk: Talk | None = None
    turns: int = 0
    talks: list[Talk] = field(default_factory=list[Talk])

    @property
    def engine(self) -> Talk:
        """The engine that runs now."""
        if self.talk is None:
            raise MismatchError("the case has not started the engine")
        return self.talk
