"""MCP servers of a session: who may have one started, when, and what its tools are called.

Only the host's `add_mcp_server`, the administrator's and the user's policy file, and a trusted
project may start one: starting a server runs a program, and nothing runs before a yes.
"""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

import anyio
from anyio.abc import TaskGroup

from wcore.errors import Code, HostGoneError, RefusedError
from wcore.first_few import first_few
from wcore.policy.rules.mcp_tables import ServerTable
from wcore.policy.rules.rule import Level
from wcore.protocol import commands, events
from wcore.session.session import Session
from wcore.tools.mcp.environment import McpEnvironment, path_outside
from wcore.tools.mcp.life import State
from wcore.tools.mcp.names import PREFIX, SEPARATOR
from wcore.tools.mcp.server import Server, ServerError
from wcore.tools.mcp.server_config import ServerConfig, ServerConfigError, parse_server_config
from wcore.tools.mcp.tool import McpTool
from wcore.tools.tool import Tool, ToolEnvironment
from wcore.user_folders import lies_in
from wcore.vocabulary import Persist

SERVERS_MAX: Final = 64  # each is a process or a connection, and a list of tools for the model
SETTLE_S_MAX: Final = 28.0  # a turn waits so long for new servers, once; hosts expect them in 30 s
CHANGED_SHOWN_MAX: Final = 8  # tools that changed, in an info: nobody reads more
QUIET_S: Final = 1.0  # most servers are there by then, and nobody needs to hear of it

NAMES: Final = "names"  # of what people were told, beside reasons why a server is not started
UNTRUSTED: Final = "folder not trusted"
CHANGED: Final = "changed since this session began: it waits for the next start or accept_changes"
UNNAMED: Final = "no policy file that counts names it any more"
TOO_LATE: Final = "servers are added before the first message only"


