"""Where commands and signals come from, as the engine needs them."""

import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final, Protocol, TypeAlias, cast

import anyio

from wcore.engine.command_lines import Line

_NAMES: Final = "TERM INT HUP QUIT USR1 USR2 ALRM VTALRM PROF XCPU IO PWR STKFLT".split()
_REAL_TIME: Final = (
    range(signal.SIGRTMIN, signal.SIGRTMAX + 1) if hasattr(signal, "SIGRTMIN") else ()
)
#: All that would end a program without a word and is no mistake of its own: a tool can send them.
ENDING: Final = (
    *(int(getattr(signal, f"SIG{name}")) for name in _NAMES if hasattr(signal, f"SIG{name}")),
    *_REAL_TIME,
)
#: They would stop it: then it is deaf to its host. SIGSTOP cannot be ignored; see `supervisor`.
IGNORED: Final = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)

Signals: TypeAlias = Callable[[], AbstractContextManager[AsyncIterator[int]]]


class CommandReader(Protocol):
    """Where commands come from; see `wcore.stdio.LineReader`."""

    async def read(self) -> Sequence[Line] | None: ...


def real_signals() -> AbstractContextManager[AsyncIterator[int]]:
    """Return the signals that end the engine, as they come; from now on none stops it."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    # Most of real time have no name; numbers do as well.
    return anyio.open_signal_receiver(*cast("tuple[signal.Signals, ...]", ENDING))
