"""One live connection to a server, through the SDK. Whatever the server does, it costs itself only.

The SDK's own work runs in tasks of the connection: a call that is given up is told to the server,
but nobody waits for the server to hear it.
"""

import logging
import math
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    ToolListChangedNotification,
)
from mcp_types.version import LATEST_PROTOCOL_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from wcore import __version__
from wcore.errors import ToolError
from wcore.tools.mcp.environment import McpEnvironment
from wcore.tools.mcp.http import SESSION_GONE, open_http
from wcore.tools.mcp.life import (
    CHANGES_MAX,
    END_S_MAX,
    LIST_S_MAX,
    SETTLE_S,
    SUBSCRIBE_S,
    SUBSCRIBE_S_MAX,
    Life,
    Move,
    State,
)
from wcore.tools.mcp.readable_parts import ReadableParts
from wcore.tools.mcp.request_handlers import RequestHandlers
from wcore.tools.mcp.results import output_of
from wcore.tools.mcp.server_call import Done, ServerCall
from wcore.tools.mcp.server_config import HTTP, STDIO, ServerConfig
from wcore.tools.mcp.stdio import StdioProcess
from wcore.tools.mcp.tool_listing import ToolListing, ToolListingBuilder
from wcore.visible import visible_line

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

PAGES_MAX: Final = 64  # of a list of tools; 512 tools come in fewer
LISTED_BYTES_MAX: Final = 64 * 1024 * 1024  # of all lists of a connection; 100 KiB are many tools
ROUNDS_MAX: Final = 10  # times a call may come back for input, as in the SDK
INPUTS_MAX: Final = 16  # what one round may ask for
ROUND_S: Final = 0.25  # between rounds that only pass a state back
PROBLEM_CHARS_MAX: Final = 500  # of a server's words in an error

