"""Scopes on the wire and inside; what is suggested is exactly what `tool_approve` takes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcore.protocol import commands, scopes
from wcore.protocol.codec import decode
from wcore.vocabulary import (
    Always,
    AlwaysExact,
    AlwaysPath,
    AlwaysPrefix,
    AlwaysPrefixes,
    AlwaysServer,
    Once,
    Scope,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)
SCOPES = st.one_of(
    st.just(Once()),
    st.just(Always()),
    st.builds(AlwaysPrefix, TEXT),
    st.builds(AlwaysExact, TEXT),
    st.builds(AlwaysPrefixes, st.lists(TEXT, min_size=1, max_size=16).map(tuple)),
    st.builds(AlwaysPath, TEXT, st.booleans()),
)


def read(scope: object) -> Scope:
    line = json.dumps({"type": "tool_approve", "call_id": "c", "scope": scope}).encode()
    command = decode(line)
    assert isinstance(command, commands.ToolApprove), command
    return scopes.from_wire(command.scope)


@pytest.mark.parametrize(
    ("wire", "scope"),
    [
        (None, Once()),
        ("once", Once()),
        ("always", Always()),
        ({"always_prefix": {"prefix": "cargo "}}, AlwaysPrefix("cargo ")),
        ({"always_prefixes": {"prefixes": ["a", "b c"]}}, AlwaysPrefixes(("a", "b c"))),
        ({"always_exact": {"command": " ./a\n"}}, AlwaysExact(" ./a\n")),
        ({"always_path": {"root": "/data"}}, AlwaysPath("/data", write=False)),
        ({"always_path": {"root": "/data", "write": None}}, AlwaysPath("/data", write=False)),
        ({"always_path": {"root": "/data", "write": True}}, AlwaysPath("/data", write=True)),
        ({"always_path": {"root": "/data", "new": 1}, "newer": 2}, AlwaysPath("/data")),
        ({"always_server": {"server": "数据库"}}, AlwaysServer("数据库")),
    ],
)
def test_every_spelling_of_a_scope_is_understood(wire: object, scope: Scope) -> None:
    assert read(wire) == scope


def test_an_absent_scope_is_once() -> None:
    command = decode(b'{"type":"tool_approve","call_id":"c"}')
    assert isinstance(command, commands.ToolApprove)
    assert scopes.from_wire(command.scope) == Once()


@given(SCOPES)
def test_what_we_write_is_what_we_read(scope: Scope) -> None:
    assert scopes.from_wire(scopes.to_wire(scope)) == scope
    wire = scopes.to_wire(scope)
    assert read(wire if isinstance(wire, str) else wire.model_dump()) == scope


@pytest.mark.parametrize("length", [4096, 4097])
def test_a_scope_is_no_longer_than_a_path_can_be(length: int) -> None:
    for scope in (
        {"always_prefix": {"prefix": "x" * length}},
        {"always_path": {"root": "x" * length}},
        {"always_prefixes": {"prefixes": ["x" * length]}},
        {"always_server": {"server": "x" * length}},
    ):
        line = json.dumps({"type": "tool_approve", "call_id": "c", "scope": scope}).encode()
        assert isinstance(decode(line), commands.ToolApprove) is (length <= 4096)


@pytest.mark.parametrize("length", [65_536, 65_537])
def test_an_exact_command_is_read_as_long_as_any_on_a_card(length: int) -> None:
    scope = {"always_exact": {"command": "x" * length}}
    line = json.dumps({"type": "tool_approve", "call_id": "c", "scope": scope}).encode()
    assert isinstance(decode(line), commands.ToolApprove) is (length <= 65_536)
