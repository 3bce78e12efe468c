"""A line is a command, or it is malformed and says so briefly; nothing a host sends raises."""

import json
from typing import Final, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tables import rows

from wcore.protocol import codec, commands
from wcore.protocol.codec import ECHO_BYTES_MAX, Malformed, decode, echo

MESSAGE_BYTES_MAX: Final = 340  # what the protocol's own suite calls about 300
PING: Final = b'{"type":"ping"}'


def malformed(line: bytes) -> str:
    """Return what is wrong with `line`; it must be short, echo the line and be one line."""
    answer = decode(line)
    assert isinstance(answer, Malformed), answer
    what, _, echoed = answer.message.partition("; line begins: ")
    assert what
    assert echoed == echo(line)
    assert len(echoed.encode()) <= ECHO_BYTES_MAX
    assert len(answer.message.encode()) <= MESSAGE_BYTES_MAX
    assert answer.message.isprintable()
    return what


# --- what is wrong, and where ---------------------------------------------------------------------


@rows(
    "line",
    [
        b"{",
        b"",
        b"}",
        b"ping",
        b"{'type':'ping'}",
        b'{"type":"ping",}',
        b'{type:"ping"}',
        b'{"type":"ping"} {"type":"ping"}',
        b'{"type":"ping"}]',
        b'{"type":"ping"}\x00',
        b"\x00" + PING,
        b'{"type":"ping\x00"}',
        b'{"type":"pi\nng"}',
        b'\xef\xbb\xbf{"type":"ping"}',
        b'// why\n{"type":"ping"}',
        b'{"type":"ping","x":+1}',
        b'{"type":"ping","x":01}',
        b'{"type":"ping","x":.5}',
        b'{"type":"ping","x":0x10}',
        b'{"type":"ping","x":\'a\'}',
        b'{"type":"ping","x":undefined}',
    ],
)
def test_a_line_that_is_not_json_is_called_that(line: bytes) -> None:
    assert malformed(line).startswith("not JSON: ")


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity"])
def test_numbers_that_json_does_not_have_are_not_json(number: bytes) -> None:
    assert malformed(b'{"type":"ping","x":[%s]}' % number).startswith("not JSON: ")
    malformed(b'{"type":"tool_approve","call_id":"c","args":{"n":[%s]}}' % number)


@pytest.mark.parametrize("number", [b"1e999", b"-1e999"])
def test_a_number_too_large_to_be_carried_on_is_malformed_in_arguments(number: bytes) -> None:
    malformed(b'{"type":"tool_approve","call_id":"c","args":{"n":[%s]}}' % number)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", '\\"NaN', '", NaN'])
def test_the_names_of_such_numbers_are_ordinary_text(word: str) -> None:
    line = json.dumps({"type": "message", "msg_id": "m", "content": word}).encode()
    command = decode(line)
    assert isinstance(command, commands.Message)
    assert command.content == word


@pytest.mark.parametrize(
    "line", [b"[]", b'"x"', b"1", b"true", b"null", b'["type"]', b"[" + PING + b"]"]
)
def test_json_that_is_no_object_is_called_that(line: bytes) -> None:
    assert malformed(line) == "not a JSON object"


@pytest.mark.parametrize("line", [b"{}", b'{"Type":"ping"}', b'{"msg_id":"m","content":"x"}'])
def test_a_missing_type_is_named(line: bytes) -> None:
    assert malformed(line) == "`type` is missing"


@pytest.mark.parametrize("value", [b"1", b"null", b"true", b"[]", b"{}", b'["ping"]', b"1.5"])
def test_a_type_that_is_not_text_is_called_that(value: bytes) -> None:
    assert malformed(b'{"type":%s}' % value) == "`type` is not a string"


@pytest.mark.parametrize("name", ["pinG", "", " ping", "ping ", "message\\n", "Ping", "type"])
def test_an_unknown_type_is_named(name: str) -> None:
    what = malformed(f'{{"type":"{name}"}}'.encode())
    assert what.startswith("unknown command type ")


