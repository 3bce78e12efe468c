"""Which texts are calls that a model only wrote, and which are answers."""

import json
from itertools import product

from wcore.models.printed_calls import TEXT_CHARS_MAX, is_printed_call

TOOLS = ("Bash", "Read", "mcp__db__query")


def test_a_call_that_is_written_is_seen_in_every_form() -> None:
    shapes = (
        '<tool_call>\n{"name": "%s", "arguments": {"x": 1}}\n</tool_call>',
        "I will look.\n<tool_call>%s\n<arg_key>x</arg_key></tool_call>",
        '[TOOL_CALLS][{"name": "%s", "arguments": {}}]',
        "[TOOL_CALLS]%s[ARGS]{}",
        "<function=%s>\n<parameter=x>1</parameter></function>",
        '<invoke name="%s"><parameter name="x">1</parameter></invoke>',
        '<function_calls><invoke name="%s"></invoke></function_calls>',
        '<|python_tag|>{"name": "%s", "parameters": {}}',
        "<|tool_calls_section_begin|>functions.%s:0",
        "<\uff5ctool\u2581calls\u2581begin\uff5c>%s",
        '{"name": "%s", "arguments": {"x": "y"}}',
        '{"name": "%s", "parameters": {}}',
        '{"tool": "%s", "args": "{}"}',
        '[{"function": {"name": "%s", "arguments": "{}"}, "type": "function"}]',
        '```json\n{"name": "%s", "arguments": {}}\n```',
        '\n  {"name": "%s", "arguments": {}}\n',
    )
    for shape, tool in product(shapes, TOOLS):
        assert is_printed_call(shape % tool, TOOLS), (shape, tool)
        assert not is_printed_call(shape % "Unknown", TOOLS), shape


def test_an_answer_is_none() -> None:
    call: dict[str, object] = {"name": "Bash", "arguments": {}}
    answers = (
        "",
        "Bash",
        "Use Bash to list files.",
        f"Such a call looks like {json.dumps(call)}.",
        "A `<tool_call>` names Bash.",
        json.dumps({"name": "Bash"}),
        json.dumps({"name": "Bash the script", "arguments": {}}),
        json.dumps([1, "Bash", None]),
        '"Bash"',
        "[" * 100_000,
        json.dumps({**call, "x": "y" * TEXT_CHARS_MAX}),
    )
    for answer in answers:
        assert not is_printed_call(answer, TOOLS), answer[:60]
    assert not is_printed_call(json.dumps(call), ())
