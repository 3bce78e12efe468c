"""A model that replays a script: for tests, demos and conformance cases, not for people.

One process is one conversation: the position in the script lives here, not in the history.
"""

from collections.abc import AsyncGenerator, Iterator
from itertools import count
from typing import Final

import anyio
from anyio.lowlevel import checkpoint
from pydantic import JsonValue

from wcore.errors import ProviderError
from wcore.models.arguments import read_call
from wcore.models.model import CallReady, Delta, Finished, FinishReason, Request, Text, Thinking
from wcore.models.script_file import (
    CallBody,
    CallItem,
    EchoItem,
    ErrorBody,
    ErrorItem,
    FinishItem,
    Item,
    Line,
    Reply,
    StallItem,
    StallMsItem,
    TextItem,
    ThinkingItem,
    UsageItem,
)
from wcore.models.script_input import echo, unmet
from wcore.vocabulary import ModelCall, Usage

DELTAS_PER_CHECKPOINT: Final = 32  # cancellation stays prompt and 20,000 deltas stay fast
ENDED: Final = "(script ended)"


class ScriptModel:
    """The model named `script:FILE`."""

    effort_levels = ()
    window_tokens = None
    price_provider = ""
    problem = ""

    def __init__(self, name: str, lines: tuple[Line, ...]) -> None:
        self.name = name
        self.thinks = any(isinstance(i, ThinkingItem) for line in lines for i in line.reply.say)
        self._lines = iter(lines)
        self._ids = count(1)

    def warm(self) -> None:
        """Nothing to do: the file was read when the model was chosen."""

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield the next reply of the script, or `ENDED` after the last.

        Raises:
            ProviderError: the script says so, or an expectation of the line is not met.
        """
        line = next(self._lines, None)
        if line is None:
            yield Text(ENDED)
            yield Finished(FinishReason.STOP)
            return
        if problem := unmet(line, request):
            raise _failure(ErrorBody(message=problem))
        for item in line.reply.say:
            match item:
                case StallItem():
                    await anyio.sleep_forever()
                case StallMsItem():
                    await anyio.sleep(item.stall_ms / 1000)
                case ErrorItem():
                    raise _failure(item.error)
                case _:
                    for number, delta in enumerate(self._deltas(item, request)):
                        if number % DELTAS_PER_CHECKPOINT == 0:
                            await checkpoint()
                        yield delta
        yield _finished(line.reply)

    def _deltas(self, item: Item, request: Request) -> Iterator[Delta]:
        match item:
            case TextItem():
                for number in _numbers(item.repeat):
                    yield Text(_numbered(item.text, number))
            case ThinkingItem():
                for number in _numbers(item.repeat):
                    yield Thinking(_numbered(item.thinking, number), item.subject)
            case CallItem():
                for number in _numbers(item.repeat):
                    yield CallReady(self._call(item.call, number))
            case EchoItem():
                yield Text(echo(request))
            case _:
                pass

    def _call(self, body: CallBody, number: int | None) -> ModelCall:
        # Counted rather than random, so that recorded cases stay the same.
        given = f"script_{next(self._ids)}" if body.id is None else body.id
        model_id = _numbered(given, number)
        name = _numbered(body.name, number)
        if body.raw is not None:
            return read_call(model_id, name, _numbered(body.raw, number))
        args = {key: _filled(value, number) for key, value in (body.args or {}).items()}
        return ModelCall(model_id, name, args)


def _finished(reply: Reply) -> Finished:
    calls = any(isinstance(item, CallItem) for item in reply.say)
    reason = FinishReason.TOOLS if calls else FinishReason.STOP
    usage = Usage()
    for item in reply.say:
        if isinstance(item, FinishItem):
            reason = item.finish
        elif isinstance(item, UsageItem):
            usage = Usage(**item.usage.model_dump())
    return Finished(reason, usage)


def _failure(body: ErrorBody) -> ProviderError:
    class ScriptedError(ProviderError):
        code = body.code
        retryable = body.retryable

    return ScriptedError(body.message)


def _numbers(repeat: int | None) -> Iterator[int | None]:
    """Count from 1; an item that is not repeated has no number, and its `{n}` stays."""
    return iter((None,) if repeat is None else range(1, repeat + 1))


def _numbered(text: str, number: int | None) -> str:
    return text if number is None else text.replace("{n}", str(number))


def _filled(value: JsonValue, number: int | None) -> JsonValue:
    if isinstance(value, str):
        return _numbered(value, number)
    if isinstance(value, list):
        return [_filled(item, number) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, number) for key, item in value.items()}
    return value
