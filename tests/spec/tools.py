"""The table of tools: their categories and arguments, as the models are shown them."""

from typing import Any, Final

from wcore.conformance.engine.optional_features import OTHER_TOOLS
from wcore.tools.builtin.catalog import builtin_tools
from wcore.tools.tool import ToolEnvironment

NOWHERE: Final = ToolEnvironment("/", "/", {}, lambda _: False)


def as_markdown() -> str:
    """Return a row for each tool; a `?` marks arguments that may be absent."""
    rows = [
        f"| `{name}` | {tool.spec.category} | `{_shape(dict(tool.spec.schema))}` | {_who(name)} |"
        for name, tool in builtin_tools(NOWHERE).items()
    ]
    return "\n".join(["| tool | category | arguments | |", "|---|---|---|---|", *rows]) + "\n"


def _who(name: str) -> str:
    return "" if name in OTHER_TOOLS else "every engine"


def _shape(schema: dict[str, Any]) -> str:
    if schema.get("type") == "array":
        return f"[{_shape(schema['items'])}, …]"
    if "properties" not in schema:
        return ""
    must = schema.get("required", [])
    fields = (
        f"{name}{'' if name in must else '?'}{_inside(each)}"
        for name, each in schema["properties"].items()
    )
    return "{" + ", ".join(fields) + "}"


def _inside(schema: dict[str, Any]) -> str:
    inner = _shape(schema)
    return f": {inner}" if inner.strip("[, …]") else ""
