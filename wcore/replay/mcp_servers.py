"""The servers of a replay: each offers what it offered then, when it did; nothing is started."""

from collections.abc import Mapping
from typing import Final

import anyio

from wcore.errors import Code
from wcore.persistence.records import as_list
from wcore.replay.timeline import NOTHING, Item, Timeline, facts_of, what_of
from wcore.tools.mcp import journal_facts
from wcore.tools.mcp.life import Life, Move
from wcore.tools.mcp.names import server_part
from wcore.tools.mcp.server import Server, ServerError
from wcore.tools.mcp.server_config import STDIO, ServerConfig, ServerConfigError
from wcore.vocabulary import Json

CONNECTING: Final = (journal_facts.OFFERED, journal_facts.READY, journal_facts.FAILED)


class RecordedServerConfigError(ServerConfigError):
    """What was wrong with it then."""

    def __init__(self, facts: Mapping[str, Json]) -> None:
        super().__init__(str(facts.get("problem")))
        self.code = Code(str(facts.get("code")))  # pyright: ignore[reportAttributeAccessIssue]


class RecordedServerError(ServerError):
    """Why it could not be had then."""

    def __init__(self, facts: Mapping[str, Json]) -> None:
        super().__init__(str(facts.get("problem")))
        self.code = Code(str(facts.get("code")))  # pyright: ignore[reportAttributeAccessIssue]


def recorded_server_config(script: Timeline, name: str) -> ServerConfig:
    """Return a definition of which no more is known than its name.

    Raises:
        RecordedServerConfigError: there was none.
    """
    head = script.head
    is_mine = head is not None and what_of(head) == f"{journal_facts.DEFINED} {name}"
    facts = facts_of(head) if is_mine else NOTHING
    if "problem" in facts:
        raise RecordedServerConfigError(facts)
    return ServerConfig(name, server_part(name) or "", STDIO)


class RecordedServer(Server):
    """Has nothing behind it."""

    def __init__(self, script: Timeline, model: Server) -> None:
        """Stand in for `model`, which was never connected."""
        super().__init__(model.config, model.environment, model.changed)
        self._script = script
        self._open = anyio.CancelScope()

    @property
    def is_due(self) -> bool:
        head = self._script.head
        return head is not None and what_of(head) == f"{journal_facts.RETRIED} {self.config.name}"

    def start(self) -> None:
        """Start nothing: what became of it comes in its time."""
        self._open.cancel()
        self.life = Life()
        self.life.move(Move.START)

    async def started(self) -> None:
        waited = {f"{what} {self.config.name}": what for what in CONNECTING}
        while True:
            head = await self._script.wait_for(lambda item: what_of(item) in waited)
            match waited[str(what_of(head))]:
                case journal_facts.OFFERED:
                    self._learn(head)
                case journal_facts.FAILED:
                    self.life.move(Move.END)
                    raise RecordedServerError(facts_of(head))
                case _:
                    self.life.move(Move.LIST)
                    self._open = anyio.CancelScope()
                    self.environment.tasks.start_soon(self._follow, self._open)
                    return

    async def close(self) -> None:
        self._open.cancel()

    async def _follow(self, scope: anyio.CancelScope) -> None:
        mine = f"{journal_facts.OFFERED} {self.config.name}"
        with scope:
            while True:
                self._learn(await self._script.wait_for(lambda item: what_of(item) == mine))

    def _learn(self, head: Item) -> None:
        tools = [as_list(each) for each in as_list(facts_of(head).get("tools"))]
        known = [(str(raw_name), str(digest)) for raw_name, digest in tools]
        refused = map(str, as_list(facts_of(head).get("refused")))
        self.offers = journal_facts.offers_of(self.config.safe_name, known, refused)
        self.changed(self)
