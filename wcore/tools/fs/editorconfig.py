"""Which encoding a project says its files have: `charset` in `.editorconfig` (editorconfig.org)."""

import os
import re
from collections.abc import Iterator
from typing import Final

from wcore.errors import ToolError
from wcore.tools.fs.files import snapshot
from wcore.tools.fs.glob_matcher import matcher
from wcore.tools.fs.paths import inside
from wcore.tools.fs.text_encoding import kept_codec

NAME: Final = ".editorconfig"
BYTES_MAX: Final = 64 * 1024  # a page of settings; a longer one is no such file


def charset_for(workspace: str, path: str) -> str | None:
    """Return the codec for the real `path`; the nearest file that says one counts.

    Only what lies in the workspace is looked at, and only what keeps ASCII as it is.
    """
    folder = os.path.dirname(path)
    while inside(workspace, folder):
        is_root = False
        found: str | None = None
        for section, key, value in _settings(f"{folder.rstrip('/')}/{NAME}"):
            is_root = is_root or (section, key, value) == ("", "root", "true")
            if key == "charset" and section and _fits(section, os.path.relpath(path, folder)):
                found = value
        if found is not None or is_root:
            return kept_codec(found) if found else None
        folder = os.path.dirname(folder) if folder != workspace else ""
    return None


def _settings(path: str) -> Iterator[tuple[str, str, str]]:
    """Yield section, key and value of every setting."""
    try:
        data = snapshot(path).data or b""
    except ToolError:
        return
    section = ""
    for raw in data[:BYTES_MAX].decode("utf-8-sig", "replace").splitlines():
        line = raw.strip()
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif not line.startswith(("#", ";")):
            key, _, value = line.partition("=")
            yield section, key.strip().lower(), value.strip().lower()


def _fits(section: str, relative: str) -> bool:
    section = re.sub(r"\*\*(?!/|$)", "**/*", section)  # there it is any text, not any folders
    try:
        return matcher(section)(relative)
    except ToolError:
        return False
