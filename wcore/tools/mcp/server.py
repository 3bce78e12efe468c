"""One server: connected when it is needed, again when it has died, and gone with the engine."""

import logging
import math
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from wcore.errors import Code, ToolError, WcoreError
from wcore.tools.mcp import MISSING, is_installed
from wcore.tools.mcp.environment import McpEnvironment
from wcore.tools.mcp.life import AWAY, BUSY, END_S_MAX, WAIT_S_MAX, Life, Move, State, pause_s
from wcore.tools.mcp.server_call import (
    Done,
    ElicitationRequest,
    Progress,
    ServerCall,
)
from wcore.tools.mcp.server_config import ServerConfig
from wcore.tools.mcp.server_requests import Elicitation
from wcore.tools.mcp.tool_listing import EMPTY_LISTING, OfferedTool, ToolListing
from wcore.tools.tool import RunContext
from wcore.vocabulary import Args, ServerTools, ToolOutput

if TYPE_CHECKING:
    from wcore.tools.mcp.connection import Connection

REMOVED: Final = "it was removed"
UNKNOWN: Final = "; nobody knows how far the call got"

log = logging.getLogger("wcore.mcp")


class ServerError(WcoreError):
    """The server cannot be had; says why."""

    code = Code.CONFIG


class ExtraMissingError(ServerError):
    """The SDK is not installed."""

    code = Code.NOT_SUPPORTED


class Server:
    """One configured server. `changed` is called when what it offers is not what it was."""

    def __init__(
        self, config: ServerConfig, environment: McpEnvironment, changed: Callable[["Server"], None]
    ) -> None:
        self.config = config
        self.environment = environment
        self.offers = EMPTY_LISTING
        self.changed = changed
        self.life = Life()
        self._problem = ServerError()
        self._connection: Connection | None = None
        self._failures = 0
        self._due_at = -math.inf

    @property
    def listed(self) -> ServerTools:
        """All tools as they are offered now."""
        tools = tuple((name, offer.digest) for name, offer in self.offers.tools.items())
        return ServerTools(self.config.name, self.config.digest, tools)

    @property
    def is_due(self) -> bool:
        """Whether a turn should start it again."""
        return self.life.state in AWAY and anyio.current_time() >= self._due_at

    def start(self) -> None:
        """Begin to connect. `started` tells what comes of it; nobody needs to wait."""
        self.life.move(Move.START)
        self.environment.tasks.start_soon(self._run)

    async def started(self) -> None:
        """Wait until the server has a list of tools.

        Raises:
            ServerError: it cannot be had, or was removed; nothing is left of the attempt.
        """
        state = await self.life.leaves(State.STARTING)
        if state is State.REMOVED:
            raise ServerError(REMOVED)
        if state is State.FAILED:
            raise self._problem

    async def _run(self) -> None:
        """Be connected once, until that has ended and nothing is left of it."""
        try:
            connection = await self._made()
            if self.life.state is State.STARTING:  # else it was removed meanwhile
                self._connection = connection
                await connection.serve()
                self._problem = ServerError(connection.problem)
        except ServerError as error:
            self._problem = error
        if self.life.allows(Move.END):
            self.life.move(Move.END)
        if self.life.state is State.FAILED:
            self._failures += 1
            self._due_at = anyio.current_time() + pause_s(self._failures)

    async def _made(self) -> "Connection":
        if not is_installed():
            raise ExtraMissingError(MISSING)
        try:  # half a second of imports, which the loop need not wait for
            module = await to_thread.run_sync(import_module, "wcore.tools.mcp.connection")
        except Exception as error:  # whatever a broken installation raises
            raise ExtraMissingError(f"{MISSING} ({error})") from error
        connection: Connection = module.Connection(
            self.config, self.environment, self.life, self._take
        )
        return connection

    def _take(self, listing: ToolListing) -> None:
        """Offer this from now on."""
        before, self.offers = self.offers, listing
        self._failures, self._due_at = 0, -math.inf
        self.life.move(Move.LIST)
        if listing != before:
            self.changed(self)

    async def call(self, name: str, offer: OfferedTool, args: Args, live: RunContext) -> ToolOutput:
        """Call the tool `offer`, if the server still offers it under `name` unchanged.

        Raises:
            ToolError: it does not, or the server cannot be had, or the call failed.
        """
        connection, done = await self._called(name, offer, args, live)
        if not done.was_heard:  # it certainly did not run; once more, at a server that knows us
            connection, done = await self._called(name, offer, args, live)
        if done.output is None:
            raise self._failed(await self._why(connection, done))
        return done.output

    async def _called(
        self, name: str, offer: OfferedTool, args: Args, live: RunContext
    ) -> tuple["Connection", Done]:
        connection = await self._ready()
        current = self.offers.tools.get(name)
        if current is None or current.digest != offer.digest:
            raise ToolError(f"{name} is not what it was when this call was shown; ask for it anew")
        call = ServerCall(offer.raw_name, args, self.config.call_timeout_s)
        connection.start(call)
        try:
            return connection, await self._attend(call, live)
        finally:
            call.close()

    async def _ready(self) -> "Connection":
        """Wait until the list is what the server offers now; start it again once for that.

        Raises:
            ToolError: it cannot be had soon, or goes on changing its tools.
        """
        connection, is_new = self._connection, False
        if connection is not None and self.life.state is State.READY and not connection.is_told:
            connection.expire_list()
        with anyio.move_on_after(WAIT_S_MAX):
            while self.life.state is not State.READY:
                if self.life.allows(Move.START):
                    if is_new:
                        raise self._failed(str(self._problem))
                    self.start()
                    is_new = True
                if await self.life.leaves(*BUSY) is State.REMOVED:
                    raise self._failed(REMOVED)
        if self._connection is None or self.life.state is not State.READY:
            raise self._failed(f"it has not listed its tools within {WAIT_S_MAX:g} s")
        return self._connection

    async def _why(self, connection: "Connection", done: Done) -> str:
        if not connection.has_ended or not done.was_heard:
            return done.problem
        with anyio.move_on_after(END_S_MAX):  # then there is more to tell: how it ended
            await connection.closed.wait()
        return (connection.exit_message or done.problem or connection.problem) + UNKNOWN

    def _failed(self, problem: str) -> ToolError:
        return ToolError(f"the server {self.config.shown_name}: {problem}")

    async def close(self) -> None:
        """End the server and everything it has started, for good; an attempt to connect too."""
        self.offers = EMPTY_LISTING
        self.life.move(Move.REMOVE)
        if self._connection is not None:
            await self._connection.close()

    async def _attend(self, call: ServerCall, live: RunContext) -> Done:
        done = Done()
        async with anyio.create_task_group() as questions:
            async for heard in call.heard:
                match heard:
                    case Progress(text):
                        await live.chunk(text + "\n")
                    case ElicitationRequest():
                        questions.start_soon(self._settle, heard, live)
                    case Done():
                        done = heard
                        break
            questions.cancel_scope.cancel()  # a question of a call that is over is withdrawn
        return done

    async def _settle(self, asked: ElicitationRequest, live: RunContext) -> None:
        """Put what the server asks before the gate; whatever comes of it, the server is told."""
        tool = Elicitation(self.config, asked, self.environment.workspace)
        try:
            await live.ask(tool, tool.args())
        except ToolError as error:
            log.info("question.refused %s: %s", self.config.name, error)
        finally:
            asked.answered.set()
