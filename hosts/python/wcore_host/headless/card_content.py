"""What every card says of a call, in words. Pure."""

from collections.abc import Iterator
from typing import Final

from wcore_host.events import CallAnnounced, JsonObject, Preview, ToolRequest, Why
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
    return f"{name}, asked by {asker(request)}" if request.agent else name


def asker(request: ToolRequest | CallAnnounced) -> str:
    """Return which sub-agent makes a call, and how its task begins; empty for the main agent."""
    agent = "/".join(visible_line(part, 40) for part in request.agent)
    return f"{agent} ({visible_line(request.task, 60)})" if request.task else agent


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
