"""What a host can say, one method a command. How lines travel is not known here."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final, cast
from uuid import uuid4

from wcore_host import decode
from wcore_host.decode import Fields
from wcore_host.errors import CommandFailedError
from wcore_host.events import CommandResult, Grant, Info, Json, JsonObject, Scope, ToolRequest
from wcore_host.permission import Allow, Deny, command

HISTORY_PAGE: Final = 100  # messages of a request, so that an answer fits into a line
LIST_PAGES_MAX: Final = 1024  # the engine holds at most 1,024 waiting calls


class Commands(ABC):
    """The commands of the protocol; `send` and `request` are the transport."""

    waiting_changes: Info | None = None  #: the newest that `accept_changes` can let count

    @abstractmethod
    async def send(self, command: JsonObject) -> None:
        """Send one command; returns when it is queued, waits only while the queue is full."""

    @abstractmethod
    async def request(self, command: JsonObject) -> CommandResult:
        """Send one introspection command and return its answer."""

    async def message(
        self, text: str, *, files: Sequence[str] = (), msg_id: str | None = None
    ) -> str:
        """Start a turn and return its `msg_id`."""
        msg_id = msg_id or uuid4().hex
        said: dict[str, Json] = {"type": "message", "msg_id": msg_id, "content": text}
        if files:
            said["files"] = list(files)
        await self.send(said)
        return msg_id

    async def approve(
        self,
        call: ToolRequest | str,
        *,
        scope: Scope = "once",
        persist: str | None = None,
        answer: str | None = None,
    ) -> None:
        """Let a waiting call run. To edit its arguments use `answer_call` with `Allow(args=…)`."""
        verdict = Allow(scope=scope, persist=persist, answer=answer)
        await self.send(command(call, verdict))

    async def deny(self, call: ToolRequest | str, reason: str = "", *, stop: bool = False) -> None:
        """Refuse a waiting call; the model is told `reason`. `stop` also ends the turn."""
        await self.send(command(call, Deny(reason, stop)))

    async def answer_call(self, call: ToolRequest, verdict: Allow | Deny) -> None:
        """Answer a waiting call with a verdict, edited arguments included."""
        await self.send(command(call, verdict))

    async def stop(self) -> None:
        """End the running turn; without one it does nothing."""
        await self.send({"type": "stop"})

    async def set_mode(self, mode: str) -> None:
        """Ask for a mode; `ConfigChanged` or an `Info` tells what became of it."""
        await self.send({"type": "set_mode", "mode": mode})

    async def list_pending(self) -> tuple[ToolRequest, ...]:
        """Return the calls that wait for an answer, in order of asking."""
        calls: list[ToolRequest] = []
        asked: dict[str, Json] = {"type": "list_pending"}
        for _ in range(LIST_PAGES_MAX):
            page = await self._result(asked)
            found = [decode.tool_request(item) for item in page.objects("calls")]
            calls += found
            if not found or not page.flag("more"):
                break
            asked["after"] = found[-1].call_id
        return tuple(calls)

    async def list_grants(self) -> tuple[Grant, ...]:
        """Return the lasting yeses that are in force."""
        result = await self._result({"type": "list_grants"})
        return tuple(decode.grant(item) for item in result.objects("grants"))

    async def revoke_grant(self, grant_id: str) -> bool:
        """Take back a lasting yes; `False` if there is none of that id."""
        result = await self._result({"type": "revoke_grant", "grant_id": grant_id})
        return result.flag("revoked")

    async def give_grant(
        self, tool: str, scope: Scope, *, persist: str | None = None, agent: str | None = None
    ) -> Grant:
        """Give a grant without a call that waits; needs the flag `grant_control`."""
        asked: dict[str, Json] = {"type": "give_grant", "tool": tool, "scope": cast("Json", scope)}
        asked |= {k: v for k, v in (("persist", persist), ("agent", agent)) if v is not None}
        result = await self._result(asked)
        return decode.grant(result.objects("grants")[0])

    async def accept_changes(self, digest: str) -> None:
        """Let count what others have loosened, as the `Info` with this digest named it."""
        await self._result({"type": "accept_changes", "digest": digest})
        self.waiting_changes = None

    async def resume_turn(self, action: str = "continue") -> None:
        """Go on with the turn that `ready.interrupted_turn` names, or `cancel` it."""
        await self._result({"type": "resume_turn", "action": action})

    async def get_history(
        self, *, limit: int | None = None, before: int | None = None
    ) -> tuple[tuple[JsonObject, ...], bool]:
        """Return messages, oldest first, and whether there are older ones (`before`)."""
        asked: dict[str, Json] = {"type": "get_history"}
        asked |= {k: v for k, v in (("limit", limit), ("before", before)) if v is not None}
        result = await self._result(asked)
        return tuple(item.raw for item in result.objects("messages")), result.flag("more")

    async def whole_history(self, messages_max: int) -> tuple[list[JsonObject], bool]:
        """Return what was said, oldest first, and whether its beginning is left out."""
        found: list[JsonObject] = []
        before: int | None = None
        while len(found) < messages_max:
            page, more = await self.get_history(limit=HISTORY_PAGE, before=before)
            found[:0] = page
            oldest = page[0].get("seq") if page else None
            if not more or not isinstance(oldest, int):
                return found, more
            before = oldest
        return found, True

    async def _result(self, asked: JsonObject) -> Fields:
        result = await self.request(asked)
        if not result.ok:
            raise CommandFailedError(str(asked["type"]), result.code, result.message)
        return Fields(result.raw)
