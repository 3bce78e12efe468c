"""Exact-string replacement in the text of a file, as Edit and MultiEdit do it."""

import json
import re
from collections.abc import Sequence
from typing import Final

from pydantic import Field

from wcore.errors import ToolError
from wcore.tools.arguments import Arguments
from wcore.tools.builtin.file_changes import Before
from wcore.tools.fs.files import FILE_BYTES_MAX, hear_stop
from wcore.tools.fs.text_encoding import Text, line_end, with_line_end

# A letter of several bytes as Latin-1 shows it, in Shift-JIS, GBK, Big5, GB 18030 or EUC.
_FIRST_BYTE: Final = "[\x80-\xff]"
_OTHER_BYTE: Final = "[0-~\x80-\xff]"
_BLANKS: Final = re.compile(r"[^\S\n]+")
_QUOTES: Final = dict.fromkeys(range(0x2018, 0x201C), "'") | dict.fromkeys(
    range(0x201C, 0x2020), '"'
)
HINT_CHARS_MAX: Final = 300  # of the lines where nearly the same text stands
SEARCHED_CHARS_MAX: Final = 1024 * 1024  # for such a text; the engine waits for 0.2 s meanwhile
RESULT_CHARS_MAX: Final = 2 * FILE_BYTES_MAX  # `replace_all` can multiply a file by thousands


class Replacement(Arguments):
    old_string: str = Field(min_length=1, description="The exact text to replace.")
    new_string: str = Field(description="The text to put in its place.")
    replace_all: bool = Field(
        default=False, description="Replace every occurrence; otherwise there must be exactly one."
    )


def apply_replacements(before: Before, edits: Sequence[Replacement]) -> Text:
    """Apply `edits` one after the other; encoding, byte order mark and line ends are kept.

    Raises:
        ToolError: the file is missing or no text, or an edit does not fit; says which.
    """
    if before.snapshot.absent:
        raise ToolError("the file does not exist; use Write to make it")
    if before.text is None:
        raise ToolError(before.reason)
    text = before.text
    for number, edit in enumerate(edits, 1):
        hear_stop()
        text = _edited(text, edit, f"edit {number}: " if len(edits) > 1 else "")
    if text == before.text:
        raise ToolError("no change: the file would stay as it is")
    return text


def _edited(before: Text, edit: Replacement, label: str) -> Text:
    if edit.old_string == edit.new_string:
        raise ToolError(f"{label}no change: `old_string` and `new_string` are the same")
    text = before.text
    old, new = _as_in(text, edit)
    found = text.count(old)
    if found == 0:
        raise ToolError(f"{label}`old_string` was not found in the file{_nearly(text, old)}")
    if before.encoding.is_guess and _may_split(text, old):
        raise ToolError(
            f"{label}the file is not UTF-8 and names no encoding, so `old_string` may begin or end "
            "in the middle of a letter; let it begin and end beside a space or a line end"
        )
    if found > 1 and not edit.replace_all:
        raise ToolError(
            f"{label}`old_string` was found {found} times; "
            "give more of the text around it, or set `replace_all`"
        )
    if len(text) + found * (len(new) - len(old)) > RESULT_CHARS_MAX:
        raise ToolError(f"{label}the file would grow beyond {RESULT_CHARS_MAX} characters")
    return Text(text.replace(old, new), before.encoding)


def _nearly(text: str, old: str) -> str:
    """Say where `old` stands with other blanks or quotes, and how; JSON can repeat it."""
    if len(text) > SEARCHED_CHARS_MAX or not old.strip():
        return ""
    before, found, _ = _folded(text).partition(_folded(old))
    if not found:
        return ""
    line = before.count("\n")
    lines = text.split("\n")[line : line + old.count("\n") + 1]
    shown = "\n".join(each.removesuffix("\r") for each in lines)[:HINT_CHARS_MAX]
    return f"; line {line + 1} has it with other blanks or quotes: {json.dumps(shown)}"


def _folded(text: str) -> str:
    return _BLANKS.sub(" ", text.translate(_QUOTES)).replace(" \n", "\n")


def _may_split(text: str, old: str) -> bool:
    """Whether `old` may begin or end in the middle of a letter, somewhere in `text`."""
    exact = re.escape(old)
    behind = rf"{_FIRST_BYTE}(?={_OTHER_BYTE}){exact}"
    before = rf"{exact}(?<={_FIRST_BYTE}){_OTHER_BYTE}"
    return re.search(f"{behind}|{before}", text) is not None


def _as_in(text: str, edit: Replacement) -> tuple[str, str]:
    """Give the strings the line ends of the file: models write LF whatever the file has."""
    end = line_end(text)
    if end is None and "\r\n" in text and edit.old_string not in text:
        end = "\r\n"
    if end is None or end == "\n":
        return edit.old_string, edit.new_string
    return with_line_end(edit.old_string, end), with_line_end(edit.new_string, end)
