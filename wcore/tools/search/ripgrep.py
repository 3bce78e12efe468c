"""Searching with ripgrep: which files match first, then the lines of the first of them.

Two passes keep the order stable and the output small whatever the pattern matches. Protected
files are counted by name, never by whether they match: that would tell what is in them. The lines
are read from files that our worker has opened: ripgrep itself follows a link in the place of a
folder.
"""

import base64
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, cast

from anyio import from_thread, to_thread
from pydantic_core import from_json

from wcore.errors import ToolError
from wcore.tools.fs.walk import CHECK_EVERY, Root
from wcore.tools.process.helper_process import Helper, run_helper, search_worker
from wcore.tools.search.grep_worker import FIRST_HANDLE
from wcore.tools.search.results import Query, RecordSplitter, ResultLine, SearchResults
from wcore.vocabulary import Json

HANDLES_MAX: Final = 200  # files at a time: a process may often have no more than 256
MESSAGE_CHARS_MAX: Final = 1000  # one error of the search program
_BASE: Final = ("--no-config", "--no-ignore-messages", "--color=never")
_QUIET: Final = "--no-messages"
#: What ripgrep says of a file or folder that it cannot read, newer ones with their name before it.
_UNREADABLE: Final = re.compile(r"^(?:rg: )?\./(.+): ", re.MULTILINE)
_WALK: Final = (
    "--hidden", "--no-require-git", "--no-follow", "--glob=!.git", "--max-filesize=64M", "--null",
)  # fmt: skip
FAILED: Final = 2


class Ripgrep:
    """One search below `root` with the program `rg`."""

    def __init__(self, program: str, environ: Mapping[str, str], root: Root, query: Query) -> None:
        self._program = program
        self._environ = environ
        self._root = root
        self._query = query
        self._case = "--ignore-case" if query.ignore_case else "--case-sensitive"
        self._unreadable: list[str] = []
        self.hits = SearchResults()

    async def folder(self) -> None:
        """Search everything below the root that is not ignored or protected."""
        matching = await self._names(
            "--files-with-matches", self._case, "--", self._query.pattern, "./"
        )
        everything = await self._names("--files", _QUIET, "./")
        await self.files(await to_thread.run_sync(self._chosen, matching, everything))

    def _chosen(self, matching: Sequence[str], everything: Sequence[str]) -> list[str]:
        """Count the protected files among everything; return what may be looked into, sorted."""
        for name in self._unreadable:
            is_missed = self._query.wanted(name) and not self._root.hidden(name)
            self._root.unreadable += is_missed or os.path.isdir(self._root.full(name))
        hidden, wanted = self._root.hidden, self._query.wanted
        protected: set[str] = set()
        for count, name in enumerate(everything):
            if count % CHECK_EVERY == 0:
                from_thread.check_cancelled()
            if hidden(name) and wanted(name):
                protected.add(name)
        self.hits.protected = len(protected)
        return sorted(
            name for name in filter(wanted, matching) if name not in protected and not hidden(name)
        )

    async def files(self, names: Sequence[str]) -> None:
        """Search these files, in this order, until there are enough hits."""
        names = names[: self._query.max_results]
        for at in range(0, len(names), HANDLES_MAX):
            if self.hits.matches >= self._query.max_results:
                return
            await self._lines(names[at : at + HANDLES_MAX])

    async def _names(self, *arguments: str) -> list[str]:
        output = bytearray()

        def take(chunk: bytes) -> bool:
            output.extend(chunk)
            return True

        argv = (self._program, *_BASE, *_WALK, *arguments)
        await self._run(Helper(argv, self._root.path, self._environ), take)
        names = (os.fsdecode(name) for name in bytes(output).split(b"\0") if name)
        return [name.removeprefix("./") for name in names]

    async def _lines(self, names: Sequence[str]) -> None:
        records = RecordSplitter(partial(self._take, names))
        command = (
            self._program,
            *_BASE,
            _QUIET,
            "--json",
            "--threads=1",  # keeps the order of the arguments
            self._case,
            f"--context={self._query.context}",
            f"--max-count={self._query.max_results}",
            "--",
            self._query.pattern,
        )
        helper = search_worker(self._root.path, names, self._environ, command=command)
        await self._run(helper, records.feed)
        self.hits.overlong += records.dropped

    async def _run(self, helper: Helper, take: Callable[[bytes], bool]) -> None:
        code, message = await run_helper(self._root.environment, helper, take)
        self._unreadable += _UNREADABLE.findall(message)
        is_refusal = bool(message.strip()) and not _UNREADABLE.match(message)
        if code is not None and code >= FAILED and is_refusal:
            raise ToolError(message.strip()[:MESSAGE_CHARS_MAX])

    def _take(self, names: Sequence[str], record: bytes) -> bool:
        """Take one JSON message; false when there are enough matches."""
        message = cast("Mapping[str, Json]", from_json(record))
        kind, data = message["type"], cast("Mapping[str, Json]", message["data"])
        if kind not in ("match", "context"):
            return True
        if kind == "match" and self.hits.matches >= self._query.max_results:
            return False
        raw = _bytes_of(data["lines"])
        text = raw.decode(errors="replace")
        found = cast("Sequence[Mapping[str, int]]", data["submatches"])
        start = len(raw[: found[0]["start"]].decode(errors="replace")) if found else 0
        handle = _bytes_of(data["path"]).rpartition(b"/")[2]
        path = names[int(handle) - FIRST_HANDLE]
        line = cast("int", data["line_number"])
        text = text.removesuffix("\n").removesuffix("\r")
        self.hits.add(ResultLine(path, line, text, start if kind == "match" else None))
        return True


def _bytes_of(value: Json) -> bytes:
    """Ripgrep gives text as it is, and what is not UTF-8 as base64."""
    given = cast("Mapping[str, str]", value)
    return given["text"].encode() if "text" in given else base64.b64decode(given["bytes"])