def test_a_long_or_hostile_unknown_type_is_cut_and_made_visible() -> None:
    for name in ("x" * 5000, "\u202e" * 500, "\U0001f600" * 500, "\x1b[2J" * 100):
        what = malformed(json.dumps({"type": name}, ensure_ascii=False).encode())
        assert "…" in what or "not JSON" in what


@rows(
    ("line", "where", "what"),
    [
        (b'{"type":"message","content":"x"}', "message.msg_id", "is required"),
        (b'{"type":"message","msg_id":"m"}', "message.content", "is required"),
        (b'{"type":"message","msg_id":7,"content":"x"}', "message.msg_id", "valid string"),
        (b'{"type":"message","msg_id":null,"content":"x"}', "message.msg_id", "valid string"),
        (b'{"type":"message","msg_id":"","content":"x"}', "message.msg_id", "at least 1"),
        (b'{"type":"message","msg_id":"m","content":["x"]}', "message.content", "valid string"),
        (b'{"type":"message","msg_id":"m","content":"x","files":"f"}', "message.files", "array"),
        (b'{"type":"message","msg_id":"m","content":"x","files":[1]}', "message.files", "string"),
        (b'{"type":"tool_approve"}', "tool_approve.call_id", "is required"),
        (b'{"type":"tool_approve","call_id":"c","args":[]}', "tool_approve.args", "object"),
        (b'{"type":"tool_approve","call_id":"c","persist":"x"}', "tool_approve.persist", "user"),
        (b'{"type":"tool_deny","call_id":"c","stop":"yes"}', "tool_deny.stop", "boolean"),
        (b'{"type":"tool_deny","call_id":"c","stop":1}', "tool_deny.stop", "boolean"),
        (b'{"type":"set_mode"}', "set_mode.mode", "is required"),
        (b'{"type":"set_mode","mode":null}', "set_mode.mode", "valid string"),
        (b'{"type":"set_config","thinking":"on"}', "set_config.thinking", "'enabled'"),
        (b'{"type":"set_config","compaction":true}', "set_config.compaction", "'off'"),
        (b'{"type":"approval_resume","resume_token":"t"}', "approval_resume.approved", "required"),
        (
            b'{"type":"approval_resume","resume_token":"t","approved":"true"}',
            "approval_resume.approved",
            "boolean",
        ),
        (b'{"type":"add_mcp_server","name":"s"}', "add_mcp_server.transport", "is required"),
        (
            b'{"type":"add_mcp_server","name":"s","transport":"stdio","env":{"A":1}}',
            "add_mcp_server.env",
            "string",
        ),
        (b'{"type":"resume_turn","action":"go"}', "resume_turn.action", "'continue'"),
        (b'{"type":"revoke_grant"}', "revoke_grant.grant_id", "is required"),
        (b'{"type":"init_history","text":{}}', "init_history.text", "valid string"),
    ],
)
def test_a_wrong_field_is_named_with_what_is_wrong_with_it(
    line: bytes, where: str, what: str
) -> None:
    complaint = malformed(line)
    assert complaint.startswith(where)
    assert what in complaint


@rows("field", ["msg_id", "call_id", "grant_id", "resume_token"])
@rows("char", ["\\u0000", "\\n", "\\u001b", "\\u007f"])
def test_a_control_character_in_an_id_is_refused(field: str, char: str) -> None:
    kinds = {
        "msg_id": '"type":"message","content":"x"',
        "call_id": '"type":"tool_approve"',
        "grant_id": '"type":"revoke_grant"',
        "resume_token": '"type":"approval_resume","approved":true',
    }
    for value in (f"a{char}b", f"{char}a", f"a{char}"):
        what = malformed(f'{{{kinds[field]},"{field}":"{value}"}}'.encode())
        assert what.endswith(f"{field} has a control character")


def test_a_nul_is_legal_in_text() -> None:
    command = decode(b'{"type":"message","msg_id":"m","content":"a\\u0000b"}')
    assert command == commands.Message(msg_id="m", content="a\0b")


