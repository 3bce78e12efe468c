"""The host of a replay: says what was recorded when its turn comes, and hears nothing."""

import json
from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from contextlib import contextmanager

import anyio

from wcore.approval.manager import ApprovalManager
from wcore.engine.command_log import MALFORMED, Line
from wcore.protocol import codec, commands
from wcore.replay.timeline import Item, RecordItem, Timeline
from wcore.store import Kind
from wcore.vocabulary import Json

EOF = "eof"
SIGNAL = "signal"
NO_TOKEN = "rt-none"


class NoWriter:
    """Where lines go that nobody reads; they were compared on the way."""

    def put_nowait(self, line: bytes) -> None:
        """Forget a line."""

    async def send(self, line: bytes) -> None:
        """Forget a line."""

    async def flush(self) -> None:
        """Nothing waits."""

    async def run(self) -> None:
        await anyio.sleep_forever()


class RecordedHost:
    """Where commands and signals come from."""

    def __init__(self, script: Timeline, approvals: ApprovalManager) -> None:
        self._script = script
        self._approvals = approvals

    async def read(self) -> Sequence[Line] | None:
        """Return the next command, when its turn has come."""
        head = await self._script.wait_for(lambda item: _type(item) not in (None, SIGNAL))
        assert isinstance(head, RecordItem)
        return None if _type(head) == EOF else [self._command(head.body)]

    @contextmanager
    def signals(self) -> Generator[AsyncIterator[int]]:
        yield self._signals()

    async def _signals(self) -> AsyncIterator[int]:
        while True:
            head = await self._script.wait_for(lambda item: _type(item) == SIGNAL)
            number = head.body.get("number") if isinstance(head, RecordItem) else None
            yield number if isinstance(number, int) else 0

    def _command(self, body: Mapping[str, Json]) -> Line:
        match body.get("type"):
            case str(kind) if kind == MALFORMED:
                return codec.Malformed(str(body.get("problem")))
            case "message":
                return self._message(str(body.get("msg_id")))
            case "approval_resume":
                token = self._approvals.token_of(str(body.get("call_id"))) or NO_TOKEN
                known = {name: value for name, value in body.items() if name != "call_id"}
                return commands.ApprovalResume.model_validate({**known, "resume_token": token})
            case _:
                return codec.decode(json.dumps(body).encode())

    def _message(self, msg_id: str) -> Line:
        """Return a message; its text is that of the turn it starts, if it starts one."""
        for item in self._script.ahead():
            if isinstance(item, RecordItem) and item.kind is Kind.TURN_STARTED:
                if item.body.get("msg_id") == msg_id and "text" in item.body:
                    files = item.body.get("files")
                    known = {"content": item.body["text"], "files": files or None}
                    return commands.Message.model_validate({"msg_id": msg_id, **known})
                break
        return commands.Message(msg_id=msg_id, content="")


def _type(item: Item) -> str | None:
    if isinstance(item, RecordItem) and item.kind is Kind.COMMANDED:
        return str(item.body.get("type"))
    return None
