"""One tool call while it is under way: what is known of it. Nothing here sends.

`batch.py` makes one for each call of a reply. It begins with `call_id="toolu_7"` and
`model_call=ModelCall("toolu_7", "Bash", {"command": "ls"})`; `gate.py` decides about it and sets
`prepared` and `pending`; `execution.py` runs it; `result` is what the model is told in the end.
`announce.py` tells the host of it, and `finish.py` ends it.

Where it is in its life is `state`; the ledger refuses every move that `approval/table.py` has not.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import anyio

from wcore.approval.manager import Pending
from wcore.approval.table import State
from wcore.persistence import records
from wcore.persistence.restore import OpenCall
from wcore.policy import shell
from wcore.policy.facts import Studied
from wcore.policy_files.snapshot import PolicySnapshot
from wcore.store import Kind
from wcore.tools.tool import Tool
from wcore.turn.control import TurnControl
from wcore.vocabulary import Args, Category, ModelCall, Prepared, ToolMessage, ToolOutput

LATE: Final = (shell.Reason.TIMEOUT, shell.Reason.NO_ANALYST)  # they say nothing about the text


class ToolCall:
    """One call of one reply. `batch` is the list of the reply's calls, which this one is added to.

    `interrupted` is what an earlier engine left of it. `inner` is the tool of a call that is not
    the model's but made by a running tool.
    """

    def __init__(
        self,
        control: TurnControl,
        call_id: str,
        model_call: ModelCall,
        batch: Sequence["ToolCall"] = (),
        interrupted: OpenCall | None = None,
        inner: Tool | None = None,
    ) -> None:
        self.control = control
        self.session = control.session
        self.call_id = call_id
        self.model_call = model_call
        self._batch, self._index = batch, len(batch)  # one list for all: a reply may have many
        self.tool: Tool | None = inner or self.session.tools.get(model_call.name)
        self.is_inner = inner is not None
        self.category = self.tool.spec.category if self.tool else Category.EXEC
        args = model_call.args or {}
        self.target_paths = self.tool.target_paths(args) if self.tool else frozenset[str]()
        self.prepared: Prepared | None = None
        self.studied: Studied | None = None
        self.pending: Pending | None = None
        self.asked_under: PolicySnapshot | None = None  # the rules that made it a question
        self.answer: str | None = None
        self.edited = False
        self.so_far: str | None = None  # what it has given that was broken off, once it runs
        self.outcome_unknown = interrupted is not None and interrupted.is_started
        # A person's yes, given to another engine.
        self.recorded_approval = interrupted.answer if interrupted else None
        self.announced = False
        self.ended = anyio.Event()  # written down and told
        self.output = ToolOutput.failed("internal error")

    @property
    def state(self) -> State | None:
        """Where it is in its life; `None` when that is over, or about to be told to be over."""
        return self.session.ledger.state(self.call_id)

    @property
    def earlier(self) -> Iterator["ToolCall"]:
        """The calls of the reply before this one."""
        return islice(self._batch, self._index)

    @property
    def result(self) -> ToolMessage:
        """What the model is told; every call has one."""
        return ToolMessage(self.call_id, self.model_call.name, self.output)

    @property
    def args(self) -> Args | None:
        """The arguments to prepare: as the person changed them, else as the model sent them."""
        changed = self.recorded_approval.args if self.recorded_approval else None
        return self.model_call.args if changed is None else changed

    def note_prepared(self, studied: Studied) -> None:
        """Take what was prepared, and note it for the journal."""
        self.studied, self.prepared = studied, studied.prepared
        reason = studied.analysis.reason if studied.analysis else None
        unread = reason.value if reason in LATE and reason else None
        facts = records.prepared(self.call_id, studied.prepared, self.model_call.args, unread)
        self.session.journal.record(Kind.PREPARED, **facts)

    def delays(self, later: "ToolCall") -> bool:
        """Whether `later`, an exec or mcp call that needs no question, must wait for this one."""
        both_spawn = self.model_call.name == later.model_call.name == "Spawn"
        return not self.ended.is_set() and self.category is not Category.INFO and not both_spawn

    async def wait_for(self, others: Sequence["ToolCall"]) -> None:
        """Wait until `others` have ended, or the turn was told to end."""
        with self.control.interruptible():
            for other in others:
                await other.ended.wait()

    def leave(self, lines: str) -> None:
        """Note what the call has given that is being broken off."""
        self.so_far = lines
