"""No server can take the name of anybody else's tool."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcore.tools.mcp.names import (
    NAME_CHARS_MAX,
    SERVER_CHARS_MAX,
    server_part,
    tool_name,
)

TEXT = st.text(max_size=80) | st.text("ab_-. é数据库(]", max_size=40)


@given(TEXT, TEXT)
def test_a_name_says_which_server_it_belongs_to(server: str, tool: str) -> None:
    part = server_part(server)
    name = None if part is None else tool_name(part, tool)
    if part is None or name is None:
        return
    assert name.startswith(f"mcp__{part}__")
    assert name[len("mcp__") :].partition("__")[0] == part
    assert len(name) <= NAME_CHARS_MAX
    assert all(char.isascii() and (char.isalnum() or char in "_-") for char in name)


@given(st.text("ab_", min_size=1, max_size=6), st.text("ab_", min_size=1, max_size=6),
       st.text("ab_", min_size=1, max_size=6), st.text("ab_", min_size=1, max_size=6))  # fmt: skip
def test_different_servers_never_share_a_name(one: str, two: str, tool: str, other: str) -> None:
    parts = server_part(one), server_part(two)
    if None not in parts and parts[0] != parts[1]:
        assert tool_name(str(parts[0]), tool) != tool_name(str(parts[1]), other)


@given(st.lists(TEXT, min_size=2, max_size=2, unique=True))
def test_what_differs_is_never_called_the_same(names: list[str]) -> None:
    parts = [part for part in map(server_part, names) if part is not None]
    assert len(parts) == len(set(parts)), names
    tools = [name for name in (tool_name("s", each) for each in names) if name is not None]
    assert len(tools) == len(set(tools)), names


@given(st.text("abcé数()", min_size=1, max_size=60))
def test_a_server_may_be_named_in_any_script(name: str) -> None:
    part = server_part(name)
    assert part is not None
    assert len(part) <= SERVER_CHARS_MAX
    assert (part == name) == (name.isascii() and name.isalnum() and len(name) <= SERVER_CHARS_MAX)


def test_a_plain_name_stays_as_it_is() -> None:
    assert server_part("my-files_2") == "my-files_2"
    assert tool_name("s", "read_file") == "mcp__s__read_file"


@pytest.mark.parametrize("name", ["", "a__b", "_a", "a_", "__", "é" * 129, " ", "\u202e"])
def test_names_that_cannot_stand_for_a_server(name: str) -> None:
    assert server_part(name) is None


def test_long_names_that_differ_at_their_end_stay_different() -> None:
    one, two = (tool_name("s", "n" * 100 + end) for end in "ab")
    assert one != two
