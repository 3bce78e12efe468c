"""What was said in a conversation, in order."""

from msgspec import Struct

from wcore.models.message_log import MessageLog
from wcore.vocabulary import Message


class HistoryEntry(Struct, frozen=True):
    """One entry of the history; `seq` grows by one."""

    seq: int
    msg_id: str
    message: Message


class History:
    """The entries, and their messages as a model takes them.

    The messages are one sequence for all requests, so that a request costs only what is new.
    """

    def __init__(self) -> None:
        self.entries: list[HistoryEntry] = []
        self.messages = MessageLog()

    def add(self, msg_id: str, message: Message) -> None:
        """Append what was said in the turn of `msg_id`; empty between turns."""
        self.entries.append(HistoryEntry(len(self.entries), msg_id, message))
        self.messages.append(message)
