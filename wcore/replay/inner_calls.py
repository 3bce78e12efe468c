"""Calls that a running tool made: made again when they were, and withdrawn when they were."""

from collections.abc import Callable
from itertools import islice

import anyio
from anyio.abc import TaskGroup

from wcore.persistence.records import INNER, LENT, WITHDRAWN, usage
from wcore.policy.decide import QUESTION_TOOL
from wcore.replay.stubs import NoTool
from wcore.replay.timeline import Item, RecordItem, Timeline, facts_of, what_of
from wcore.tools.tool import RunContext
from wcore.vocabulary import Args, Category, Usage


class InnerCalls:
    """Those of one running call. What is handed out twice is taken once."""

    def __init__(self, script: Timeline, live: RunContext, lend: Callable[[Usage], None]) -> None:
        self._script = script
        self._live = live
        self._lend = lend
        self._seen: Item | None = None
        self._open: dict[str, anyio.CancelScope] = {}

    def is_mine(self, item: Item) -> bool:
        """Whether an item is about a call of the running call, or about its prompt."""
        what = what_of(item)
        if what is None or item is self._seen:
            return False
        return what in (f"{INNER} {self._live.call_id}", LENT) or what in self._open

    def took(self, item: Item, tasks: TaskGroup) -> bool:
        """Do what an item says, if it is one of these."""
        if not self.is_mine(item):
            return False
        self._seen = item
        what = str(what_of(item))
        if what == LENT:
            self._lend(usage(facts_of(item)))
            self._script.take(item)
        elif what in self._open:
            self._open[what].cancel()
        else:
            self._open[f"{WITHDRAWN} {self._next_id()}"] = scope = anyio.CancelScope()
            facts = facts_of(item)
            name, args = str(facts.get("tool")), facts.get("args")
            tasks.start_soon(self._ask, scope, name, args if isinstance(args, dict) else {})
        return True

    def _next_id(self) -> str:
        behind = next(islice(self._script.ahead(), 1, None), None)
        return str(behind.body.get("id")) if isinstance(behind, RecordItem) else ""

    async def _ask(self, scope: anyio.CancelScope, name: str, args: Args) -> None:
        category = Category.INFO if name == QUESTION_TOOL else Category.MCP
        with scope:
            await self._live.ask(NoTool(name, category), args)
