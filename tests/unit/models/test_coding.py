import pytest

from wcore.models.provider_json import dump, fields, parse, tool_name

DEEP = b'{"error":' * 100_000


def test_half_an_emoji_is_read_and_only_whole_ones_are_sent() -> None:
    halves = parse(b'{"a": "x\\ud83d", "b": {"c": "\\ude00"}}')
    assert halves == {"a": "x\ud83d", "b": {"c": "\ude00"}}
    assert dump([halves, "\ud83d\ude00"]).decode() == (
        '[{"a":"x\ufffd","b":{"c":"\ufffd"}},"\U0001f600"]'
    )


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b'{"a": }', DEEP, DEEP + b"\\ud83d"])
def test_what_is_no_json_is_an_error_of_one_kind(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of whatever wording
        parse(data)


def test_what_is_sent_is_compact_and_whole() -> None:
    assert dump({"a": "ü\n", "b": [1, None]}) == '{"a":"ü\\n","b":[1,null]}'.encode()


@pytest.mark.parametrize(
    ("name", "sent"),
    [("Read", "Read"), ("mcp__a__b-c", "mcp__a__b-c"), ("no such!", "no_such_"), ("", "unnamed"),
     ("x" * 99, "x" * 64)],
)  # fmt: skip
def test_names_of_tools_are_ones_that_providers_take_back(name: str, sent: str) -> None:
    assert tool_name(name) == sent


def test_only_objects_have_fields() -> None:
    assert fields({"a": 1}) == {"a": 1}
    assert fields([1]) == fields("x") == fields(None) == {}
