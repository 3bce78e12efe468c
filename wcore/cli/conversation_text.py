"""A stored conversation as people read it, in Markdown. Pure.

What models and tools said may be written by anybody: it is made visible, and stands in fences that
it cannot close.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

from wcore.first_few import first_few
from wcore.persistence.restore import Restored, restore
from wcore.store import JournalRecord
from wcore.visible import visible, visible_line
from wcore.vocabulary import AssistantMessage, Message, ToolMessage, UserMessage

ARGUMENTS_CHARS_MAX: Final = 400  # of a call on its line; the journal has all of it
FENCE_MIN: Final = 3  # backticks, as Markdown wants them


def markdown(records: Iterable[JournalRecord], output_lines_max: int | None) -> Iterator[str]:
    """Yield the blocks of the conversation; longer outputs of tools are cut where a limit is given.

    Raises:
        UnreadableJournalError: a record makes no sense.
    """
    found = restore(records)
    for _, message in found.history:
        yield from _block(message, output_lines_max)
    yield from _open_calls(found)


def _block(message: Message, output_lines_max: int | None) -> Iterator[str]:
    match message:
        case UserMessage(text, files, context):
            yield f"## {'Context' if context else 'User'}\n\n{_quoted(text)}\n"
            if files:
                yield "".join(f"- {visible_line(path, ARGUMENTS_CHARS_MAX)}\n" for path in files)
        case AssistantMessage(text, _, calls):
            if text.strip():
                yield f"## Model\n\n{_quoted(text)}\n"
            for call_id, call in calls:
                given = json.dumps(call.args or {}, ensure_ascii=False)
                words = visible_line(f"{call.name} {given}", ARGUMENTS_CHARS_MAX)
                yield f"### Call {visible_line(call_id, 60)}\n\n{_fenced(words)}\n"
        case ToolMessage(call_id, _, output):
            text = output.output if output.output_type != "image" else "(an image)"
            if output_lines_max is not None:
                lines = first_few(text.split("\n"), output_lines_max, "… {} more lines")
                text = "\n".join(lines)
            state = visible_line(output.status.value, 20)
            yield f"Result of {visible_line(call_id, 60)}: {state}\n\n{_fenced(visible(text))}\n"


def _open_calls(found: Restored) -> Iterator[str]:
    left = found.interrupted
    for state, call_ids in () if left is None else (
        ("had not run", left.pending),
        ("had begun", left.unknown),
    ):  # fmt: skip
        yield from (
            f"{visible_line(call_id, 60)} {state} when it was interrupted.\n"
            for call_id in call_ids
        )


def _quoted(text: str) -> str:
    """Return words as a block quote: no heading in them is one of ours."""
    return "".join(f"> {line}\n" for line in visible(text).split("\n"))


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(FENCE_MIN, longest + 1)
    return f"{fence}\n{text}\n{fence}\n"