@pytest.mark.parametrize("length", [1, 128, 129])
def test_an_id_has_at_most_128_characters(length: int) -> None:
    line = json.dumps({"type": "tool_deny", "call_id": "ß" * length}, ensure_ascii=False).encode()
    assert isinstance(decode(line), Malformed) is (length > 128)


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"ping","x":"\xff"}',
        b'{"type":"message","msg_id":"m","content":"a\xffb"}',
        b'{"type":"message","msg_id":"m","content":"\xc3("}',
        b'{"type":"message","msg_id":"m","content":"\xc0\x80"}',  # NUL, overlong
        b'{"type":"message","msg_id":"m","content":"\xf4\x90\x80\x80"}',  # above U+10FFFF
        b'{"type":"message","msg_id":"m","content":"x"}\xff',
        b'\xff{"type":"ping"}',
        b'{"\xff":1,"type":"ping"}',
    ],
)
def test_invalid_utf8_anywhere_is_malformed(line: bytes) -> None:
    malformed(line)


# --- lone surrogates: half a character, where a host has cut a text ----------------------------

#: Text with surrogates, lone and in pairs, between letters and what JSON escapes.
CUT = st.text(
    st.sampled_from("\ud800\ud83d\udbff\udc00\ude00\udfff")
    | st.sampled_from('a"\\\n\x00é\U0001f600'),
    min_size=1,
)
HALF = "\ud83d"

#: Where the words of a person or of a conversation stand, and nothing else.
FREE: Final[dict[str, dict[str, object]]] = {
    "message": {"msg_id": "m", "content": ...},
    "init_history": {"text": ...},
    "tool_deny": {"call_id": "c", "reason": ...},
    "tool_approve": {"call_id": "c", "answer": ..., "args": {"n": 1.5}, "scope": "once"},
    "approval_resume": {"resume_token": "t", "approved": True, "modifications": {"answer": ...}},
}


def filled(value: object, text: str) -> object:
    """Put `text` where `...` is."""
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return {key: filled(each, text) for key, each in fields.items()}
    return text if value is ... else [text] if value == [...] else value


def spelled(command: object) -> list[bytes]:
    """Return a line with its surrogates as escapes, and one with them as bytes."""
    plain = json.dumps(command, ensure_ascii=False)
    return [json.dumps(command).encode(), plain.encode("utf-8", "surrogatepass")]


