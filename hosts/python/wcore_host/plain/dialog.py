"""What is asked of the person, one question at a time. Pure: text in, a step out.

A dialog belongs to one call and builds the answer to that call only; it never knows of others.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TypeAlias

from wcore_host.events import JsonObject, ToolRequest
from wcore_host.plain.style import Style


@dataclass(frozen=True)
class Done:
    """The dialog is over: send `command` (if any), tell the person `told`."""

    command: JsonObject | None
    told: str


@dataclass(frozen=True)
class Again:
    """Stay in the dialog: say `rows`, then ask for the (next) line, which starts as `prefill`."""

    rows: tuple[str, ...] = ()
    prefill: str = ""


Step: TypeAlias = Done | Again


class Dialog(ABC):
    """One question to the person."""

    @property
    def takes_paste(self) -> bool:
        """Whether text may be pasted now; an answer is typed."""
        return False

    @property
    @abstractmethod
    def prompt(self) -> str:
        """What stands before the line that the person types."""

    @abstractmethod
    def rows(self, style: Style) -> list[str]:
        """Return what is shown before the prompt."""

    @abstractmethod
    def answer(self, line: str, style: Style) -> Step:
        """Take one line."""

    @abstractmethod
    def cancel(self) -> Step:
        """Esc or Ctrl-C."""

    @property
    def request(self) -> ToolRequest | None:
        """The call that waits for this dialog, if one does."""
        return None
