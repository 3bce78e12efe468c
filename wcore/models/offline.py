"""The embedded model: turns plain requests into tool calls, without a key and without a network.

It is a stand-in for trying the engine and building hosts, and says so. It keeps no state: where
it is in a request, it reads from the history, as any model must.
"""

import re
import secrets
from collections.abc import AsyncGenerator, Sequence
from typing import Final

from anyio.lowlevel import checkpoint

from wcore.first_few import first_few
from wcore.models.model import CallReady, Delta, Finished, FinishReason, Request, Text
from wcore.models.offline_grammar import FORMS, Plan, Step, Unclear, understand
from wcore.vocabulary import (
    AssistantMessage,
    Message,
    ModelCall,
    Status,
    ToolMessage,
    Usage,
    UserMessage,
)

SHOWN_LINES_MAX: Final = 8  # a summary; the host has the whole output on its card
SHOWN_CHARS_MAX: Final = 160  # a summary repeats no file
BYTES_PER_TOKEN: Final = 4  # the usual rule of thumb; nothing is billed by it

_GREETINGS: Final = frozenset({"hello", "hi", "hey", "good morning", "good evening"})
_HELP_WORDS: Final = frozenset({"", "help", "?", "what can you do"})
_HELP: Final = "\n".join(
    (
        "I am `offline`, the stand-in that comes with wcore: not a language model, no key, "
        "no network. I only turn plain requests into tool calls. I understand:",
        "",
        *(f"    {form}" for form in FORMS.values()),
        "",
        "Join steps with `then` (one after the other) or `also` (at once); "
        "put quotes around a path with spaces.",
    )
)


class OfflineModel:
    """The model named `offline`."""

    name = "offline"
    price_provider = ""
    thinks = False
    effort_levels = ()
    window_tokens = None
    problem = ""

    def warm(self) -> None:
        """Nothing to do."""

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield one reply; never fails, whatever the text."""
        text, steps = _reply(request)
        for piece in re.findall(r"\s*\S+|\s+\Z", text):
            await checkpoint()
            yield Text(piece)
        for step in steps:
            await checkpoint()
            yield CallReady(ModelCall(f"call_{secrets.token_hex(8)}", step.tool, step.args))
        yield Finished(
            FinishReason.TOOLS if steps else FinishReason.STOP, _usage(request, text, steps)
        )


def _reply(request: Request) -> tuple[str, tuple[Step, ...]]:
    said, since = _turn(request.messages)
    plan = understand(said)
    if plan is None:
        return _small_talk(said), ()
    if isinstance(plan, Unclear):
        return f"I do not understand {_quote(plan.said)}. {plan.why} Nothing was done.", ()
    replies = [m for m in since if isinstance(m, AssistantMessage) and m.calls]
    done = min(len(replies), len(plan))
    if not done:
        return _next(plan, 0, request)
    report, well = _report(plan[done - 1], replies[-1], since)
    if not well:
        return "\n".join((report, *_left_undone(plan[done:]))), ()
    text, steps = _next(plan, done, request)
    return f"{report}\n{text}".rstrip(), steps


def _turn(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """Return what the user said last, and what has happened since."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if isinstance(message, UserMessage) and not message.context:
            return message.text, messages[at + 1 :]
    return "", ()


def _small_talk(said: str) -> str:
    word = said.strip().lower().rstrip("!.? ")
    if word in _GREETINGS:
        return f"Hello. {_HELP}"
    if word in _HELP_WORDS:
        return _HELP
    return f"I did not understand that. {_HELP}"


def _next(plan: Plan, done: int, request: Request) -> tuple[str, tuple[Step, ...]]:
    """Announce and return the next steps, unless a tool that is still needed is not offered."""
    offered = {tool.name for tool in request.tools}
    for step in (step for steps in plan[done:] for step in steps):
        if step.tool not in offered:
            return f"The tool `{step.tool}` is not offered here: no {_quote(step.said)}.", ()
    if done == len(plan):
        return "", ()
    steps = plan[done]
    head = f"Step {done + 1} of {len(plan)}" if len(plan) > 1 else "I will"
    return f"{head}: {_quotes(steps)}.", steps


def _report(
    steps: tuple[Step, ...], reply: AssistantMessage, since: Sequence[Message]
) -> tuple[str, bool]:
    """Say what became of `steps`, and whether all went well."""
    results = {m.call_id: m.output for m in since if isinstance(m, ToolMessage)}
    lines: list[str] = []
    well = True
    for step, (call_id, _) in zip(steps, reply.calls, strict=False):
        output = results.get(call_id)
        if output is None:
            lines.append(f"No result came back for {_quote(step.said)}.")
        elif output.status is Status.SUCCESS:
            lines += [f"Done: {_quote(step.said)}", *_head(output.output)]
        else:
            lines += [f"Not done, or failed: {_quote(step.said)}", *_head(output.output)]
        well = well and output is not None and output.status is Status.SUCCESS
    return "\n".join(lines), well


def _head(output: str) -> list[str]:
    lines = output.splitlines() or ["(no output)"]
    shown = first_few(lines, SHOWN_LINES_MAX, "… and {} more lines")
    return [f"    {_clip(line)}" for line in shown]


def _left_undone(rounds: Plan) -> list[str]:
    steps = [step for steps in rounds for step in steps]
    return [f"I stop here. Left undone: {_quotes(steps)}."] if steps else []


def _quotes(steps: Sequence[Step]) -> str:
    return ", ".join(first_few([_quote(step.said) for step in steps], SHOWN_LINES_MAX))


def _quote(said: str) -> str:
    first, more, _ = said.partition("\n")
    return f"`{_clip(first)}{' …' if more else ''}`"


def _clip(line: str) -> str:
    return line if len(line) <= SHOWN_CHARS_MAX else f"{line[:SHOWN_CHARS_MAX]}…"


def _usage(request: Request, text: str, steps: tuple[Step, ...]) -> Usage:
    given = (request.system, *map(_content, request.messages), *map(str, request.tools))
    said = (text, *(str(step.args) for step in steps))
    return Usage(input_tokens=_tokens(given), output_tokens=_tokens(said))


def _content(message: Message) -> str:
    match message:
        case ToolMessage():
            return message.output.output
        case AssistantMessage():
            return f"{message.text}{message.calls or ''}"
        case UserMessage():
            return message.text


def _tokens(texts: Sequence[str]) -> int:
    size = sum(len(text.encode(errors="surrogatepass")) for text in texts)
    return -(-size // BYTES_PER_TOKEN)
