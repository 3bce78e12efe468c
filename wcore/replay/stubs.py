"""What a replay has instead of a store and of tools: nothing here can touch anything."""

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from wcore.store import Location, Store, ToolApprovalDecisionEvent
from wcore.store.database import Database
from wcore.tools.tool import RunContext
from wcore.vocabulary import Args, Category, Prepared, ToolOutput, ToolSpec

T = TypeVar("T")


class SealedError(Exception):
    """A replay was about to do something: a bug of ours, and nothing was done."""


class NoStore(Store):
    """A store that is never opened."""

    def __init__(self) -> None:
        super().__init__(Location("nowhere"))

    async def run(self, job: Callable[[Database], T]) -> T:
        raise SealedError("a replay opens no store")

    def record_use(self, grant_id: str) -> None:
        """Nothing is counted."""

    def record_decision(self, event: ToolApprovalDecisionEvent) -> None:
        """Nothing is audited a second time."""


class NoTool(Struct, frozen=True):
    """The name of a tool, with nothing behind it."""

    name: str
    category: Category

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.category, "", {})

    def target_paths(self, args: Args) -> frozenset[str]:
        return frozenset()

    async def prepare(self, args: Args) -> Prepared:
        raise SealedError("a replay prepares nothing")

    async def run(self, prepared: Prepared, live: RunContext) -> ToolOutput:
        raise SealedError("a replay runs nothing")
