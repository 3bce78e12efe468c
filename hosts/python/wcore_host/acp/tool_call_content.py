"""A call as the editor shows it: title, kind, files, and what will happen. Pure."""

import json
import os.path
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from acp import text_block, tool_content, tool_diff_content
from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    TerminalToolCallContent,
    ToolCallLocation,
    ToolKind,
)

from wcore_host.acp import diffs
from wcore_host.acp.markup import block, span
from wcore_host.events import CallEvent, Json, JsonObject, Preview, ToolRequest
from wcore_host.headless.card_content import asker, reason, shown_by, stands_out, where

Content: TypeAlias = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent

META: Final = "wcore"  # our key in ACP's `_meta`
KINDS: Final[Mapping[str, ToolKind]] = {
    "Read": "read",
    "LS": "read",
    "Glob": "search",
    "Grep": "search",
    "Write": "edit",
    "Edit": "edit",
    "MultiEdit": "edit",
    "Delete": "delete",
    "Bash": "execute",
    "Spawn": "other",
}
PASSED_ON: Final = ("why", "digest", "agent", "suggestions", "expires_in_s", "sandbox")
TITLE_CHARS_MAX: Final = 120  # one line of a side panel


@dataclass(frozen=True)
class Shown:
    """What of a call stays on the screen while it runs and after it."""

    title: str
    kind: ToolKind
    body: list[Content]
    locations: list[ToolCallLocation]
    raw_input: JsonObject
    facts: dict[str, Json]  # of the engine, for editors that know more than ACP
    is_edited: bool = False  # the arguments are no longer those of the model

    @property
    def meta(self) -> dict[str, Json]:
        return {META: self.facts}


def call(event: CallEvent, cwd: str) -> Shown:
    """Return how a call looks that was just announced."""
    tool = event.tool
    path = _path(tool.args, cwd)
    body, line = _body(event.preview, path)
    locations = [ToolCallLocation(path=path, line=line or _offset(tool.args))] if path else []
    facts = {name: event.raw[name] for name in PASSED_ON if name in event.raw}
    return Shown(
        _title(event),
        KINDS.get(tool.name, "other"),
        body,
        locations,
        tool.args,
        {"category": tool.category, **facts},
    )


def told(event: CallEvent) -> str:
    """Return on one line what a call would do."""
    tool = event.tool
    command = tool.args.get("command")
    if tool.name == "Bash" and isinstance(command, str):
        return span(command, TITLE_CHARS_MAX)
    return span(tool.description or tool.name, TITLE_CHARS_MAX)


def card(request: ToolRequest, shown: Shown) -> list[Content]:
    """Return what the person reads before saying yes: why it asks, then what will happen."""
    lines = [f"asks because {reason(request.why, span)}"]
    command = request.tool.args.get("command")
    if request.why.span and isinstance(command, str):
        start, end = request.why.span
        marked = command.encode(errors="surrogatepass")[start:end].decode(errors="replace")
        lines.append(f"because of {span(marked)}")
    if (view := request.sandbox) is not None:
        told = f"runs {where(view, span)}"
        lines.append(f"**{told}**" if stands_out(view) else told)
    if request.expires_in_s is not None:
        lines.append(f"no answer within {request.expires_in_s} s counts as no")
    return [text("\n\n".join(lines)), *shown.body, *_arguments(request)]


def outcome(shown: Shown, output: str, output_type: str) -> list[Content] | None:
    """Return what a call that has ended shows; `None` leaves what is there."""
    if output_type == "diff" and shown.body and not shown.is_edited:
        return None
    kept = shown.body if shown.kind == "execute" or shown.is_edited else []
    return [*kept, *([text(block(output))] if output.strip() else [])]


def text(markdown: str) -> Content:
    """Return Markdown of our own as content of a call."""
    return tool_content(text_block(markdown))


def _arguments(request: ToolRequest) -> list[Content]:
    """Return the arguments that the preview does not show; an editor shows the path itself."""
    args = request.tool.args
    known = shown_by(request) | {"file_path"}
    hidden = {name: value for name, value in args.items() if name not in known}
    if not hidden or _is_all_of_it(request.preview, request.tool.category):
        return []
    return [text(block(json.dumps(hidden, ensure_ascii=False, indent=1), "json"))]


def _is_all_of_it(preview: Preview | None, category: str) -> bool:
    """Whether a text of the engine is made of all the arguments, as those of MCP tools are."""
    is_whole = preview is not None and preview.kind == "text" and not preview.truncated
    return is_whole and category == "mcp"


def _title(event: CallEvent) -> str:
    who = asker(event)
    return f"{span(who)}: {told(event)}" if who else told(event)


def _path(args: JsonObject, cwd: str) -> str:
    """Return the absolute path of the file or folder a call is about, if it names one."""
    for name in ("file_path", "path"):
        value = args.get(name)
        if isinstance(value, str) and value:
            return os.path.normpath(os.path.join(cwd, value))
    return ""


def _offset(args: JsonObject) -> int | None:
    value = args.get("offset")
    return value if isinstance(value, int) and 0 < value < 2**32 else None


def _body(preview: Preview | None, path: str) -> tuple[list[Content], int | None]:
    """Return the preview as content, and the line it begins at."""
    if preview is None:
        return [], None
    if preview.kind == "diff" and not preview.text:
        return [text("nothing would change")], None
    cut = [text("this is not all of it: the engine cut the preview")] if preview.truncated else []
    change = diffs.read(preview.text) if preview.kind == "diff" and path else None
    if change is None:
        language = {"diff": "diff", "command": "sh"}.get(preview.kind, "")
        return [text(block(preview.text, language)), *cut], None
    pairs = [hunk.texts() for hunk in change.hunks] or [("", "")]
    parts = [tool_diff_content(path, new, None if change.is_new else old) for old, new in pairs]
    return [*parts, *cut], change.hunks[0].changed if change.hunks else None