def whole(text: str) -> str:
    """Return `text` with pairs joined and what is left of surrogates replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@given(CUT)
@example(HALF)
@example("\ude00\ud83d")
@example("Infinity \ud800")
def test_half_a_character_in_free_text_is_replaced(text: str) -> None:
    for kind, fields in FREE.items():
        command = {"type": kind, **cast("dict[str, object]", filled(fields, text))}
        expected = {"type": kind, **cast("dict[str, object]", filled(fields, whole(text)))}
        assert not isinstance(decode(json.dumps(expected).encode()), Malformed)
        for line in spelled(command):
            assert decode(line) == decode(json.dumps(expected).encode()), line


#: Every other text of a command, an approval and what it approves above all.
BOUND: Final[tuple[dict[str, object], ...]] = (
    {"type": ..., "msg_id": "m", "content": "x"},
    {"type": "message", "msg_id": ..., "content": "x"},
    {"type": "message", "msg_id": "m", "content": "x", "files": [...]},
    {"type": "tool_deny", "call_id": ...},
    {"type": "tool_approve", "call_id": ...},
    {"type": "tool_approve", "call_id": "c", "digest": ...},
    {"type": "tool_approve", "call_id": "c", "digest": "d", "args": {"command": ...}},
    {"type": "tool_approve", "call_id": "c", "digest": "d", "args": {"file_path": ...}},
    {"type": "tool_approve", "call_id": "c", "scope": ...},
    {"type": "tool_approve", "call_id": "c", "scope": {"always_prefix": {"prefix": ...}}},
    {"type": "tool_approve", "call_id": "c", "scope": {"always_exact": {"command": ...}}},
    {"type": "tool_approve", "call_id": "c", "scope": {"always_path": {"root": ...}}},
    {"type": "tool_approve", "call_id": "c", "answer": "x", "later": ...},
    {"type": "approval_resume", "resume_token": ..., "approved": True},
    {"type": "give_grant", "tool": "Bash", "scope": {"always_exact": {"command": ...}}},
    {"type": "set_mode", "mode": ...},
    {"type": "set_config", "model": ...},
    {"type": "add_mcp_server", "name": "s", "transport": "stdio", "command": ...},
    {"type": "add_mcp_server", "name": "s", "transport": "stdio", "env": {"A": ...}},
)


@given(CUT.filter(lambda text: "\ufffd" in whole(text)))
@example(HALF)
def test_half_a_character_anywhere_else_makes_the_line_no_command(text: str) -> None:
    for fields in BOUND:
        for line in spelled(filled(fields, text)):
            assert isinstance(decode(line), Malformed), line
    named = {"type": "tool_approve", "call_id": "c", "digest": "d", "args": {text: 1}}
    both = {"type": "message", "msg_id": text, "content": text}
    for line in (*spelled(named), *spelled(both)):
        assert isinstance(decode(line), Malformed), line


@pytest.mark.parametrize(
    "line",
    [
        rb'{"type":"init_history","text":"\ud800","x":NaN}',
        rb'{"type":"init_history","text":"\ud800","x":-Infinity}',
        rb'{"type":"init_history","text":"\ud800"}]',
        b'{"type":"init_history","text":"\\ud800 \xff"}',
        b'{"type":"init_history","text":"\\ud800 \xf0\x9f\x98"}',
        rb'["init_history","\ud800"]',
        rb'{"type":["init_history"],"text":"\ud800"}',
        rb'{"type":"init_history","text":["\ud800"]}',
        b'{"type":"init_history","text":"\\ud800","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"type":"approval_resume","resume_token":"t","approved":true,"modifications":'
        + b"[" * 100_000 + rb'"\ud800"' + b"]" * 100_000 + b"}",
    ],
)  # fmt: skip
def test_what_is_wrong_besides_stays_malformed(line: bytes) -> None:
    malformed(line)


def test_of_a_repeated_text_the_last_one_counts() -> None:
    line = rb'{"type":"init_history","text":"\ud800","text":"a\ud800"}'
    assert decode(line) == commands.InitHistory(text="a\ufffd")


def test_an_escaped_pair_is_one_character() -> None:
    command = decode(rb'{"type":"init_history","text":"\ud83d\ude00"}')
    assert command == commands.InitHistory(text="\U0001f600")


@pytest.mark.parametrize(
    "value", [b"-1", b"4294967296", b"1.0", b"1e3", b'"5"', b"true", b"1" * 5000]
)
def test_a_number_out_of_range_or_of_another_kind_is_malformed(value: bytes) -> None:
    malformed(b'{"type":"set_config","thinking_budget":%s}' % value)


@pytest.mark.parametrize("value", [0, 1, 2**32 - 1])
def test_a_number_in_range_is_taken(value: int) -> None:
    command = decode(b'{"type":"set_config","thinking_budget":%d}' % value)
    assert command == commands.SetConfig(thinking_budget=value)


def test_numbers_are_judged_in_declared_fields_only() -> None:
    assert decode(b'{"type":"ping","x":-5,"y":1e300}') == commands.Ping()


@pytest.mark.parametrize("opener", [b"[", b'{"a":', b'{"type":"ping","x":[', b'{"type":['])
def test_nesting_without_end_is_malformed(opener: bytes) -> None:
    malformed(opener * 10_000)


@pytest.mark.parametrize("pair", [(b"[", b"]"), (b'{"a":', b"}")])
def test_nesting_of_ten_thousand_is_malformed_even_in_an_ignored_field(
    pair: tuple[bytes, bytes],
) -> None:
    deep = pair[0] * 10_000 + b"1" + pair[1] * 10_000
    malformed(b'{"type":"ping","x":%s}' % deep)


@rows(
    "scope",
    [
        b'"forever"',
        b'""',
        b"1",
        b"[]",
        b"{}",
        b'{"once":{}}',
        b'{"always_prefix":"cargo "}',
        b'{"always_prefix":{}}',
        b'{"always_prefix":{"prefix":1}}',
        b'{"always_path":{"write":true}}',
        b'{"always_path":{"root":"/x","write":"yes"}}',
        b'{"always_prefixes":{"prefixes":[]}}',
        b'{"always_prefix":{"prefix":"a "},"always_exact":{"command":"a b"}}',
        b'{"always_path":{"root":"/x"},"always":{}}',
    ],
)
def test_an_unknown_scope_is_malformed_and_the_known_ones_are_named(scope: bytes) -> None:
    for command in (b'"tool_approve","call_id":"c"', b'"give_grant","tool":"Bash"'):
        what = malformed(b'{"type":%s,"scope":%s}' % (command, scope))
        assert ".scope is none of once, always, always_exact, " in what


def test_a_malformed_line_does_not_repeat_a_secret_further_on() -> None:
    line = b'{"type":"messag","content":"' + b"x" * 200 + b'sk-secret"}'
    assert "sk-secret" not in malformed(line)


# --- what is right --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line", [PING, PING + b"\r", b"  " + PING + b" \t", b'\t{ "type" : "ping" }']
)
def test_white_space_and_a_carriage_return_are_accepted(line: bytes) -> None:
    assert decode(line) == commands.Ping()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"type":"stop","type":"ping"}', commands.Ping()),
        (b'{"type":"ping","type":"stop"}', commands.Stop()),
        (b'{"type":1,"type":"ping"}', commands.Ping()),
        (
            b'{"type":"tool_deny","call_id":"a","call_id":"b","reason":"x","reason":"y"}',
            commands.ToolDeny(call_id="b", reason="y"),
        ),
        (b'{"type":"tool_deny","call_id":1,"call_id":"b"}', commands.ToolDeny(call_id="b")),
        (
            b'{"type":"tool_approve","call_id":"a","args":{"x":1,"x":2}}',
            commands.ToolApprove(call_id="a", args={"x": 2}),
        ),
    ],
)
def test_of_a_repeated_key_the_last_one_counts(line: bytes, expected: commands.AnyCommand) -> None:
    assert decode(line) == expected


def test_a_repeated_key_whose_last_value_is_wrong_is_malformed() -> None:
    assert malformed(b'{"type":"ping","type":1}') == "`type` is not a string"
    malformed(b'{"type":"tool_deny","call_id":"b","call_id":1}')


@given(st.binary(max_size=300))
def test_no_bytes_make_the_decoder_raise(line: bytes) -> None:
    if isinstance(decode(line), Malformed):
        malformed(line)


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = sorted({name for kind in commands.Command.__subclasses__() for name in kind.model_fields})
TYPES = ["ping", "message", "tool_approve", "set_config", "approval_resume", "add_mcp_server"]


@given(
    st.sampled_from(TYPES) | JSONS,
    st.dictionaries(st.sampled_from([*FIELDS, "args", "env"]), JSONS, max_size=4),
)
@example("tool_approve", {"call_id": "c", "args": {"\ud800": 1}})
@example("add_mcp_server", {"name": "x", "transport": "s", "env": {"\u202e" * 200: 1}})
def test_no_json_makes_the_decoder_raise_or_the_answer_long(
    kind: object, fields: dict[str, object]
) -> None:
    line = json.dumps({**fields, "type": kind}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    if isinstance(decode(line), Malformed):
        malformed(line)


@given(st.binary(max_size=400))
def test_an_echo_is_the_beginning_of_the_line_short_visible_and_on_one_line(line: bytes) -> None:
    shown = echo(line)
    assert len(shown.encode()) <= ECHO_BYTES_MAX
    assert shown.isprintable()


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=ECHO_BYTES_MAX))
def test_a_short_plain_line_is_echoed_whole(text: str) -> None:
    assert echo(text.encode()) == text


def test_a_long_line_is_echoed_by_its_first_bytes_without_a_look_at_the_rest() -> None:
    assert echo(b"x" * 121) == "x" * 120
    assert codec.ECHO_BYTES_MAX == 120
