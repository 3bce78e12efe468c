"""Exact-string replacement in the text of a file, as Edit and MultiEdit do it."""

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from wcore.errors import ToolError
from wcore.tools.arguments import Arguments
from wcore.tools.fs.files import FILE_BYTES_MAX, Snapshot, hear_stop
from wcore.tools.fs.text_encoding import all_crlf, crlf, decode

RESULT_CHARS_MAX: Final = 2 * FILE_BYTES_MAX  # `replace_all` can multiply a file by thousands


class Replacement(Arguments):
    old_string: str = Field(min_length=1, description="The exact text to replace.")
    new_string: str = Field(description="The text to put in its place.")
    replace_all: bool = Field(
        default=False, description="Replace every occurrence; otherwise there must be exactly one."
    )


def apply_replacements(before: Snapshot, edits: Sequence[Replacement]) -> bytes:
    """Apply `edits` one after the other; encoding, byte order mark and line ends are kept.

    Raises:
        ToolError: the file is missing or no text, or an edit does not fit; says which.
    """
    if before.absent:
        raise ToolError("the file does not exist; use Write to make it")
    if before.data is None:
        raise ToolError(f"the file is larger than {FILE_BYTES_MAX} bytes and cannot be edited")
    text, encoding = decode(before.data)
    for number, edit in enumerate(edits, 1):
        hear_stop()
        text = _edited(text, edit, f"edit {number}: " if len(edits) > 1 else "")
    data = encoding.encode(text)
    if data == before.data:
        raise ToolError("no change: the file would stay as it is")
    return data


def _edited(text: str, edit: Replacement, label: str) -> str:
    if edit.old_string == edit.new_string:
        raise ToolError(f"{label}no change: `old_string` and `new_string` are the same")
    old, new = _as_in(text, edit)
    found = text.count(old)
    if found == 0:
        raise ToolError(f"{label}`old_string` was not found in the file")
    if found > 1 and not edit.replace_all:
        raise ToolError(
            f"{label}`old_string` was found {found} times; "
            "give more of the text around it, or set `replace_all`"
        )
    if len(text) + found * (len(new) - len(old)) > RESULT_CHARS_MAX:
        raise ToolError(f"{label}the file would grow beyond {RESULT_CHARS_MAX} characters")
    return text.replace(old, new)


def _as_in(text: str, edit: Replacement) -> tuple[str, str]:
    """Give the strings the line ends of the file: models write LF whatever the file has."""
    if all_crlf(text) or ("\r\n" in text and edit.old_string not in text):
        return crlf(edit.old_string), crlf(edit.new_string)
    return edit.old_string, edit.new_string
