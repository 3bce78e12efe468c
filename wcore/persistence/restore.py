"""From the records of a journal to the conversation as it was when its engine ended. Pure."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field

from wcore.errors import Code, WcoreError
from wcore.persistence import records as bodies
from wcore.persistence.records import RecordedApproval
from wcore.store import JournalRecord, Kind
from wcore.vocabulary import Message, ModelCall, ToolMessage, Usage, UserMessage

CONTEXT: Final = "init_history"
DOUBTED: Final = "doubted"  # of an `opened`: the calls whose recorded yes counted for none
#: The kinds of record that `restore` looks at: of each turn, and of one that has not ended.
OF_CONVERSATION: Final = frozenset(
    {Kind.TURN_STARTED, Kind.REPLIED, Kind.ENDED, Kind.TURN_ENDED, Kind.COMMANDED}
)
OF_OPEN_TURN: Final = frozenset({Kind.ASKED, Kind.DECIDED, Kind.STARTED})


class UnreadableJournalError(WcoreError):
    """A record does not say what records of its kind say: nothing is continued from there."""

    code = Code.INIT

    def __init__(self, seq: int, problem: str) -> None:
        super().__init__(
            f"record {seq} of the session's journal cannot be understood ({problem}); "
            "see it with `wcore sessions show`, or start a new session"
        )


class OpenCall(Struct):
    """A call of the last reply that has not ended. `answer` is a person's approval of it."""

    call_id: str
    call: ModelCall
    is_started: bool = False
    answer: RecordedApproval | None = None


class OpenTurn(Struct):
    """A turn that was cut off: the calls of its last reply in order, ended or not.

    `messages` are a user's that wait for the calls to end: they belong behind them.
    """

    msg_id: str
    order: tuple[str, ...] = ()
    calls: dict[str, OpenCall] = field(default_factory=dict[str, OpenCall])
    results: dict[str, ToolMessage] = field(default_factory=dict[str, ToolMessage])
    messages: list[UserMessage] = field(default_factory=list[UserMessage])

    def forget(self, call_ids: Iterable[str]) -> None:
        """Take the yes to some of the calls for none."""
        for call_id in call_ids:
            if call_id in self.calls:
                self.calls[call_id].answer = None

    @property
    def pending(self) -> tuple[str, ...]:
        """The calls that waited, or had not begun."""
        return tuple(c.call_id for c in self.calls.values() if not c.is_started)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The calls that had begun: nobody knows how far they came."""
        return tuple(c.call_id for c in self.calls.values() if c.is_started)


class Left(Struct, frozen=True):
    """Where an earlier engine left a session: what is to be known before the conversation is.

    `doubted` are the calls that are asked again, because the audit has no row of their yes.
    """

    interrupted: OpenTurn | None = None
    workspace: str | None = None
    doubted: tuple[str, ...] = ()


class Restored(Struct):
    """A conversation: its history as (msg_id, message), what it cost, and ids once used."""

    history: list[tuple[str, Message]] = field(default_factory=list[tuple[str, Message]])
    usage: Usage = field(default_factory=Usage)
    context_tokens: int = 0
    call_ids: set[str] = field(default_factory=set[str])
    interrupted: OpenTurn | None = None


def restore(records: Iterable[JournalRecord]) -> Restored:
    """Return the conversation that `records` tell.

    Raises:
        UnreadableJournalError: a record makes no sense.
    """
    fold = _Fold()
    for record in records:
        try:
            fold.take(record)
        except (ValueError, KeyError, TypeError) as error:
            raise UnreadableJournalError(record.seq, str(error)) from error
    fold.made.interrupted = fold.turn
    if fold.turn is None:
        fold.take_late()
    return fold.made


class _Fold:
    def __init__(self) -> None:
        self.made = Restored()
        self.turn: OpenTurn | None = None
        self._late: list[UserMessage] = []  # context that came during a turn waits for its end

    def take(self, record: JournalRecord) -> None:
        body = record.body
        if "below" in body:  # a sub-agent's: it ends with the call that it works for
            self.made.call_ids.update(bodies.call_ids(body))
            return
        match record.kind:
            case Kind.TURN_STARTED:
                self._start(str(body["msg_id"]), bodies.user_message(body))
            case Kind.REPLIED:
                self._reply(record)
            case Kind.ASKED | Kind.DECIDED | Kind.STARTED | Kind.ENDED:
                self._call(record)
            case Kind.TURN_ENDED:
                self._settle()
                self.turn = None
                self.take_late()
            case Kind.COMMANDED if body.get("type") == CONTEXT:
                self._hear_context(str(body.get("text", "")))
            case _:
                pass

    def _call(self, record: JournalRecord) -> None:
        call_id = str(record.body["call_id"])
        call = self.turn.calls.get(call_id) if self.turn else None
        if self.turn is None or call is None:
            return
        match record.kind:
            case Kind.ASKED:
                call.answer = None  # asked anew: an older yes was to something else
            case Kind.DECIDED:
                call.answer = bodies.recorded_approval(record.body, record.at)
            case Kind.STARTED:
                call.is_started = True
            case _:
                del self.turn.calls[call_id]
                self.turn.results[call_id] = bodies.tool_message(record.body)

    def take_late(self) -> None:
        self.made.history += [("", message) for message in self._late]
        self._late.clear()

    def _start(self, msg_id: str, message: UserMessage | None) -> None:
        if self.turn is None:
            self.turn = OpenTurn(msg_id)
            if message is not None:
                self.made.history.append((msg_id, message))
            return
        self.turn.msg_id = msg_id  # an interrupted turn goes on, under this id
        if message is not None:
            self.turn.messages.append(message)

    def _reply(self, record: JournalRecord) -> None:
        if self.turn is None:
            raise ValueError("a reply outside of a turn")
        self._settle()
        message = bodies.assistant_message(record.body)
        self.made.usage += bodies.usage(record.body)
        if record.body.get("finish") is not None:
            self.made.context_tokens = bodies.context_tokens(record.body)
        if message.text or message.thinking or message.calls:
            self.made.history.append((self.turn.msg_id, message))
        self.turn.order = tuple(call_id for call_id, _ in message.calls)
        self.turn.calls = {call_id: OpenCall(call_id, call) for call_id, call in message.calls}
        self.made.call_ids.update(self.turn.order)
        if reminder := record.body.get("reminder"):
            reminded = UserMessage(str(reminder), context=True)
            self.made.history.append((self.turn.msg_id, reminded))
        elif record.body.get("finish") is not None and not message.calls:
            self.turn = None  # the last reply: only the note that the turn has ended is missing

    def _settle(self) -> None:
        """Put the results of the last reply into the history, then messages that waited."""
        turn = self.turn
        if turn is None:
            return
        self.made.history += [
            (turn.msg_id, turn.results[call_id])
            for call_id in turn.order
            if call_id in turn.results
        ]
        self.made.history += [(turn.msg_id, message) for message in turn.messages]
        self.turn = OpenTurn(turn.msg_id)

    def _hear_context(self, text: str) -> None:
        message = UserMessage(text, context=True)
        if self.turn is None:
            self.made.history.append(("", message))
        else:
            self._late.append(message)
