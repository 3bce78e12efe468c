"""What every card says of a call, in words. Pure."""

from collections.abc import Iterator
from typing import Final

from wcore_host.events import JsonObject, Preview, ToolRequest, Why
from wcore_host.visible import visible, visible_line

_SHOWN_BY_DIFF: Final = frozenset({"content", "old_string", "new_string", "edits"})


def shown_by(preview: Preview | None, args: JsonObject) -> frozenset[str]:
    """Return the arguments that a preview shows whole; all others belong on the card as well."""
    if preview is None or preview.truncated:
        return frozenset()
    if preview.kind == "command" and preview.text == visible(str(args.get("command"))):
        return frozenset({"command"})
    return _SHOWN_BY_DIFF if preview.kind == "diff" else frozenset()


def title(request: ToolRequest) -> str:
    """Return the call on one line: the tool and, for a sub-agent, who it is."""
    name = visible_line(request.tool.name, 60)
    agent = "/".join(visible_line(part, 40) for part in request.agent)
    return f"{name}, asked by {agent}" if agent else name


def facts(why: Why) -> str:
    """Return the row, code and place behind a reason."""
    return " · ".join(visible_line(fact, 120) for fact in (why.row, why.code, why.source) if fact)


def options_of(args: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield label and description of each option."""
    options = args.get("options")
    for option in options if isinstance(options, list) else []:
        if isinstance(option, dict):
            label, about = option.get("label"), option.get("description")
            yield str(label), about if isinstance(about, str) else ""
        elif isinstance(option, str):
            yield option, ""
