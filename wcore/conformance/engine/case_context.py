"""What the steps of a case act on."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from wcore.conformance.engine.conversation import EngineConversation, MismatchError
from wcore.conformance.engine.provider import Provider
from wcore.conformance.engine.script_export import Scripted
from wcore.conformance.json_object import JsonObject


@dataclass(slots=True)
class CaseContext:
    """The engine, the provider, the folder, and what was heard under which name."""

    workspace: Path
    provider: Provider | Scripted
    start: Callable[[list[str]], Awaitable[EngineConversation]]
    run: Callable[[list[str], float], Awaitable[tuple[int, bytes]]]
    needs: Callable[[str], None]
    known: JsonObject
    talk: EngineConversation | None = None
    turns: int = 0
    talks: list[EngineConversation] = field(default_factory=list[EngineConversation])

    @property
    def engine(self) -> EngineConversation:
        """The engine that runs now."""
        if self.talk is None:
            raise MismatchError("the case has not started the engine")
        return self.talk
