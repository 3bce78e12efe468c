"""Our model, lent to servers: their prompt, its reply, and nothing of our conversation."""

from collections.abc import Sequence
from contextlib import aclosing
from typing import Final

from wcore.errors import ProviderError, ToolError
from wcore.models.model import Finished, Request, Text
from wcore.session.session import Session
from wcore.vocabulary import AssistantMessage, Message, UserMessage

REPLY_TOKENS_MAX: Final = 8192  # of a reply that a server may ask our model for


async def sample(
    session: Session, system: str, messages: Sequence[tuple[str, str]], max_tokens: int
) -> str:
    """Return the model's reply to a server's own prompt.

    Raises:
        ToolError: there is none.
    """
    said_before: list[Message] = [
        AssistantMessage(text) if role == "assistant" else UserMessage(text)
        for role, text in messages
    ]
    tokens = max(1, min(max_tokens, REPLY_TOKENS_MAX))
    request = Request(system, said_before, [], tokens)
    reply: list[str] = []
    try:
        async with aclosing(session.model.stream(request)) as deltas:
            async for delta in deltas:
                if isinstance(delta, Text):
                    reply.append(delta.text)
                elif isinstance(delta, Finished):
                    session.usage += delta.usage
    except ProviderError as error:
        raise ToolError(str(error)) from error
    return "".join(reply)
