"""One live connection to a server, through the SDK. Whatever the server does, it costs itself only.

The SDK's own work runs in tasks of the connection: a call that is given up is told to the server,
but nobody waits for the server to hear it.
"""

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
from anyio.abc import TaskGroup, TaskStatus
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
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from wcore import __version__
from wcore.errors import ToolError
from wcore.tools.mcp.environment import McpEnvironment
from wcore.tools.mcp.http import open_http
from wcore.tools.mcp.request_handlers import RequestHandlers
from wcore.tools.mcp.results import output_of
from wcore.tools.mcp.server_call import SILENCE_S_MAX, Done, ServerCall
from wcore.tools.mcp.server_config import STDIO, ServerConfig
from wcore.tools.mcp.stdio import StdioProcess
from wcore.tools.mcp.tool_listing import EMPTY_LISTING, ToolListing, ToolListingBuilder
from wcore.visible import visible_line

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

PAGES_MAX: Final = 64  # of a list of tools; 512 tools come in fewer
LISTED_BYTES_MAX: Final = 64 * 1024 * 1024  # of all lists of a connection; 100 KiB are many tools
LIST_S_MAX: Final = 20.0  # to list the tools; a host waits 30 s for the server as a whole
ROUNDS_MAX: Final = 10  # times a call may come back for input, as in the SDK
INPUTS_MAX: Final = 16  # what one round may ask for
ROUND_S: Final = 0.25  # between rounds that only pass a state back
SETTLE_S: Final = 0.2  # several changes of a list are one
RELISTS_MAX: Final = 200  # changes of a list in one connection; more is a way to keep us busy
PROBLEM_CHARS_MAX: Final = 500  # of a server's words in an error

