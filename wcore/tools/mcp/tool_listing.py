"""What a server offers, made harmless to show: bounded, visible, under a name that is its own."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol, cast

from msgspec import Struct

from wcore.errors import ToolError
from wcore.first_few import first_few
from wcore.tools.arguments import canonical
from wcore.tools.mcp.names import tool_name
from wcore.visible import visible, visible_line
from wcore.vocabulary import Category, Json, ToolSpec

TOOLS_MAX: Final = 512  # of one server; more fills a model's window with names
OFFERED_CHARS_MAX: Final = 1024 * 1024  # of all its tools: that alone fills most models' windows
DESCRIPTION_CHARS_MAX: Final = 4096  # the longest of the reference servers has 1,200
SCHEMA_CHARS_MAX: Final = 64 * 1024  # a schema longer than a card is understood by nobody
SCHEMA_DEPTH_MAX: Final = 64  # providers refuse far less, and refuse the whole request with it
REASONS_MAX: Final = 8  # why a tool is left out: nobody reads more, the rest is counted
RAW_NAME_CHARS_MAX: Final = 128  # what the protocol recommends
_WORDS: Final = ("description", "title")  # parts of a schema that are prose, and nothing else


class Described(Protocol):
    """A tool as the SDK gives it."""

    name: str
    title: str | None
    description: str | None
    input_schema: dict[str, Any]

    @property
    def annotations(self) -> Any: ...


class OfferedTool(Struct, frozen=True):
    """One tool of one server. `digest` covers everything that a person or model is shown of it.

    `warning` is what the server itself says against the tool.
    """

    raw_name: str
    spec: ToolSpec
    digest: str
    warning: str = ""


class ToolListing(Struct, frozen=True):
    """The tools by the name under which they are offered, and why some are not.

    `refused` has at most `REASONS_MAX` reasons, and how many there are beside them.
    """

    tools: Mapping[str, OfferedTool]
    refused: tuple[str, ...] = ()

    @property
    def raw_names(self) -> tuple[str, ...]:
        """The names as the server has them, for people."""
        return tuple(
            visible_line(offer.raw_name, RAW_NAME_CHARS_MAX) for offer in self.tools.values()
        )


EMPTY_LISTING: Final = ToolListing({})


class ToolListingBuilder:
    """What a server offers, page by page; no more than can be offered is kept of a page.

    Two tools that would have one name are both refused: nobody could tell which one runs.
    """

    def __init__(self, server: str) -> None:
        """Begin a list; `server` is the server's part of names."""
        self._server = server
        self._found: dict[
            str, OfferedTool | None
        ] = {}  # `None`: more than one would have that name
        self._refused: list[str] = []
        self._count = 0
        self._chars = 0

    @property
    def is_full(self) -> bool:
        """Whether further tools would not be taken."""
        return self._count > TOOLS_MAX

    def add(self, tools: Iterable[Described]) -> None:
        """Take the tools of one page."""
        for tool in tools:
            self._count += 1
            if self.is_full:
                self.leave_out(f"only the first {TOOLS_MAX} tools are taken")
                return
            try:
                self._take(tool)
            except ToolError as error:
                self.leave_out(f"{visible_line(tool.name, RAW_NAME_CHARS_MAX)}: {error}")

    def leave_out(self, what: str) -> None:
        """Note what else of the list is left out."""
        self._refused.append(what)

    def offers(self) -> ToolListing:
        """Return what can be offered."""
        alone = {name: offer for name, offer in self._found.items() if offer is not None}
        alike = sorted(self._found.keys() - alone.keys())
        reasons = (f"{name}: more than one tool would have that name" for name in alike)
        refused = [*self._refused, *reasons]
        return ToolListing(alone, tuple(first_few(refused, REASONS_MAX)))

    def _take(self, tool: Described) -> None:
        name = tool_name(self._server, tool.name)
        if name is None or len(tool.name) > RAW_NAME_CHARS_MAX:
            raise ToolError("no tool can have that name")
        told = canonical(_facts(tool))
        if len(told) > SCHEMA_CHARS_MAX:
            raise ToolError(f"its description is longer than {SCHEMA_CHARS_MAX} characters")
        self._chars += len(told)
        if self._chars > OFFERED_CHARS_MAX:
            raise ToolError(f"all tools together are longer than {OFFERED_CHARS_MAX} characters")
        offer = _offer(name, tool, told)
        self._found[name] = None if name in self._found else offer


def _facts(tool: Described) -> list[Json]:
    hints = tool.annotations.model_dump(mode="json") if tool.annotations else None
    return [tool.name, tool.title, tool.description, tool.input_schema, hints]


def _offer(name: str, tool: Described, told: str) -> OfferedTool:
    schema = {"type": "object", **cast("dict[str, Json]", _shown(tool.input_schema))}
    if schema["type"] != "object":
        raise ToolError("its arguments are no object")
    text = visible(tool.description or tool.title or "")
    if len(text) > DESCRIPTION_CHARS_MAX:
        text = text[: DESCRIPTION_CHARS_MAX - 1] + "…"
    # A hint can make a card say more; nothing that a server says makes it ask less.
    destroys = tool.annotations is not None and tool.annotations.destructive_hint is True
    return OfferedTool(
        tool.name,
        ToolSpec(name, Category.MCP, text, schema),
        "sha256:" + hashlib.sha256(told.encode()).hexdigest(),
        "the server says that it may destroy things" if destroys else "",
    )


def _shown(node: Json, depth: int = 0) -> Json:
    """Return a schema whose prose hides nothing."""
    if depth > SCHEMA_DEPTH_MAX:
        raise ToolError("its schema is nested too deeply")
    if isinstance(node, Mapping):
        return {
            key: visible(value)
            if key in _WORDS and isinstance(value, str)
            else _shown(value, depth + 1)
            for key, value in node.items()
        }
    if isinstance(node, list | tuple):
        return [_shown(item, depth + 1) for item in node]
    return node
