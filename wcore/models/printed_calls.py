"""A call that a model wrote as text, as local models do without the right template. Pure.

It is never run: what a model writes as text may be quoted from anywhere; only what the provider
hands over as a call is one. The model is told so once.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, cast

TOLD_HOST: Final = "the model wrote a tool call as text; nothing was run, and it was told so"
REMINDER: Final = (
    "Your last reply was a tool call written as text. Nothing was run. If you want to use a tool, "
    "call it by the tool-calling interface; otherwise answer in words."
)
TEXT_CHARS_MAX: Final = 64 * 1024  # a longer text is an answer

_TAGS: Final = re.compile(
    r"^\s*(?:<(?:tool_call|tool_use|function_calls?|invoke|function[ =])|<\|?tool_calls?|"
    r"\[TOOL_CALLS\]|\[TOOL_REQUEST\]|<\|python_tag\|>|<\uff5ctool)",
    re.MULTILINE | re.IGNORECASE,
)
_FENCE: Final = re.compile(r"\A```\w*\n(.*)\n```\Z", re.DOTALL)
_NAMES: Final = ("name", "tool", "tool_name", "function", "recipient_name")
_ARGUMENTS: Final = ("arguments", "parameters", "args", "input", "tool_input")


def is_printed_call(text: str, tools: Collection[str]) -> bool:
    """Tell whether the whole of `text`, or a tagged part of it, is a call of one of `tools`."""
    if len(text) > TEXT_CHARS_MAX:
        return False
    if tag := _TAGS.search(text):
        rest = text[tag.start() :]
        return any(re.search(rf"(?<!\w){re.escape(tool)}(?!\w)", rest) for tool in tools)
    return any(_calls(value, tools) for value in _json_values(text.strip()))


def _json_values(text: str) -> Iterator[object]:
    """Yield what stands in a text that is JSON, fenced or not: one value, or those of a list."""
    fenced = _FENCE.match(text)
    try:
        value: object = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return
    yield from cast("list[object]", value) if isinstance(value, list) else (value,)


def _calls(value: object, tools: Collection[str]) -> bool:
    if not isinstance(value, Mapping):
        return False
    fields = cast("Mapping[str, Any]", value)
    if isinstance(fields.get("function"), Mapping):
        return _calls(fields["function"], tools)
    has_arguments = any(isinstance(fields.get(key), dict | str) for key in _ARGUMENTS)
    return has_arguments and any(fields.get(key) in tools for key in _NAMES)