class McpServers:
    """All servers of the session, by name. `tasks` outlive every one of them."""

    def __init__(self, session: Session, environment: ToolEnvironment, tasks: TaskGroup) -> None:
        self._session = session
        self._environment = environment
        self._tasks = tasks
        self._builtin = dict(session.tools)
        self._servers: dict[str, Server] = {}
        self._awaited: set[str] = set()  # those of them that turns have waited for
        self._tried: dict[str, ServerConfig] = {}  # of policy files, whatever has become of them
        self._told: set[tuple[str, str]] = set()
        self._mcp_environment = McpEnvironment(
            workspace=environment.workspace,
            home=environment.home,
            environ=environment.environ,
            start=environment.start,
            tasks=tasks,
            redact=session.secrets.redact,
        )

    # --- the host's commands ------------------------------------------------------------------

    async def add(self, command: commands.AddMcpServer, *, too_late: bool) -> None:
        """Start connecting a server for the host; refusals and failures say why."""
        if too_late:
            await self._refuse(command.name, Code.REFUSED, TOO_LATE)
            return
        try:
            config = _parsed(command, self._environment.workspace)
            await self._admit(config)
        except ServerConfigError as error:
            await self._refuse(command.name, error.code, str(error))
            return
        self._start(config, asked=True)

    async def remove(self, name: str) -> dict[str, object]:
        """End a server and take its tools away.

        Raises:
            RefusedError: there is none of that name.
        """
        server = self._servers.get(name)
        if server is None:
            raise RefusedError(f"there is no server {name!r}")
        await self._drop(server)
        return {}

    async def _refuse(self, name: str, code: Code, reason: str) -> None:
        await self._session.emit_error(code, f"MCP server {name}: {reason}", mcp_server=name)
        await self._failed(name, reason)

    async def _failed(self, name: str, reason: str) -> None:
        text = self._session.secrets.redact(reason)
        await self._session.emit(events.McpFailed(name=name, reason=text))

    # --- the policy files ---------------------------------------------------------------------

    async def sync_with_policy(self) -> None:
        """Start what the policy files name now; end what they name or allow no more."""
        wanted = dict([each async for each in self._wanted()])
        for server in list(self._servers.values()):
            name = server.config.name
            is_of_files = self._tried.get(name) == server.config
            if is_of_files and wanted.get(name) != server.config:
                del self._tried[name]
                had_failed = server.life.state is State.FAILED
                await self._drop(server)
                if not had_failed:
                    await self._failed(name, UNNAMED)
        for name, config in wanted.items():
            if self._tried.get(name) != config and name not in self._servers:
                self._tried[name] = config
                try:
                    await self._admit(config)
                except ServerConfigError as error:
                    await self._failed(name, str(error))
                else:
                    self._start(config, asked=False)

    async def _wanted(self) -> AsyncIterator[tuple[str, ServerConfig]]:
        """Yield the servers that may be started; say once why another may not."""
        rules, named = self._session.policy.rules, set[str]()
        policies = rules.present.policies
        for level, file in policies.files.items():
            for table in file.mcp:
                reason = ""
                if table.name in named:
                    reason = f"{table.source}: another policy file has a server of that name"
                elif level not in policies.vouched:
                    reason = UNTRUSTED
                elif not rules.holds_server(level, table):
                    reason = CHANGED
                else:
                    named.add(table.name)
                    try:
                        yield table.name, self._defined(level, table)
                    except ServerConfigError as error:
                        reason = f"{table.source}: {error}"
                if reason and (table.name, reason) not in self._told:
                    self._told.add((table.name, reason))
                    await self._failed(table.name, reason)

    def _defined(self, level: Level, table: ServerTable) -> ServerConfig:
        """Return a server of a file. Only a trusted project's is started among its own files.

        Elsewhere `npx` and `python -m` would run what a cloned repository has put there.
        """
        environment, ours = self._environment, level is Level.PROJECT
        home, workspace = environment.home, environment.workspace
        apart = "/" if lies_in(home, workspace) else home
        if ours:
            return _parsed(table, workspace)
        return _parsed(table, apart, path_outside(environment.environ, workspace))

    # --- before a turn ------------------------------------------------------------------------

    async def wait_until_ready(self) -> None:
        """Bring the servers in line with the policy files, and wait until all are ready or failed.

        Waits `SETTLE_S_MAX` at most, and once for each; cancelling it leaves them connecting. Those
        that could not be had are tried again behind the turn.
        """
        await self.sync_with_policy()
        for server in list(self._servers.values()):
            if server.is_due:
                self._connect(server)
        names = self._connecting()
        if not names:
            return
        session, new = self._session, [name for name in names if name not in self._awaited]
        self._awaited.update(names)
        with anyio.move_on_after(QUIET_S) as quiet:
            await self._settled()
        if quiet.cancelled_caught and new:
            await session.emit_info(f"waiting for MCP servers: {', '.join(new)}")
            with anyio.move_on_after(SETTLE_S_MAX):
                await self._settled()
            if left := ", ".join(self._connecting()):
                await session.emit_info(f"MCP servers still starting, for a later turn: {left}")

    def _connecting(self) -> list[str]:
        servers = self._servers.items()
        return [name for name, each in servers if each.life.state is State.STARTING]

    async def _settled(self) -> None:
        for server in list(self._servers.values()):
            await server.life.leaves(State.STARTING)

    # --- one server ---------------------------------------------------------------------------

    async def _admit(self, config: ServerConfig) -> None:
        """Refuse a server whose tools could be taken for another's."""
        for server in list(self._servers.values()):
            if server.config.safe_name.lower() != config.safe_name.lower():
                continue
            if server.life.state is not State.FAILED:
                raise ServerConfigError(
                    f"there is a server {server.config.name!r} already; remove it first"
                )
            await self._drop(server)
        if len(self._servers) >= SERVERS_MAX:
            raise ServerConfigError(f"there are {SERVERS_MAX} servers already")

    def _start(self, config: ServerConfig, *, asked: bool) -> None:
        for secret in config.secrets():
            self._session.secrets.add(secret)
        server = Server(config, self._mcp_environment, self._tools_changed)
        self._servers[config.name] = server
        self._awaited.discard(config.name)
        self._told.discard((config.name, NAMES))
        self._connect(server, is_asked=asked)

    def _connect(self, server: Server, *, is_asked: bool = False) -> None:
        is_news = server.life.state is not State.FAILED
        server.start()
        self._tasks.start_soon(self._report, server, is_asked, is_news)

    async def _report(self, server: Server, is_asked: bool, is_news: bool) -> None:  # noqa: FBT001 - for start_soon
        """Say what became of a start; of another one that failed nobody needs to hear."""
        name, session = server.config.name, self._session
        try:
            await server.started()
        except ServerError as error:
            if is_asked and self._servers.get(name) is server:
                await self._refuse(name, error.code, str(error))
            elif is_news:
                await self._failed(name, str(error))
        else:
            await session.emit(events.McpReady(name=name, tools=server.offers.raw_names))

    async def _drop(self, server: Server) -> None:
        self._servers.pop(server.config.name, None)
        self._publish_tools()
        await server.close()

    def _tools_changed(self, server: Server) -> None:
        """Take what a server offers now, unless it was removed."""
        name = server.config.name
        if self._servers.get(name) is server:
            self._publish_tools()
            self._tell_of_names(server)

    def _tell_of_names(self, server: Server) -> None:
        """Say once what is left out of what a server lists, and how it is called elsewhere."""
        config, refused = server.config, server.offers.refused
        told = [f"tools left out: {'; '.join(refused)}"] if refused else []
        if config.safe_name != config.name:
            told.append(f"its tools are named {PREFIX}{config.safe_name}{SEPARATOR}…")
        if told and (config.name, NAMES) not in self._told:
            self._told.add((config.name, NAMES))
            text = f"MCP server {config.shown_name}: {'. '.join(told)}"
            with suppress(HostGoneError):
                self._session.emit_nowait(events.Info(message=text))

    def _publish_tools(self) -> None:
        """Let the session have the tools of all servers as they are now, and the built-in ones."""
        session, before = self._session, dict(self._session.tools)
        tools: dict[str, Tool] = dict(self._builtin)
        for server in self._servers.values():
            tools |= {name: McpTool(server, o) for name, o in server.offers.tools.items()}
        session.tools.clear()
        session.tools.update(tools)
        changed: set[str] = set()
        for grant in [grant for grant in session.grants if grant.pin]:
            old, new = before.get(grant.tool), tools.get(grant.tool)
            if isinstance(old, McpTool) and isinstance(new, McpTool) and old.offer != new.offer:
                if grant.persist is Persist.SESSION:  # a lasting one does not match any more
                    session.grants.revoke(grant.grant_id)
                changed.add(grant.tool)
        names = ", ".join(first_few(sorted(changed), CHANGED_SHOWN_MAX))
        text = f"{names} is not the tool that was granted any more: it asks again"
        if len(changed) > 1:
            text = f"{names} are not the tools that were granted any more: they ask again"
        if changed:
            with suppress(HostGoneError):
                session.emit_nowait(events.Info(message=text))


def _parsed(
    given: commands.AddMcpServer | ServerTable, cwd: str, on_path: tuple[str, ...] | None = None
) -> ServerConfig:
    return parse_server_config(
        given.name,
        given.transport,
        command=given.command,
        args=tuple(given.args or ()),
        env=given.env,
        url=given.url,
        headers=given.headers,
        start_timeout_s=given.start_timeout_s,
        call_timeout_s=given.call_timeout_s,
        cwd=cwd,
        on_path=on_path,
    )
