"""The tools of one conversation as its provider takes them; what it does not take is left out."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from wcore.first_few import first_few
from wcore.models.errors import ToolsRefusedError
from wcore.models.providers import ToolRules
from wcore.models.tool_schemas import UNNAMEABLE, UnfitError, fit
from wcore.visible import visible_line
from wcore.vocabulary import Category, ToolSpec

LISTED_MAX: Final = 8  # in one notice: nobody reads more, the rest is counted
REASON_CHARS_MAX: Final = 300  # an info is one line of a toast
#: For a provider that refuses calls in the history where there is nothing to call.
NO_TOOL: Final = ToolSpec(
    "none", Category.INFO, "There is no tool to call.", {"type": "object", "properties": {}}
)


class SentTools:
    """Knows what goes out of the tools that there are, and what was refused."""

    def __init__(self, rules: ToolRules) -> None:
        self._rules = rules
        self._refused: dict[str, ToolSpec] = {}
        self._told: dict[str, ToolSpec] = {}
        self._given: Sequence[ToolSpec] = ()
        self._sent: Sequence[ToolSpec] = ()
        self._news: list[str] = []

    def fitted(self, tools: Sequence[ToolSpec], *, has_calls: bool) -> Sequence[ToolSpec]:
        """Return what to send; `has_calls`: the history has some."""
        if list(tools) != list(self._given):
            self._given = tools
            self._fit()
        return self._sent or (NO_TOOL,) * (has_calls and self._rules.needed)

    def _fit(self) -> None:
        self._sent = [
            fitted
            for tool in self._given
            if self._refused.get(tool.name) != tool and (fitted := self._fitted(tool)) is not None
        ]

    def _fitted(self, tool: ToolSpec) -> ToolSpec | None:
        """Return the tool with a valid schema; what is lost is told once."""
        try:
            found = fit(tool.schema, self._rules)
        except UnfitError as error:
            self._note(tool, f"left out, {error}")
            return None
        if found.without:
            self._note(tool, f"{UNNAMEABLE}; it goes without {', '.join(found.without)}")
        return tool if found.schema is tool.schema else replace(tool, schema=found.schema)

    def _note(self, tool: ToolSpec, reason: str) -> None:
        if self._told.get(tool.name) != tool:
            self._told[tool.name] = tool
            self._news.append(f"{tool.name}: {visible_line(reason, REASON_CHARS_MAX)}")

    def news(self) -> str:
        """Return what was left out and not told yet, and why; empty if nothing was."""
        news, self._news = self._news, []
        return "; ".join(first_few(news, LISTED_MAX))

    def refuse(self, error: ToolsRefusedError) -> str:
        """Send no more what the provider refuses; return the names, empty if it is not known."""
        names = [
            tool.name
            for place, tool in enumerate(self._sent)
            if place in error.places or tool.name in error.names
        ]
        self._refused |= {tool.name: tool for tool in self._given if tool.name in names}
        self._fit()
        return ", ".join(first_few(names, LISTED_MAX))
