import pytest

from wcore.models.provider_json import dump, fields, parse, tool_name


def test_half_an_emoji_of_a_server_becomes_a_question_mark() -> None:
    assert parse(b'{"a": "x\\ud83d", "b": {"c": "\\ude00"}}') == {"a": "x?", "b": {"c": "?"}}


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b'{"a": }'])
def test_what_is_no_json_is_an_error_of_one_kind(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of whatever wording
        parse(data)


def test_what_is_sent_is_compact_and_whole() -> None:
    assert dump({"a": "ü\n", "b": [1, None]}) == '{"a":"ü\\n","b":[1,null]}'.encode()
    assert dump({"a": "\ud800"}) == b'{"a":"?"}'


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
