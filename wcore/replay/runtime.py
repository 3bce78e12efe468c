"""The effects of a replay: each call comes to what it came to then, and nothing is touched."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeGuard

import anyio
from anyio import to_thread
from msgspec.structs import replace

from wcore.agents import GENERAL, AgentDefinition, Assignment
from wcore.errors import ToolError
from wcore.models.factory import MODEL
from wcore.persistence.records import TIED, as_list
from wcore.persistence.shell_text_codec import named, programs
from wcore.policy import shell
from wcore.replay.inner_calls import InnerCalls
from wcore.replay.mcp_servers import RecordedServer, recorded_server_config
from wcore.replay.model import RecordedError
from wcore.replay.stubs import NoTool, SealedError
from wcore.replay.timeline import Item, RecordItem, Timeline, facts_of, what_of
from wcore.runtime import Runtime
from wcore.store import Kind
from wcore.tools.builtin.spawn import NAME as SPAWN
from wcore.tools.mcp import journal_facts
from wcore.tools.mcp.server import Server
from wcore.tools.mcp.server_config import ServerConfig
from wcore.tools.mcp.tool import McpTool
from wcore.tools.tool import RunContext, Tool
from wcore.vocabulary import (
    Access,
    Args,
    Category,
    Json,
    PathAccess,
    Prepared,
    Preview,
    Status,
    ToolOutput,
    Usage,
)

TARGETS: Final = "targets"


class RecordedAnalyser:
    """Reads shell text anew, but for what could not be read in time then.

    What could be is read in this process: it took less than the deadline, or a moment more.
    """

    def __init__(self, script: Timeline) -> None:
        self.unread: dict[str, shell.Reason] = {}
        self._script = script

    async def warm(self) -> None:
        """There is nothing to start."""

    async def analyse(self, text: str) -> shell.Analysis:
        if text in self.unread:
            return shell.Analysis(text, reason=self.unread[text])
        self._script.busy += 1
        try:
            return await to_thread.run_sync(shell.analyse, text)
        finally:
            self._script.busy -= 1


class RecordedRuntime(Runtime):
    """Has recorded outcomes only.

    `agents` are those that had a definition; `lend` counts what a server's prompt has cost.
    """

    def __init__(
        self,
        script: Timeline,
        reader: RecordedAnalyser,
        agents: Callable[[], Mapping[str, AgentDefinition]],
        lend: Callable[[Usage], None],
    ) -> None:
        self._lend = lend
        self._script = script
        self._reader = reader
        self._agents = agents
        self._targets = _targets_of(script)

    def tools(self, make: Callable[[], dict[str, Tool]]) -> dict[str, Tool]:
        found: dict[str, Tool] = {}
        warm = next((i for i in self._script.items if what_of(i) == "warm"), None)
        for each in as_list(facts_of(warm).get("tools")):
            name, category = (str(part) for part in as_list(each))
            found[name] = NoTool(name, Category(category))
        return found

    def define(self, name: str, make: Callable[[], ServerConfig]) -> ServerConfig:
        return recorded_server_config(self._script, name)

    def server(self, name: str, make: Callable[[], Server]) -> Server:
        return RecordedServer(self._script, make())

    async def within(self, seconds: float, wait: Callable[[], Awaitable[None]]) -> bool:
        either = (journal_facts.SETTLED, journal_facts.UNSETTLED)
        head = await self._script.wait_for(lambda item: what_of(item) in either)
        return what_of(head) == journal_facts.SETTLED

    def target_paths(self, call_id: str, tool: Tool, args: Args) -> frozenset[str]:
        return self._targets.get(call_id, frozenset())

    async def prepare(
        self, call_id: str, tool: Tool, args: Args, *, edited: bool = False
    ) -> Prepared:
        waited = f"{'edited' if edited else 'prepared'} {call_id}"
        was_prepared = False
        for item in self._script.ahead():
            if what_of(item) == waited:
                was_prepared = True
                _fail(facts_of(item))
            elif _is(item, Kind.PREPARED, call_id, edited=edited):
                return self._laid_out(item, tool, args)
            elif _is(item, Kind.ENDED, call_id):
                break
        if not was_prepared:
            await self._script.never()  # it was broken off
        return Prepared(tool.spec.name, tool.spec.category, args, "", "")

    async def run(self, tool: Tool, prepared: Prepared, live: RunContext) -> ToolOutput:
        if prepared.tool == SPAWN and live.spawn is not None:
            kind = str(prepared.args.get("agent", GENERAL.name))
            agent = GENERAL if kind == GENERAL.name else self._agents()[kind]
            await self._script.wait_for(lambda item: _begins(item, live.call_id))
            return await live.spawn(Assignment(agent, str(prepared.args.get("task"))))
        ended = next((i for i in self._script.ahead() if _ends(i, live.call_id)), None)
        has_result = ended is not None and ended.body.get("reason") is None
        if ended is not None and not has_result:  # what it had given stands before why it ended
            live.leave(str(ended.body.get("output")).rpartition("[")[0])
        with anyio.CancelScope(shield=has_result):  # with one it was past the point of return
            return await self._run(live, ended if has_result else None)
        raise SealedError("a call was ended by nobody")

    async def tie(self, call_id: str, look: Callable[[], str | None]) -> str | None:
        for item in self._script.ahead():
            if what_of(item) == f"{TIED} {call_id}":
                ties = facts_of(item).get("ties")
                return ties if isinstance(ties, str) else None
            if _is(item, Kind.ENDED, call_id):
                break
        return await self._script.never()  # it was broken off

    async def change_rules(
        self, what: str, change: Callable[[], Awaitable[dict[str, Json]]]
    ) -> dict[str, Json]:
        found = next((i for i in self._script.ahead() if what_of(i) == what), None)
        if found is None:
            await self._script.never()
        facts = facts_of(found)
        if "problem" in facts:
            raise RecordedError(facts)
        return {name: value for name, value in facts.items() if name != "what"}

    async def _run(self, live: RunContext, ended: RecordItem | None) -> ToolOutput:
        """Hand out what came as it came: pieces of output, calls of its own, and the result."""
        inner = InnerCalls(self._script, live, self._lend)

        def is_mine(item: Item) -> bool:
            return item is ended or _is(item, Kind.CHUNK, live.call_id) or inner.is_mine(item)

        async with anyio.create_task_group() as tasks:
            while (head := await self._script.wait_for(is_mine)) is not ended:
                if not inner.took(head, tasks):
                    assert isinstance(head, RecordItem)
                    await live.chunk(str(head.body.get("text")))
        assert ended is not None
        metadata = ended.body.get("metadata")
        return ToolOutput(
            Status(str(ended.body.get("status"))),
            str(ended.body.get("output")),
            str(ended.body.get("output_type")),
            metadata if isinstance(metadata, dict) else {},
        )

    def _laid_out(self, found: RecordItem, tool: Tool, args: Args) -> Prepared:
        body = found.body
        command, unread, changed = body.get("command"), body.get("unread"), body.get("args")
        if isinstance(command, str):
            self._reader.unread.pop(command, None)
            if unread is not None:
                self._reader.unread[command] = shell.Reason(str(unread))
        preview, pin = as_list(body.get("preview")), _pin(as_list(body.get("pin")))
        accesses = [as_list(each) for each in as_list(body.get("touches"))]
        return Prepared(
            tool=tool.spec.name,
            category=tool.spec.category,
            args=changed if isinstance(changed, dict) else args,
            description=str(body.get("description")),
            digest=str(body.get("digest")),
            accesses=tuple(PathAccess(str(path), Access(str(access))) for path, access in accesses),
            command=command if isinstance(command, str) else None,
            preview=_preview(preview) if preview else None,
            pin=pin,
            listed=replace(tool.server.listed, launch=pin[0])
            if isinstance(tool, McpTool) and pin
            else None,
            named=named(body),
            programs=programs(body),
        )


def _pin(found: Sequence[Json]) -> tuple[str, str] | None:
    return (str(found[0]), str(found[1])) if found else None


def _preview(found: Sequence[Json]) -> Preview:
    kind, text, truncated = found
    if kind not in ("diff", "command", "text"):
        raise ValueError("a preview is none")
    return Preview(kind, str(text), truncated is True)


def _is(
    item: Item, kind: Kind, call_id: str, *, edited: bool | None = None
) -> TypeGuard[RecordItem]:
    if not isinstance(item, RecordItem) or item.kind is not kind:
        return False
    is_edit = item.body.get("edited") is True
    return item.body.get("call_id") == call_id and (edited is None or is_edit is edited)


def _begins(item: Item, call_id: str) -> bool:
    """Whether what comes next is the work of an agent, or that there is none."""
    if not isinstance(item, RecordItem) or item.kind is not Kind.TURN_STARTED:
        return what_of(item) == MODEL or _ends(item, call_id)
    return item.body.get("below") == call_id


def _ends(item: Item, call_id: str) -> TypeGuard[RecordItem]:
    return _is(item, Kind.ENDED, call_id)


def _fail(facts: Mapping[str, Json]) -> None:
    if not facts:
        return
    problem = facts.get("problem")
    if problem is None:
        raise RuntimeError("as it was recorded")
    raise ToolError(str(problem))


def _targets_of(script: Timeline) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for item in script.items:
        if isinstance(item, RecordItem) and what_of(item) == TARGETS:
            of = item.body.get("of")
            for call_id, paths in of.items() if isinstance(of, Mapping) else ():
                found[call_id] = frozenset(map(str, as_list(paths)))
    return found
