"""What was said, as a sequence that only grows: who has taken a part need not look at it again."""

from collections.abc import Iterator, Sequence
from typing import overload

from wcore.vocabulary import Message


class MessageLog(Sequence[Message]):
    """The messages of one conversation. Nothing in it is ever replaced or taken away."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    def append(self, message: Message) -> None:
        """Add what was said last."""
        self._messages.append(message)

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)

    @overload
    def __getitem__(self, at: int) -> Message: ...
    @overload
    def __getitem__(self, at: slice) -> list[Message]: ...
    def __getitem__(self, at: int | slice) -> Message | list[Message]:
        return self._messages[at]
