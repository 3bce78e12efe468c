"""What of a server's list of tools can be offered: bounded one by one, and all together."""

from typing import Any

import pytest
from mcp_types import Tool, ToolAnnotations

from wcore.tools.mcp.tool_listing import (
    OFFERED_CHARS_MAX,
    REASONS_MAX,
    SCHEMA_CHARS_MAX,
    TOOLS_MAX,
    ToolListingBuilder,
)

TOOL: dict[str, Any] = {
    "name": "t",
    "title": "Title",
    "description": "does it",
    "input_schema": {"type": "object", "properties": {"a": {"type": "string"}}},
    "annotations": ToolAnnotations(read_only_hint=True),
}
OTHERS: list[dict[str, Any]] = [
    {"name": "u"},
    {"title": "Another"},
    {"title": None},
    {"description": "does something else"},
    {"input_schema": {"type": "object", "properties": {"a": {"type": "number"}}}},
    {"input_schema": {"type": "object", "properties": {}}},
    {"annotations": ToolAnnotations(read_only_hint=True, destructive_hint=True)},
    {"annotations": None},
]


def tools(count: int, chars: int = 0, first: int = 0) -> list[Tool]:
    schema: dict[str, Any] = {"type": "object", "description": "x" * chars}
    return [Tool(name=f"t{n}", input_schema=schema) for n in range(first, first + count)]


def test_all_tools_together_have_a_limit() -> None:
    chars = SCHEMA_CHARS_MAX - 200
    listing = ToolListingBuilder("r")
    listing.add(tools(100, chars))
    offers = listing.offers()
    assert len(offers.tools) == OFFERED_CHARS_MAX // chars
    assert "together" in offers.refused[0]
    left = 100 - len(offers.tools)
    assert offers.refused[REASONS_MAX:] == (f"and {left - REASONS_MAX} more",)


def test_tools_of_one_name_are_refused_also_on_different_pages() -> None:
    listing = ToolListingBuilder("r")
    listing.add([*tools(2), Tool(name="a", input_schema={}), Tool(name="a b", input_schema={})])
    listing.add([*tools(2, first=2), Tool(name="a", input_schema={})])
    named = [name for name in listing.offers().tools if "a_b" not in name]
    assert named == [f"mcp__r__t{n}" for n in range(4)]
    assert "more than one tool" in listing.offers().refused[0]


def test_only_so_many_tools_are_taken() -> None:
    listing = ToolListingBuilder("r")
    listing.add(tools(TOOLS_MAX))
    assert not listing.is_full
    listing.add(tools(5, first=TOOLS_MAX))
    assert listing.is_full
    assert len(listing.offers().tools) == TOOLS_MAX
    assert len(listing.offers().refused) == 1


def digest_of(**parts: Any) -> str:
    listing = ToolListingBuilder("r")
    listing.add([Tool(**{**TOOL, **parts})])
    (offer,) = listing.offers().tools.values()
    return offer.digest


def test_a_tool_that_is_the_same_has_the_same_digest() -> None:
    assert digest_of() == digest_of(title="Title")


@pytest.mark.parametrize("changed", OTHERS, ids=str)
def test_a_tool_of_which_any_part_changed_has_another_digest(changed: dict[str, Any]) -> None:
    assert digest_of(**changed) != digest_of()
