"""A recorded session as one sequence; whoever takes part waits until it is his turn.

Some entries are what the engine was given (a command, a reply, a result): they are handed out when
everything before them has happened. The others are what it made of that, records and events: they
are compared. The first that is not as it was recorded ends the replay.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NoReturn, TypeAlias

import anyio

from wcore.persistence.records import as_list
from wcore.store import JournalRecord, Kind
from wcore.vocabulary import Json

STUCK_S: Final = 2.0  # nothing here waits for anything outside but the analysis of shell text
LOOKS: Final = 40  # in that time: a busy machine alone must not look like a difference


@dataclass(frozen=True, slots=True)
class RecordItem:
    """A record. `seq` is its number in the journal; what comes anew has none."""

    kind: Kind
    body: Mapping[str, Json]
    seq: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class EventItem:
    """An event; `number` counts them. Of what was recorded the line itself is not known."""

    kind: str
    call_id: str
    digest: str
    line: str = field(default="", compare=False)
    number: int = field(default=0, compare=False)
    seq: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class SyncPoint:
    """Something that was waited for has come."""

    what: str
    seq: int = field(default=0, compare=False)


NOTHING: Final[Mapping[str, Json]] = MappingProxyType({})

Item: TypeAlias = RecordItem | EventItem | SyncPoint
Fits: TypeAlias = Callable[[Item], bool]


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference. `recorded` is `None` where nothing more was; `now` likewise."""

    recorded: Item | None
    now: Item | None


@dataclass(slots=True)
class _Waiter:
    fits: Fits
    now: Item | None
    woken: anyio.Event = field(default_factory=anyio.Event)


class Timeline:
    """What one engine had recorded, from its first record to its last."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.at = 0
        self.divergence: Divergence | None = None
        self.over = anyio.Event()
        self.busy = 0  # how many are waiting for something outside
        self._waiting: list[_Waiter] = []
        if not items or _ends(items[0]):
            self._finish()

    @property
    def head(self) -> Item | None:
        """What comes next."""
        return self.items[self.at] if self.at < len(self.items) else None

    def ahead(self) -> Iterator[Item]:
        """Yield what comes next, and all behind it."""
        return (self.items[at] for at in range(self.at, len(self.items)))

    # --- taking turns -------------------------------------------------------------------------

    async def wait_for(self, fits: Fits, now: Item | None = None) -> Item:
        """Wait until what comes next fits; return it, not taken yet.

        `now` is what will be compared then. Once the replay is over nobody waits: it is as if
        whoever calls had been cancelled.
        """
        if self.over.is_set():
            raise anyio.get_cancelled_exc_class()
        waiter = _Waiter(fits, now)
        self._waiting.append(waiter)
        try:
            self._wake()
            while not (waiter.woken.is_set() and self._is_for(waiter)):
                waiter.woken = anyio.Event()
                self._wake()
                await waiter.woken.wait()
        finally:
            self._waiting.remove(waiter)
            self._wake()
        assert self.head is not None
        return self.head

    def take(self, now: Item) -> None:
        """Go on if `now` is what comes next; else the replay has diverged."""
        if self.over.is_set():
            return
        if self.head != now:
            self._diverge(now)
            return
        self.at += 1
        if self.head is None or _ends(self.head):
            self._finish()
        self._wake()

    def end(self) -> None:
        """Say that nothing more will come."""
        if not self.over.is_set():
            self._diverge(None)

    async def never(self) -> NoReturn:
        """Wait for the end of the replay."""
        await self.wait_for(lambda _: False)
        raise AssertionError

    async def watch(self) -> None:
        """Find that nobody can go on; then what waits is not what was recorded."""
        seen, looks = -1, 0
        while not self.over.is_set():
            looks = looks + 1 if (self.at, self.busy) == (seen, 0) else 0
            seen = self.at
            if looks > LOOKS:
                self._diverge(self._best())
            await anyio.sleep(STUCK_S / LOOKS)

    def _is_for(self, waiter: _Waiter) -> bool:
        if self.head is None or self.over.is_set():
            return False
        head = self.head
        return next((each for each in self._waiting if each.fits(head)), None) is waiter

    def _wake(self) -> None:
        for waiter in self._waiting:
            if self._is_for(waiter):
                waiter.woken.set()
                return

    def _best(self) -> Item | None:
        """Return what came instead of what was recorded: the likeliest of all that waits."""
        made = [waiter.now for waiter in self._waiting if waiter.now is not None]
        return max(made, key=self._likeness, default=None)

    def _likeness(self, made: Item) -> int:
        head = self.head
        same = type(made) is type(head)
        if isinstance(made, EventItem) and isinstance(head, EventItem):
            return 1 + (made.kind == head.kind) + 2 * (made.call_id == head.call_id)
        if isinstance(made, RecordItem) and isinstance(head, RecordItem):
            return 1 + (made.kind == head.kind)
        return int(same)

    def _diverge(self, now: Item | None) -> None:
        self.divergence = Divergence(self.head, now)
        self._finish()

    def _finish(self) -> None:
        self.over.set()


def what_of(item: Item) -> str | None:
    """Return what has come, where that is what an item tells."""
    if isinstance(item, SyncPoint):
        return item.what
    if isinstance(item, RecordItem) and item.kind is Kind.FOUND:
        return str(item.body.get("what"))
    return None


def facts_of(item: Item | None) -> Mapping[str, Json]:
    """Return what was found, if more than that something has come."""
    return item.body if isinstance(item, RecordItem) else NOTHING


def items_of(records: Iterable[JournalRecord], events_before: int) -> list[Item]:
    """Return the entries of records in order. Signs of life are left out: they tell the time."""
    found: list[Item] = []
    running: set[str] = set()
    number = events_before
    for record in records:
        if record.kind is not Kind.SAID:
            found.append(RecordItem(record.kind, record.body, record.seq))
            continue
        for each in as_list(record.body.get("events")):
            if isinstance(each, str):
                found.append(SyncPoint(each, record.seq))
                continue
            kind, call_id, digest = (str(part) for part in as_list(each))
            number += 1
            if not is_beat(running, kind, call_id):
                found.append(EventItem(kind, call_id, digest, number=number, seq=record.seq))
    return found


def is_beat(running: set[str], kind: str, call_id: str) -> bool:
    """Whether an event says again that a call is running; `running` are those that were."""
    if kind != "tool_running":
        return False
    beat = call_id in running
    running.add(call_id)
    return beat


def plain(value: Json) -> Json:
    """Return a value as it is when it comes back from the journal."""
    match value:
        case str():
            return value
        case Mapping():
            return {name: plain(each) for name, each in value.items()}
        case Sequence():
            return [plain(each) for each in value]
        case _:
            return value


def _ends(item: Item) -> bool:
    """Whether nothing that follows can be told from the outside: the host was gone."""
    return isinstance(item, RecordItem) and item.body.get("type") == "gone"
