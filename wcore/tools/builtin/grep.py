"""Grep: lines of files by regular expression."""

import os
from collections.abc import Sequence
from functools import partial
from typing import Final, cast

import anyio
from anyio import to_thread
from msgspec import Struct
from pydantic import Field
from pydantic_core import from_json

from wcore.errors import ToolError
from wcore.tools.arguments import Arguments, parse, schema_of
from wcore.tools.fs.files import os_errors
from wcore.tools.fs.glob_matcher import matcher
from wcore.tools.fs.paths import description_line, display_path, resolved
from wcore.tools.fs.walk import (
    Root,
    is_file,
    may_read,
    plain_name,
    require_folder,
    require_readable,
    walk,
)
from wcore.tools.process.child_environment import child_environment, find_ripgrep
from wcore.tools.process.helper_process import run_helper, search_worker
from wcore.tools.search.results import Query, RecordSplitter, ResultLine, SearchResults, laid_out
from wcore.tools.search.ripgrep import Ripgrep
from wcore.tools.search.search_plan import SearchPlan, prepare_search
from wcore.tools.tool import RunContext, ToolEnvironment
from wcore.tools.truncate import truncate
from wcore.vocabulary import (
    OUTPUT_BYTES_MAX,
    Args,
    Category,
    Prepared,
    Status,
    ToolOutput,
    ToolSpec,
)

NAME = "Grep"
DEADLINE_S: Final = 30.0  # some regular expressions never end
RESULTS_DEFAULT: Final = 200
RESULTS_MAX: Final = 1000  # more hits than this are a wrong pattern
CONTEXT_LINES_MAX: Final = 20  # beyond it, Read is the tool
MESSAGE_CHARS_MAX: Final = 1000  # one error of the search program


class GrepArguments(Arguments):
    pattern: str = Field(min_length=1, description="A regular expression, matched line by line.")
    path: str = Field(default=".", min_length=1, description="The folder or file to search.")
    glob: str = Field(default="", description="Only files that match, such as `*.py`.")
    ignore_case: bool = Field(default=False, description="Upper and lower case are the same.")
    context: int = Field(
        default=0, ge=0, le=CONTEXT_LINES_MAX, description="Lines shown around each hit."
    )
    max_results: int = Field(
        default=RESULTS_DEFAULT, ge=1, le=RESULTS_MAX, description="Matching lines at most."
    )


class Grep(Struct, frozen=True):
    """Searches file contents. Without `ripgrep` a worker process of our own does it."""

    environment: ToolEnvironment
    ripgrep: str | None
    spec: ToolSpec = ToolSpec(
        NAME,
        Category.INFO,
        "Search the text of files. Each hit is `path:line:text`, sorted, relative to the searched "
        "folder. Binary files, files over 64 MB and files that git ignores are left out.",
        schema_of(GrepArguments),
    )

    @classmethod
    def at(cls, environment: ToolEnvironment) -> "Grep":
        """Make the tool with the ripgrep of this machine, if there is one."""
        return cls(environment, find_ripgrep(environment.environ, environment.workspace))

    def target_paths(self, args: Args) -> frozenset[str]:
        """A search is about no single file."""
        return frozenset()

    async def prepare(self, args: Args) -> Prepared:
        """Find out which folder or file is searched."""
        given, args = parse(NAME, GrepArguments, args)
        if "\0" in given.pattern:
            raise ToolError("`pattern` contains a NUL character")
        matcher(given.glob)
        root = await resolved(self.environment, given.path)
        description = description_line(
            f"Grep '{given.pattern}' in {display_path(self.environment, root)}"
        )
        return prepare_search(self.environment, NAME, args, description, SearchPlan(root, given))

    async def run(self, prepared: Prepared, live: RunContext) -> ToolOutput:
        """Search, for at most `DEADLINE_S` seconds."""
        assert isinstance(prepared.plan, SearchPlan)
        path, given = prepared.plan.root, prepared.plan.given
        assert isinstance(given, GrepArguments)
        single = await to_thread.run_sync(is_file, path)
        folder = os.path.dirname(path) if single else path
        with os_errors(path):
            await to_thread.run_sync(require_readable if single else require_folder, path)
            root = Root(self.environment, folder)
            search = self._search(root, given)
            if single and self.environment.denied(path):
                search.hits.protected = 1
                return _result(root, given, search.hits, late=False)
            with anyio.move_on_after(DEADLINE_S) as deadline:
                await (search.files([os.path.basename(path)]) if single else search.folder())
            root.require_same()
        return _result(root, given, search.hits, late=deadline.cancelled_caught)

    def _search(self, root: Root, given: GrepArguments) -> "Ripgrep | Fallback":
        wanted = matcher(given.glob or "**")
        query = Query(given.pattern, given.ignore_case, given.context, given.max_results, wanted)
        if self.ripgrep is None:
            return Fallback(root, query)
        return Ripgrep(self.ripgrep, child_environment(self.environment.environ), root, query)


class Fallback:
    """The same search with our own worker."""

    def __init__(self, root: Root, query: Query) -> None:
        self._root = root
        self._query = query
        self.hits = SearchResults()

    async def folder(self) -> None:
        """Search everything below the root that is not ignored or protected."""
        await self.files(await to_thread.run_sync(self._candidates))

    def _candidates(self) -> list[str]:
        names: list[str] = []
        for name in filter(self._query.wanted, walk(self._root)):
            if self._root.hidden(name):
                self.hits.protected += is_file(self._root.full(name))
            elif self._root.has_file(name):
                names.append(name)
                self._root.unreadable += not may_read(self._root.full(name))
        return sorted(names)

    async def files(self, names: Sequence[str]) -> None:
        """Search these files, in this order, until there are enough hits."""
        query = self._query
        records = RecordSplitter(partial(self._take, names))
        helper = search_worker(
            self._root.path,
            names,
            {"LC_ALL": "C.UTF-8"},
            pattern=query.pattern,
            ignore_case=query.ignore_case,
            context=query.context,
            max_results=query.max_results,
        )
        code, message = await run_helper(self._root.environment, helper, records.feed)
        if code:
            raise ToolError(f"the search failed: {message.strip()[-MESSAGE_CHARS_MAX:]}")

    def _take(self, names: Sequence[str], record: bytes) -> bool:
        hit = cast("dict[str, str | int | None]", from_json(record))
        if "error" in hit:
            raise ToolError(f"the regular expression is not valid: {hit['error']}")
        path, line = names[cast("int", hit["file"])], cast("int", hit["line"])
        start = cast("int | None", hit["start"])
        self.hits.add(ResultLine(path, line, cast("str", hit["text"]), start))
        return True


def _result(root: Root, given: GrepArguments, hits: SearchResults, *, late: bool) -> ToolOutput:
    text = laid_out(root, hits.hits, context=given.context > 0)
    notes = root.left_out(hits.protected)
    if not hits.hits:
        notes.insert(0, "no match")
    if hits.matches >= given.max_results:
        notes.append(f"the first {hits.matches} matching lines are shown; there may be more")
    if hits.overlong:
        notes.append(f"{hits.overlong} overlong lines left out")
    if late:
        notes.append(f"stopped after {DEADLINE_S:g} s: the result is incomplete")
    if hits.hits and given.path != ".":
        notes.append(f"relative to {plain_name(root.path)}")
    note = "[results cut here; narrow the pattern]"
    output, _ = truncate(text, OUTPUT_BYTES_MAX - 8192, note)
    return ToolOutput(Status.SUCCESS, output + "".join(f"[{note}]\n" for note in notes))
