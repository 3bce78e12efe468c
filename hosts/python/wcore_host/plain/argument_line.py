"""Changed arguments of a call, written on one line: what is edited, and what it comes to. Pure."""

import json
from typing import Final

from wcore_host.events import JsonObject
from wcore_host.headless import argument_editing
from wcore_host.headless.argument_editing import Draft
from wcore_host.plain.style import Style, diff_colour, fold, wrap
from wcore_host.visible import visible, visible_line

LINE_CHARS_MAX: Final = 8_192  # longer is no line to edit; the full screen has an editor


def draft(args: JsonObject) -> Draft | None:
    """Return the line to edit: a command as it is, else all arguments as JSON; `None`: too long."""
    found = argument_editing.draft(args)
    if not found.name or "\n" in found.text:
        whole = json.dumps(
            json.loads(argument_editing.draft(args, whole=True).text), ensure_ascii=False
        )
        found = Draft("", "".join(_escaped(char) for char in whole))
    return found if len(found.text) <= LINE_CHARS_MAX else None


def rows(before: JsonObject, after: JsonObject, style: Style) -> list[str]:
    """Return how `after` differs from what the card shows, row by row."""
    found: list[str] = []
    for name, lines in argument_editing.differences(before, after):
        found += wrap(f"{visible_line(name, 60)}:", style.width - 1)
        for line in visible(lines.expandtabs(4)).split("\n"):
            found += [diff_colour(row, style, line) for row in wrap(line, style.width - 1)]
    return fold(found, max(8, style.rows), "the full screen shows them")


def _escaped(char: str) -> str:
    return char if visible(char) == char else json.dumps(char)[1:-1]