_ANSWERS: Final[TypeAdapter[CallToolResult | InputRequiredResult]] = TypeAdapter(
    CallToolResult | InputRequiredResult
)
log = logging.getLogger("wcore.mcp")
for _name in ("mcp", "client"):  # their messages quote servers, at any rate the servers like
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class Connection:
    """One run of a server: `serve` keeps it up, `start` runs calls on it."""

    def __init__(
        self,
        config: ServerConfig,
        environment: McpEnvironment,
        changed: Callable[[ToolListing], None],
    ) -> None:
        self._config = config
        self._environment = environment
        self._changed = changed
        self._program = StdioProcess(config, environment) if config.transport == STDIO else None
        self._ended = self._program.ended if self._program else anyio.Event()
        self._list_changed = anyio.Event()
        self._listed_anew = anyio.Event()
        self._listed_anew.set()
        self._calls: list[ServerCall] = []
        self._inquiries = RequestHandlers(environment.workspace, self._calls)
        self._client: Client | None = None
        self._tasks: TaskGroup | None = None
        self._scope = anyio.CancelScope()
        self._listed_bytes = 0
        self.offers = EMPTY_LISTING
        self.closed = anyio.Event()

    @property
    def alive(self) -> bool:
        """Whether calls can be started."""
        return self._tasks is not None and not self._ended.is_set()

    @property
    def epitaph(self) -> str:
        """How the server's program ended, for people; empty while it runs, and over HTTP."""
        if self._program is None or not self._program.ended.is_set():
            return ""
        return visible_line(self._environment.redact(self._program.told()), PROBLEM_CHARS_MAX)

    async def serve(self, *, task_status: TaskStatus[None]) -> None:
        """Connect, list the tools, report `started`, and stay until the server ends or `close`.

        Raises:
            Exception: it could not be connected; see `why`. Nothing is left of it then.
        """
        started = False
        try:
            with self._scope:
                async with self._made() as self._client, anyio.create_task_group() as tasks:
                    self.offers = await self._listed(self._client)
                    self._tasks = tasks
                    task_status.started()
                    started = True
                    tasks.start_soon(self._follow_changes, self._client)
                    tasks.start_soon(self._subscribe, self._client)
                    await self._ended.wait()
                    tasks.cancel_scope.cancel()
        except Exception as error:
            if not started:
                raise
            log.info("server.lost %s: %s", self._config.name, self.why(error))
        finally:
            self._tasks = None
            self._ended.set()
            self.closed.set()

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
                text = self.epitaph or "the connection was closed"
            case OSError(strerror=str(text)):
                pass
            case first:
                text = str(first).partition("\n")[0] or type(first).__name__
        return visible_line(self._environment.redact(text), PROBLEM_CHARS_MAX)

    def _made(self) -> Client:
        where: AbstractAsyncContextManager[Any]
        where = self._program.streams() if self._program else open_http(self._config)
        return Client(
            where,
            cache=None,  # what a person was shown is never taken from a cache
            client_info=Implementation(name="wcore", version=__version__),
            list_roots_callback=self._inquiries.roots,
            elicitation_callback=self._inquiries.elicited,
            sampling_callback=self._inquiries.sampled,
            message_handler=self._noticed,
        )

    # --- the list of tools ------------------------------------------------------------------------

    async def _listed(self, client: Client) -> ToolListing:
        listing = ToolListingBuilder(self._config.safe_name)
        cursor: str | None = None
        with anyio.fail_after(LIST_S_MAX):
            for _ in range(PAGES_MAX):
                params = PaginatedRequestParams(cursor=cursor) if cursor else None
                page = await client.session.list_tools(params=params)
                listing.add(page.tools)
                self._charge(page)
                cursor = page.next_cursor
                if cursor is None or listing.is_full:
                    break
        return listing.offers()

    def _charge(self, page: ListToolsResult) -> None:
        """Count what was listed; the SDK keeps schemas of results, which nobody asks it for."""
        self._listed_bytes += len(page.model_dump_json())
        for tool in page.tools:
            (tool.output_schema or {}).clear()
        if self._listed_bytes > LISTED_BYTES_MAX:
            self._ended.set()
            raise ToolError("it lists more tools than anybody can hold")

    async def _noticed(self, message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._list_is_old()

    def _list_is_old(self) -> None:
        """From now on calls wait for the new list, so that none goes to another tool."""
        if self._listed_anew.is_set():
            self._listed_anew = anyio.Event()
        self._list_changed.set()

    async def current(self) -> ToolListing:
        """Return what the server offers now.

        Raises:
            TimeoutError: it goes on changing its list.
        """
        with anyio.fail_after(LIST_S_MAX):
            while not self._listed_anew.is_set():
                await self._listed_anew.wait()
        return self.offers

    async def _subscribe(self, client: Client) -> None:
        """Ask a server of the newer protocol to tell of changes; an older one tells unasked."""
        tools = client.server_capabilities.tools
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not tools:
            return
        if tools.list_changed:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    async for _ in changes:
                        self._list_is_old()
            except Exception as error:  # noqa: BLE001 - without it the list stays as it is
                log.info("server.silent %s: %s", self._config.name, self.why(error))

    async def _follow_changes(self, client: Client) -> None:
        for _ in range(RELISTS_MAX):
            await self._list_changed.wait()
            await anyio.sleep(SETTLE_S)
            self._list_changed = anyio.Event()
            try:
                self.offers = await self._listed(client)
            except Exception as error:  # noqa: BLE001 - a list that cannot be read offers nothing
                log.info("server.unlisted %s: %s", self._config.name, self.why(error))
                self.offers = EMPTY_LISTING
            self._changed(self.offers)
            if not self._list_changed.is_set():  # else it has changed meanwhile
                self._listed_anew.set()

    # --- calls ------------------------------------------------------------------------------------

    async def _perform(self, call: ServerCall) -> None:
        done = Done(problem=f"no answer, progress or question for {SILENCE_S_MAX:g} s")
        try:
            with call.scope:
                call.expect()
                try:
                    done = await self._answer(call)
                except Exception as error:  # noqa: BLE001 - whatever it is, it ends this call only
                    done = Done(problem=self.why(error))
                    if not isinstance(error, MCPError) or error.error.code == CONNECTION_CLOSED:
                        self._suspect()
            await call.end(done)
        finally:
            self._calls.remove(call)
            call.over()

    def _suspect(self) -> None:
        """Give up a connection over HTTP that failed; the next use makes another."""
        if self._program is None:
            self._ended.set()

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
