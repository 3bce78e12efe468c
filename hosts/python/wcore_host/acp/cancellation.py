"""`$/cancel_request` for a prompt is `session/cancel`; the SDK does not know it yet.

It is a notification, so nothing answers it. Every other request runs to its end and is answered as
if nobody had tried to cancel it: none of them lasts.
"""

import logging
from collections.abc import Awaitable, Callable

from acp.connection import StreamDirection, StreamEvent


class Cancellations:
    """Looks at every frame; `cancel` takes the session of a prompt that the editor takes back."""

    def __init__(self, cancel: Callable[[str], Awaitable[None]]) -> None:
        self._cancel = cancel
        self._prompts: dict[int | str, str] = {}  # those that were not answered: request, session
        logging.getLogger().addFilter(_is_news)

    def __call__(self, event: StreamEvent) -> Awaitable[None] | None:
        is_of_editor = event.direction is StreamDirection.INCOMING
        match event.message:
            case {
                "method": "session/prompt",
                "id": int() | str() as number,
                "params": {"sessionId": str() as session_id},
            } if is_of_editor:
                self._prompts[number] = session_id
            case {
                "method": "$/cancel_request",
                "params": {"requestId": int() | str() as number},
            } if is_of_editor and number in self._prompts:
                return self._cancel(self._prompts[number])
            case {"id": int() | str() as number} if not (is_of_editor or "method" in event.message):
                self._prompts.pop(number, None)
            case _:
                pass
        return None


def _is_news(record: logging.LogRecord) -> bool:
    """Leave out the SDK's traceback about the method that is served here."""
    return "method=$/cancel_request" not in record.getMessage()