_ANSWERS: Final[TypeAdapter[CallToolResult | InputRequiredResult]] = TypeAdapter(
    CallToolResult | InputRequiredResult
)
log = logging.getLogger("wcore.mcp")
for _name in ("mcp", "client"):  # their messages quote servers, at any rate the servers like
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class Connection:
    """One run of a server: `serve` keeps it up and moves `life`, `start` runs calls on it.

    `take` is given each list of tools that was read and was not out of date by then. `problem` says
    for people why it ended, once `closed` is set.
    """

    def __init__(
        self,
        config: ServerConfig,
        environment: McpEnvironment,
        life: Life,
        take: Callable[[ToolListing], None],
    ) -> None:
        self._config = config
        self._environment = environment
        self._life = life
        self._take = take
        self._program = StdioProcess(config, environment) if config.transport == STDIO else None
        self._ended = self._program.ended if self._program else anyio.Event()
        self._changed = anyio.Event()
        self._changes = 0
        self._calls: list[ServerCall] = []
        self._inquiries = RequestHandlers(environment.workspace, self._calls)
        self._client: Client | None = None
        self._tasks: TaskGroup | None = None
        self._scope = anyio.CancelScope()
        self._listed_bytes = 0
        self._unreadable_tools: list[str] = []  # of the page that was read last
        self.is_told = False  # whether a change of the list would be heard of
        self.problem = ""
        self.closed = anyio.Event()

    @property
    def has_ended(self) -> bool:
        """Whether no call can be started any more."""
        return self._ended.is_set()

    @property
    def exit_message(self) -> str:
        """How the server's program ended, for people; empty while it runs, and over HTTP."""
        if self._program is None or not self._program.ended.is_set():
            return ""
        return visible_line(self._environment.redact(self._program.told()), PROBLEM_CHARS_MAX)

    async def serve(self) -> None:
        """Connect, keep the list, and stay until the server ends or `close`. Nothing is left then.

        A server that has no list after `start_timeout_s` is given up.
        """
        self._scope.deadline = anyio.current_time() + self._config.start_timeout_s
        try:
            with self._scope:
                async with self._made() as self._client, anyio.create_task_group() as self._tasks:
                    self._tasks.start_soon(self._keep_list, self._client)
                    self._tasks.start_soon(self._subscribe, self._client)
                    try:
                        await self._ended.wait()
                    finally:
                        self._lose()
                    self._scope.deadline = anyio.current_time() + END_S_MAX
                    self._tasks.cancel_scope.cancel()
        except Exception as error:  # noqa: BLE001 - whatever a server does, it costs itself only
            self.problem = self.why(error)
        finally:
            self.problem = self.problem or self.exit_message or self._late()
            log.info("server.ended %s: %s", self._config.name, self.problem)
            self.closed.set()

    def _late(self) -> str:
        if self._life.state is not State.STARTING:
            return "the connection was closed"
        limit_s = self._config.start_timeout_s
        return f"it has not started within {limit_s:g} s; `start_timeout_s` can give it more"

    def _lose(self) -> None:
        """Be ended: no call is started any more."""
        self._ended.set()
        if self._life.allows(Move.LOSE):
            self._life.move(Move.LOSE)

    async def close(self) -> None:
        """End the connection and, if it is a program of ours, everything it has started."""
        self._scope.cancel()
        await self.closed.wait()

    def start(self, call: ServerCall) -> None:
        """Run `call` in a task of the connection; what comes of it is put into the call."""
        assert self._tasks is not None
        self._calls.append(call)
        self._tasks.start_soon(self._perform, call)

    def why(self, error: BaseException) -> str:
        """Return for people why something failed: the program's end, or what the server said."""
        match _first(error):
            case TimeoutError():
                text = "it did not answer in time"
            case ValidationError():
                text = "it answered with what is no valid MCP"
            case MCPError(error=said) if said.code == CONNECTION_CLOSED:
                text = self.exit_message or "the connection was closed"
            case OSError(strerror=str(text)):
                pass
            case first:
                text = str(first).partition("\n")[0] or type(first).__name__
        return visible_line(self._environment.redact(text), PROBLEM_CHARS_MAX)

    @asynccontextmanager
    async def _streams(self) -> "AsyncGenerator[tuple[Any, Any]]":
        program, config = self._program, self._config
        opened: Any = program.streams() if program else open_http(config, self._lose)
        async with opened as (messages, answers):
            yield ReadableParts(messages, self._version, self._unreadable_tools.append), answers

    def _version(self) -> str:
        return self._client.protocol_version if self._client else LATEST_PROTOCOL_VERSION

    def _made(self) -> Client:
        return Client(
            self._streams(),
            cache=None,  # what a person was shown is never taken from a cache
            client_info=Implementation(name="wcore", version=__version__),
            list_roots_callback=self._inquiries.roots,
            elicitation_callback=self._inquiries.elicited,
            message_handler=self._noticed,
        )

    # --- the list of tools ------------------------------------------------------------------------

    async def _keep_list(self, client: Client) -> None:
        """Read the list, and again when it may have changed. One that cannot be read ends us."""
        last: ToolListing | None = None
        while self._changes <= CHANGES_MAX:
            self._changed, told, charged = anyio.Event(), self._changes, self._listed_bytes
            try:
                listing = await self._listed(client)
            except TimeoutError:
                if not self._calls:  # else it may do one thing at a time
                    raise
                continue
            if listing == last:  # nothing more is held of it
                self._listed_bytes = charged
            last = listing
            if not self._changed.is_set():  # else it has changed meanwhile
                self._scope.deadline = math.inf
                self._take(listing)
            await self._changed.wait()
            if self._changes > told:
                await anyio.sleep(SETTLE_S)
        raise ToolError("it goes on changing its tools")

    async def _listed(self, client: Client) -> ToolListing:
        """Return the list as far as it can be read; it says itself what is left out, and why."""
        listing = ToolListingBuilder(self._config.safe_name)
        cursors: list[str | None] = [None]
        with anyio.fail_after(LIST_S_MAX):
            while not listing.is_full:
                cursor = cursors[-1]
                params = PaginatedRequestParams(cursor=cursor) if cursor else None
                self._unreadable_tools.clear()
                page = await client.session.list_tools(params=params)
                self._charge(page)
                if page.next_cursor in cursors[1:]:
                    listing.leave_out(f"page {len(cursors)} of its list, which leads back")
                    break
                listing.add(page.tools)
                for name in self._unreadable_tools:
                    listing.leave_out(f"{name}: no valid MCP describes it")
                if page.next_cursor is None:
                    break
                if len(cursors) == PAGES_MAX:
                    listing.leave_out(f"what follows the first {PAGES_MAX} pages of its list")
                    break
                cursors.append(page.next_cursor)
        return listing.offers()

    def _charge(self, page: ListToolsResult) -> None:
        """Count what was listed; the SDK keeps schemas of results, which nobody asks it for."""
        self._listed_bytes += len(page.model_dump_json())
        for tool in page.tools:
            (tool.output_schema or {}).clear()
        if self._listed_bytes > LISTED_BYTES_MAX:
            raise ToolError("it lists more tools than anybody can hold")

    async def _noticed(self, message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._was_told()

    def _was_told(self) -> None:
        self._changes += not self._changed.is_set()
        self.expire_list()

    def expire_list(self) -> None:
        """From now on calls wait for a new list, so that none goes to another tool."""
        if self._life.allows(Move.CHANGE):
            self._life.move(Move.CHANGE)
        self._changed.set()

    async def _subscribe(self, client: Client) -> None:
        """Hear of changes: a server of the newer protocol is asked to tell, again and again.

        An older one tells unasked, as long as its connection lasts. Behind an address that speaks
        streamable HTTP there is none: another server may answer the next request.
        """
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            self.is_told = self._config.transport != HTTP
            return
        tools, pause_s = client.server_capabilities.tools, SUBSCRIBE_S
        while tools and tools.list_changed:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    self.is_told = changes.honored.tools_list_changed is True
                    self.expire_list()  # of what changed before nobody was told
                    async for _ in changes:
                        self._was_told()
            except Exception as error:  # noqa: BLE001 - meanwhile each call reads the list
                log.info("server.silent %s: %s", self._config.name, self.why(error))
            self.is_told = False
            self.expire_list()
            await anyio.sleep(pause_s)
            pause_s = min(2 * pause_s, SUBSCRIBE_S_MAX)

    # --- calls ------------------------------------------------------------------------------------

    async def _perform(self, call: ServerCall) -> None:
        done = Done(
            problem=f"no answer, progress or question for {call.silence_s_max:g} s; "
            "`call_timeout_s` can give it more"
        )
        is_lost = False
        try:
            with call.scope:
                call.expect()
                try:
                    done = await self._answer(call)
                except Exception as error:  # noqa: BLE001 - whatever it is, it ends this call only
                    done, is_lost = self._failed(error)
            await call.end(done)
        finally:
            self._calls.remove(call)
            call.over()
            if is_lost:
                self._lose()

    def _failed(self, error: Exception) -> tuple[Done, bool]:
        """Return how a call ended without a result, and whether the connection is of no use now."""
        if isinstance(error, MCPError) and error.error.data == SESSION_GONE:
            return Done(problem="it knows this session no more", was_heard=False), True
        has_answer = isinstance(error, MCPError) and error.error.code != CONNECTION_CLOSED
        return Done(problem=self.why(error)), self._program is None and not has_answer

    async def _answer(self, call: ServerCall) -> Done:
        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            call.expect()
            amount = f"{progress:g} of {total:g}" if total is not None else f"{progress:g}"
            call.tell(visible_line(message or amount, PROBLEM_CHARS_MAX))

        assert self._client is not None
        params = CallToolRequestParams(name=call.raw_name, arguments=dict(call.args))
        for _ in range(ROUNDS_MAX):
            # Not `call_tool`: that would match the result with a schema of the server's making,
            # and a regular expression in it could hold up the engine.
            result = await self._client.session.send_request(
                CallToolRequest(params=params), _ANSWERS, progress_callback=progressed
            )
            if isinstance(result, CallToolResult):
                return Done(output_of(result, self._config.name))
            wanted = dict(list((result.input_requests or {}).items())[:INPUTS_MAX])
            if not wanted:
                await anyio.sleep(ROUND_S)
            answers = {
                key: await self._inquiries.answer(call, each) for key, each in wanted.items()
            }
            update = {"input_responses": answers or None, "request_state": result.request_state}
            params = params.model_copy(update=update)
        return Done(problem=f"it came back for more input {ROUNDS_MAX} times")


def _first(error: BaseException) -> BaseException:
    """Return the first error of a group, however deep."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("Sequence[BaseException]", error.exceptions)[0]
    return error
