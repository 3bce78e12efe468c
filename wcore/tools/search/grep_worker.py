"""Opens the files of a search, and searches them itself where there is no ripgrep.

A process of its own: a regular expression of a model can run for hours inside `re`, which no thread
can stop; a process can be killed. Every file is opened from the root on, folder by folder, without
following links: whoever puts a link in the place of a folder meanwhile is not followed.
Standard library only: it is started by path, isolated from everything.

Input: one JSON line of settings; then the root and the names of files below it, NUL between them.
With `command` that program is run in our place, its last words `/dev/fd/N`: N is `FIRST_HANDLE` for
the first name. Otherwise the output is one JSON line a hit; `file` counts the names.
"""

import codecs
import json
import os
import re
import stat
import sys
from collections import deque
from typing import TextIO

FILE_BYTES_MAX = 64 * 1024 * 1024  # as for ripgrep: larger files are data
SNIFF_BYTES = 8192  # where a NUL shows a binary file, as in git
LINE_CHARS_MAX = 2000  # of a hit; minified files have lines of megabytes
FIRST_HANDLE = 20  # those below may be in use
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def main() -> int:
    """Search the files named on stdin."""
    settings_line, _, rest = sys.stdin.buffer.read().partition(b"\n")
    settings = json.loads(settings_line)
    path, *names = rest.split(b"\0")
    try:
        root = _open_folder(os.open("/", _FOLDER), path)
    except OSError:
        return 0  # the engine looks at the root as well, and says what has become of it
    if "command" in settings:
        return _hand_over(settings["command"], root, names)
    flags = re.MULTILINE | (re.IGNORECASE if settings["ignore_case"] else 0)
    try:
        pattern = re.compile(settings["pattern"], flags)
    except (re.error, OverflowError, RecursionError) as error:
        sys.stdout.write(json.dumps({"error": str(error)}) + "\n")
        return 2
    out = sys.stdout
    left = settings["max_results"]
    for index, name in enumerate(names):
        text = _text(root, name)
        if not text or not _may_match(pattern, text):
            continue
        left = _search(out, index, text, pattern, (left, settings["context"]))
        if left <= 0:
            break
    return 0


def _open_folder(handle: int, path: bytes) -> int:
    """Return a handle of the folder `path` below that of `handle`, which is closed."""
    for name in filter(None, path.split(b"/")):
        try:
            below = os.open(name, _FOLDER, dir_fd=handle)
        finally:
            os.close(handle)
        handle = below
    return handle


def _open_file(root: int, name: bytes) -> int | None:
    """Open a plain file below the root; `None` if it is none, or a link leads to it."""
    above, _, last = name.rpartition(b"/")
    try:
        folder = _open_folder(os.dup(root), above)
        try:
            file = os.open(last, _FLAGS, dir_fd=folder)
        finally:
            os.close(folder)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    return None


def _hand_over(command: list[str], root: int, names: list[bytes]) -> int:
    paths: list[str] = []
    for number, name in enumerate(names, FIRST_HANDLE):
        file = _open_file(root, name)
        if file is not None:
            os.dup2(file, number)
            os.close(file)
            paths.append(f"/dev/fd/{number}")
    if paths:  # without one it would search everything
        try:
            os.execv(command[0], [*command, *paths])
        except OSError as error:
            sys.stderr.write(f"{command[0]}: {error.strerror}\n")
            return 2
    return 0


def _text(root: int, name: bytes) -> str | None:
    """Return the text of a file; `None` for everything that is not a plain text file."""
    file = _open_file(root, name)
    if file is None:
        return None
    try:
        if os.fstat(file).st_size > FILE_BYTES_MAX:
            return None
        with os.fdopen(file, "rb", closefd=False) as stream:
            data = stream.read(FILE_BYTES_MAX)
    except OSError:
        return None
    finally:
        os.close(file)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    if b"\0" in data[:SNIFF_BYTES]:
        return None
    return data.decode("utf-8-sig", "replace")


def _may_match(pattern: re.Pattern[str], text: str) -> bool:
    """Rule a file out in one pass; patterns that look around are tried line by line."""
    if any(part in pattern.pattern for part in ("(?", r"\A", r"\Z")):
        return True
    return pattern.search(text) is not None


def _search(
    out: TextIO, file: int, text: str, pattern: re.Pattern[str], limits: tuple[int, int]
) -> int:
    """Write hits with their context; return how many more are wanted."""
    left, context = limits
    before: deque[tuple[int, str]] = deque(maxlen=context or None)
    after = 0
    for number, raw in enumerate(text.removesuffix("\n").split("\n"), 1):
        line = raw.removesuffix("\r")
        hit = pattern.search(line) if left > 0 else None
        if hit is not None:
            for passed in before:
                _write(out, file, passed, None)
            before.clear()
            _write(out, file, (number, line), hit.start())
            left, after = left - 1, context
        elif after > 0:
            _write(out, file, (number, line), None)
            after -= 1
        elif left <= 0:
            break
        elif context:
            before.append((number, line))
    return left


def _write(out: TextIO, file: int, numbered: tuple[int, str], start: int | None) -> None:
    number, line = numbered
    first = max((start or 0) - 200, 0)  # a hit far into a long line is shown where it is
    text = ("…" if first else "") + line[first : first + LINE_CHARS_MAX]
    start = None if start is None else min(start, 200 + len("…"))
    out.write(json.dumps({"file": file, "line": number, "text": text, "start": start}) + "\n")


if __name__ == "__main__":
    sys.exit(main())
