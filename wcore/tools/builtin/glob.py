"""Glob: file names by pattern."""

import heapq
import os
from collections.abc import Iterator
from typing import Final

from anyio import to_thread
from msgspec import Struct
from pydantic import Field

from wcore.tools.arguments import Arguments, parse, schema_of
from wcore.tools.fs.files import os_errors
from wcore.tools.fs.glob_matcher import matcher, split_root
from wcore.tools.fs.paths import description_line, display_path, resolved
from wcore.tools.fs.walk import Root, plain_name, require_folder, walk
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

NAME = "Glob"
RESULTS_MAX: Final = 1000  # a longer list is not read; a narrower pattern is


class GlobArguments(Arguments):
    pattern: str = Field(min_length=1, description="Such as `**/*.py` or `src/**/test_*.{js,ts}`.")
    path: str = Field(default=".", min_length=1, description="The folder to search.")


class Glob(Struct, frozen=True):
    """Finds files by name."""

    environment: ToolEnvironment
    spec: ToolSpec = ToolSpec(
        NAME,
        Category.INFO,
        "Find files by name. `*`, `?`, `[…]`, `{a,b}`, and `**` for any folders; a pattern without "
        "`/` matches names in every folder. Sorted, relative to the searched folder; files that "
        f"git ignores are left out; at most {RESULTS_MAX}.",
        schema_of(GlobArguments),
    )

    def target_paths(self, args: Args) -> frozenset[str]:
        """A search is about no single file."""
        return frozenset()

    async def prepare(self, args: Args) -> Prepared:
        """Find out which folder is searched: a pattern that leads elsewhere names it.

        So does one that starts with a link; the links that are met on the way are not followed.
        """
        given, args = parse(NAME, GlobArguments, args)
        start, rest = split_root(given.pattern)
        matcher(rest)
        anchor = await resolved(self.environment, given.path)
        root, pattern = anchor, given.pattern
        if start:
            is_whole = start == "~" or start.startswith(("/", "~/"))
            there = await resolved(self.environment, start if is_whole else f"{anchor}/{start}")
            below = [part for part in start.split("/") if part not in ("", ".")]
            if there != os.path.join(anchor, *below):
                root, pattern = there, rest if "/" in rest else f"./{rest}"
        where = (
            ""
            if root == self.environment.workspace
            else f" in {display_path(self.environment, root)}"
        )
        description = description_line(f"Search for {pattern}{where}")
        return prepare_search(
            self.environment, NAME, args, description, SearchPlan(root, given, pattern)
        )

    async def run(self, prepared: Prepared, live: RunContext) -> ToolOutput:
        """Search."""
        assert isinstance(prepared.plan, SearchPlan)
        return await to_thread.run_sync(_search, self.environment, prepared.plan)


def _search(environment: ToolEnvironment, plan: SearchPlan) -> ToolOutput:
    require_folder(plan.root)
    with os_errors(plan.root):
        root = Root(environment, plan.root)
        found = _Found(root, plan.pattern)
        names = heapq.nsmallest(RESULTS_MAX, found)
        root.require_same()
    names = [name for name in names if root.holds(name)]
    notes = root.left_out(found.protected)
    if found.count > len(names):
        notes.append(f"{len(names)} of {found.count} files shown; narrow the pattern")
    if not names:
        notes.insert(0, "no file matches")
    if plan.root != environment.workspace:
        notes.append(f"relative to {plain_name(plan.root)}")
    text = "".join(f"{plain_name(name)}\n" for name in names)
    output, _ = truncate(text, OUTPUT_BYTES_MAX - 8192, "[list cut here; narrow the pattern]")
    return ToolOutput(Status.SUCCESS, output + "".join(f"[{note}]\n" for note in notes))


class _Found:
    """The matching files, counted while they pass; protected ones are only counted."""

    def __init__(self, root: Root, pattern: str) -> None:
        self._root = root
        self._matches = matcher(pattern)
        self.count = 0
        self.protected = 0

    def __iter__(self) -> Iterator[str]:
        for name in walk(self._root):
            if not self._matches(name) or not self._root.has_file(name):
                continue
            if self._root.hidden(name):
                self.protected += 1
                continue
            self.count += 1
            yield name
