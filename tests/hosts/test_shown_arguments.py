"""What is approved is what was shown: no host hides an argument that the preview does not show."""

from collections.abc import Callable
from itertools import product

from wcore_host import events
from wcore_host.acp import tool_call_content
from wcore_host.events import Preview, Tool, ToolRequest
from wcore_host.headless.card_queue import Card
from wcore_host.plain import card
from wcore_host.plain.style import Style
from wcore_host.terminal.card_rows import card_rows

ARGS: dict[str, events.JsonObject] = {
    "Write": {"file_path": "a", "content": "all of the content"},
    "Edit": {"file_path": "a", "old_string": "what goes", "new_string": "what comes"},
    "MultiEdit": {"file_path": "a", "edits": [{"old_string": "goes", "new_string": "comes"}]},
    "Bash": {"command": "make all of it", "timeout_s": 1234},
    "mcp__s__t": {"query": "drop everything"},
}
CATEGORIES = {"Bash": "exec", "mcp__s__t": "mcp"}


def _terminal(request: ToolRequest) -> str:
    return "\n".join(row.text for row in card_rows(Card(request), 200, whole=True))


def _plain(request: ToolRequest) -> str:
    return "\n".join(card.rows(request, Style(False, 200, 100), whole=True))


def _acp(request: ToolRequest) -> str:
    return str(tool_call_content.card(request, tool_call_content.call(request, "/")))


HOSTS: tuple[Callable[[ToolRequest], str], ...] = (_terminal, _plain, _acp)


def test_whatever_a_preview_leaves_out_stands_beside_it() -> None:
    kinds = product(ARGS, ("diff", "text", "command"), (False, True))
    for (tool, kind, truncated), host in product(kinds, HOSTS):
        args = ARGS[tool]
        preview = Preview(kind, "a preview of something", truncated)
        told = Tool(tool, CATEGORIES.get(tool, "edit"), args)
        shown = host(ToolRequest("m", "c", told, preview=preview))
        is_whole = not truncated and (kind == "diff" or (kind, tool) == ("text", "mcp__s__t"))
        for name, value in args.items():
            if name != "file_path" and not is_whole:
                text = "comes" if isinstance(value, list) else str(value)
                assert text in shown, (host.__name__, tool, kind, truncated, name)


def test_a_whole_diff_and_a_command_are_not_shown_twice() -> None:
    for host in HOSTS:
        write = Tool("Write", "edit", ARGS["Write"])
        diff = Preview("diff", "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+all of the content\n")
        assert host(ToolRequest("m", "c", write, preview=diff)).count("all of the content") == 1
        run = Tool("Bash", "exec", ARGS["Bash"])
        command = Preview("command", "make all of it")
        shown = host(ToolRequest("m", "c", run, preview=command))
        assert shown.count("make all of it") == 1, host.__name__
        assert "1234" in shown
