"""What can happen to a chat: an event, a key, a line, time, an end."""

from dataclasses import dataclass
from typing import TypeAlias

from wcore_host.errors import EngineExitedError
from wcore_host.events import Event
from wcore_host.plain.keys import Press


@dataclass(frozen=True)
class Line:
    """A line from a pipe; `None` is the end of input."""

    text: str | None


@dataclass(frozen=True)
class Tick:
    """Time has passed."""


@dataclass(frozen=True)
class Gone:
    """The engine has ended; `failure` if it was not told to."""

    failure: EngineExitedError | None


@dataclass(frozen=True)
class Signalled:
    """A signal asks us to end."""

    number: int


Item: TypeAlias = Event | Press | Line | Tick | Gone | Signalled
