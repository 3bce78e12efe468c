"""The decided calls of a recorded session: from journal records to values."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct, ValidationError, convert, field

from wcore.cli.hypothetical_call import category_of
from wcore.policy.grants import MAIN_AGENT
from wcore.policy.protected import Places
from wcore.policy.simulate import RecordedCall
from wcore.store import AuditSource, JournalRecord, Kind
from wcore.views import SandboxView
from wcore.vocabulary import (
    MODE_ALIASES,
    Access,
    Json,
    Mode,
    Named,
    PathAccess,
    Prepared,
    Row,
    Verdict,
)

_LASTING: Final = frozenset({AuditSource.GRANT.value, AuditSource.OVERRIDE.value})
_UNASKED: Final = frozenset({AuditSource.NO_PROMPTS.value, AuditSource.HOST_GONE.value})
_UNDECIDED: Final = frozenset({AuditSource.STOP.value, AuditSource.SIGNAL.value})

Body = Mapping[str, Json]


def calls_of(records: Iterable[JournalRecord]) -> Iterator[RecordedCall]:
    """Yield each call that was prepared and decided, once, in the order of the decisions.

    Records that are not understood are passed over: they are about no such call.
    """
    reader = _Reader()
    for record in records:
        found = reader.read(record)
        if found is not None:
            yield found


class _Reader(Struct):
    """What is known so far. A call that was asked counts as asked, whatever the answer was."""

    places: Places | None = None
    mode: Mode = Mode.DEFAULT
    max_mode: Mode = Mode.FORCE
    names: dict[str, str] = field(default_factory=dict[str, str])
    prepared: dict[str, Body] = field(default_factory=dict[str, Body])

    def read(self, record: JournalRecord) -> RecordedCall | None:
        body = record.body
        call_id = str(body.get("call_id"))
        match record.kind:
            case Kind.OPENED:
                self._open(body)
            case Kind.COMMANDED if body.get("type") == "set_mode":
                mode = MODE_ALIASES.get(str(body.get("mode")), self.mode)
                self.mode = mode if mode.rank <= self.max_mode.rank else self.mode
            case Kind.REPLIED:
                self.names.update(_names(body.get("calls")))
            case Kind.PREPARED if not body.get("edited"):
                self.prepared[call_id] = body
            case Kind.ASKED:
                row = str(body.get("row"))
                return self._call(call_id, Verdict.ASK, row if row in list(Row) else None)
            case Kind.DECIDED:
                return self._decided(call_id, body)
            case _:
                pass
        return None

    def _open(self, body: Body) -> None:
        own, on_path = _texts(body.get("own")), _texts(body.get("on_path"))
        self.places = Places(str(body.get("workspace")), str(body.get("home")), own, on_path)
        self.mode = MODE_ALIASES.get(str(body.get("mode")), Mode.DEFAULT)
        self.max_mode = MODE_ALIASES.get(str(body.get("max_mode")), Mode.FORCE)

    def _decided(self, call_id: str, body: Body) -> RecordedCall | None:
        source = str(body.get("source"))
        if source in _UNDECIDED:
            return None
        row = Row.TIER.value if source == AuditSource.TIER.value else None
        if source in _UNASKED:
            return self._call(call_id, Verdict.ASK, None)
        was = Verdict.ALLOW if body.get("decision") == "approved" else Verdict.DENY
        return self._call(call_id, was, row, was_granted=source in _LASTING)

    def _call(
        self, call_id: str, was: Verdict, row: str | None, *, was_granted: bool = False
    ) -> RecordedCall | None:
        body, tool = self.prepared.pop(call_id, None), self.names.get(call_id)
        if body is None or tool is None or self.places is None:
            return None  # decided before, or never prepared
        command = body.get("command")
        prepared = Prepared(
            tool,
            category_of(tool, self.places),
            {},
            str(body.get("description")),
            "",
            tuple(_touches(body.get("touches"))),
            command if isinstance(command, str) else None,
            sandbox=SandboxView.of_pin(body.get("pin")),
        ).naming(_named(body))
        where = Row(row) if row else None
        agent = str(body.get("agent", MAIN_AGENT))
        return RecordedCall(
            call_id, prepared, self.places, self.mode, was, where, was_granted, agent
        )


def _named(body: Body) -> Named | None:
    try:
        return convert(body.get("named"), Named | None)
    except ValidationError:  # of no version that is known: the text itself is read
        return None


def _names(calls: Json) -> Iterator[tuple[str, str]]:
    for call in calls if isinstance(calls, list | tuple) else ():
        if isinstance(call, Mapping):
            yield str(call.get("call_id")), str(call.get("name"))


def _touches(accesses: Json) -> Iterator[PathAccess]:
    for touch in accesses if isinstance(accesses, list | tuple) else ():
        match touch:
            case [str(path), "read" | "write" as access]:
                yield PathAccess(path, Access(access))
            case _:
                pass


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()
