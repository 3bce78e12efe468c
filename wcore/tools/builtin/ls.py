"""LS: what is in one folder."""

import os
import stat
from typing import Final

from anyio import to_thread
from msgspec import Struct
from pydantic import Field

from wcore.tools.arguments import Arguments, parse, schema_of
from wcore.tools.fs.files import os_errors
from wcore.tools.fs.paths import description_line, display_path, open_folder, resolved
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

NAME = "LS"
ENTRIES_MAX: Final = 2000  # more names than this help nobody


class LsArguments(Arguments):
    path: str = Field(
        default=".", min_length=1, description="The folder: absolute, or relative to the workspace."
    )


class Ls(Struct, frozen=True):
    """Lists one folder."""

    environment: ToolEnvironment
    spec: ToolSpec = ToolSpec(
        NAME,
        Category.INFO,
        "List a folder, one entry a line, sorted: folders end in `/`, links show where they point. "
        "Entries that git ignores are left out and counted.",
        schema_of(LsArguments),
    )

    def target_paths(self, args: Args) -> frozenset[str]:
        """A listing is about no single file."""
        return frozenset()

    async def prepare(self, args: Args) -> Prepared:
        """Find out where the path leads."""
        given, args = parse(NAME, LsArguments, args)
        path = await resolved(self.environment, given.path)
        return prepare_search(
            self.environment,
            NAME,
            args,
            description_line(f"List {display_path(self.environment, path)}"),
            SearchPlan(path),
        )

    async def run(self, prepared: Prepared, live: RunContext) -> ToolOutput:
        """List it."""
        assert isinstance(prepared.plan, SearchPlan)
        return await to_thread.run_sync(_list, self.environment, prepared.plan.root)


def _list(environment: ToolEnvironment, path: str) -> ToolOutput:
    require_folder(path)
    with os_errors(path):
        root = Root(environment, path)
        everything = _entries(path)
        kept = set(walk(root, depth_max=1))
        root.require_same()
    protected = {name for name in everything if root.hidden(name)}
    ignored = {name for name in everything if name not in kept and name != ".git"} - protected
    names = sorted(set(everything) - protected - ignored)
    lines = [everything[name] for name in names[:ENTRIES_MAX]]
    notes = root.left_out(len(protected))
    if ignored:
        notes.append(f"{len(ignored)} ignored by git left out")
    if len(names) > ENTRIES_MAX:
        notes.append(f"{ENTRIES_MAX} of {len(names)} entries shown")
    if not lines:
        notes.insert(0, "nothing to list")
    text = "".join(f"{line}\n" for line in lines)
    output, _ = truncate(text, OUTPUT_BYTES_MAX - 1024, "[listing cut here]")
    return ToolOutput(Status.SUCCESS, output + "".join(f"[{note}]\n" for note in notes))


def _entries(path: str) -> dict[str, str]:
    """Return name and shown line of everything in a folder."""
    with open_folder(path) as held:
        # The handle only passes through; listing needs one that may read.
        handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=held)
    try:
        return {name: _line(handle, name) for name in os.listdir(handle)}
    finally:
        os.close(handle)


def _line(handle: int, name: str) -> str:
    try:
        mode = os.lstat(name, dir_fd=handle).st_mode
        if stat.S_ISLNK(mode):
            return f"{plain_name(name)} -> {plain_name(os.readlink(name, dir_fd=handle))}"
    except OSError:
        return plain_name(name)
    return plain_name(name) + "/" * stat.S_ISDIR(mode)
