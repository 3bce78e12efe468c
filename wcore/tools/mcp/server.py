"""One server: connected when it is needed, again when it has died, and gone with the engine."""

import logging
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from wcore.errors import Code, ToolError, WcoreError
from wcore.tools.mcp import MISSING, is_installed
from wcore.tools.mcp.environment import McpEnvironment
from wcore.tools.mcp.server_call import (
    Done,
    ElicitationRequest,
    Progress,
    SamplingRequest,
    ServerCall,
)
from wcore.tools.mcp.server_config import ServerConfig
from wcore.tools.mcp.server_requests import Elicitation, Sampling
from wcore.tools.mcp.tool_listing import EMPTY_LISTING, OfferedTool, ToolListing
from wcore.tools.tool import RunContext
from wcore.vocabulary import Args, ToolOutput

if TYPE_CHECKING:
    from wcore.tools.mcp.connection import Connection

DEATH_S_MAX: Final = 3.0  # for a program to be ended with everything it has started
REFUSALS_LOGGED_MAX: Final = 16  # of tools that cannot be offered; the rest is more of the same
CONNECT_S_MAX: Final = 25.0  # hosts wait 30 s for a server; they are told before they give up

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
        self._connection: Connection | None = None
        self._lock = anyio.Lock()
        self._closed = False
        self._attempt = anyio.CancelScope()

    async def connect(self) -> None:
        """Be connected: as before, or anew; waits `CONNECT_S_MAX` at most.

        Raises:
            ServerError: it cannot be had, or was closed; nothing is left of the attempt.
        """
        await self._live()

    async def _live(self) -> "Connection":
        async with self._lock:
            if self._connection is not None and self._connection.alive:
                return self._connection
            if not is_installed():
                raise ExtraMissingError(MISSING)
            self._attempt = anyio.CancelScope()
            connection: Connection | None = None
            if not self._closed:
                with self._attempt:
                    connection = await self._connected()
            if connection is None:
                raise ServerError("it was removed")
            self._connection = connection
            for reason in connection.offers.refused[:REFUSALS_LOGGED_MAX]:
                log.warning("tool.refused %s: %s", self.config.name, reason)
            self.take(connection.offers)
            return connection

    async def _connected(self) -> "Connection":
        connection = await self._made()
        try:
            with anyio.fail_after(CONNECT_S_MAX):
                await self.environment.tasks.start(connection.serve)
        except WcoreError as error:
            raise ServerError(str(error)) from error
        except Exception as error:
            raise ServerError(connection.why(error)) from error
        return connection

    async def _made(self) -> "Connection":
        try:  # half a second of imports, which the loop need not wait for
            module = await to_thread.run_sync(import_module, "wcore.tools.mcp.connection")
        except Exception as error:  # whatever a broken installation raises
            raise ExtraMissingError(f"{MISSING} ({error})") from error
        connection: Connection = module.Connection(self.config, self.environment, self.take)
        return connection

    async def call(self, name: str, offer: OfferedTool, args: Args, live: RunContext) -> ToolOutput:
        """Call the tool `offer`, if the server still offers it under `name` unchanged.

        Raises:
            ToolError: it does not, or the server cannot be had, or the call failed.
        """
        try:
            connection = await self._live()
            current = (await connection.current()).tools.get(name)
        except (ServerError, TimeoutError) as error:
            reason = str(error) or "it goes on changing its tools"
            raise ToolError(f"the server {self.config.safe_name}: {reason}") from error
        if current is None or current.digest != offer.digest:
            raise ToolError(f"{name} is not what it was when this call was shown; ask for it anew")
        call = ServerCall(offer.raw_name, args)
        connection.start(call)
        try:
            done = await self._attend(call, live)
        finally:
            call.close()
        if done.output is not None:
            return done.output
        if not connection.alive:  # then there is more to tell: how it ended
            with anyio.move_on_after(DEATH_S_MAX):
                await connection.closed.wait()
        problem = connection.epitaph or done.problem
        raise ToolError(f"the server {self.config.safe_name}: {problem}")

    async def close(self) -> None:
        """End the server and everything it has started, for good; an attempt to connect too."""
        self._closed = True
        self._attempt.cancel()
        async with self._lock:
            if self._connection is not None:
                await self._connection.close()
            self._connection = None

    def take(self, offers: ToolListing) -> None:
        """Offer this from now on."""
        if offers != self.offers:
            self.offers = offers
            self.changed(self)

    async def _attend(self, call: ServerCall, live: RunContext) -> Done:
        done = Done(problem="the connection was closed")
        async with anyio.create_task_group() as questions:
            async for heard in call.heard:
                match heard:
                    case Progress(text):
                        await live.chunk(text + "\n")
                    case ElicitationRequest() | SamplingRequest():
                        questions.start_soon(self._settle, heard, live)
                    case Done():
                        done = heard
                        break
            questions.cancel_scope.cancel()  # a question of a call that is over is withdrawn
        return done

    async def _settle(self, asked: ElicitationRequest | SamplingRequest, live: RunContext) -> None:
        """Put what the server asks before the gate; whatever comes of it, the server is told."""
        workspace = self.environment.workspace
        try:
            if isinstance(asked, ElicitationRequest):
                tool = Elicitation(self.config, asked, workspace)
            else:
                tool = Sampling(self.config, asked, workspace, self.environment.complete)
            await live.ask(tool, tool.args())
        except ToolError as error:
            log.info("question.refused %s: %s", self.config.name, error)
        finally:
            asked.answered.set()
