"""What the engine hears and speaks through; a replay has others."""

import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final, Protocol, TypeAlias

import anyio

from wcore.engine.recording import Line

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

Signals: TypeAlias = Callable[[], AbstractContextManager[AsyncIterator[int]]]


class Ear(Protocol):
    """Where commands come from; see `wcore.stdio.LineReader`."""

    async def read(self) -> Sequence[Line] | None: ...


class Mouth(Protocol):
    """Where events go; see `wcore.stdio.Wire`."""

    async def run(self) -> None: ...
    async def flush(self) -> None: ...


def real_signals() -> AbstractContextManager[AsyncIterator[int]]:
    """Return the signals that end the engine, as they come."""
    return anyio.open_signal_receiver(*SIGNALS)
