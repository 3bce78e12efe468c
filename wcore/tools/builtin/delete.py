"""Delete: one file, or one link itself; never a folder."""

from wcore.errors import ToolError
from wcore.tools.arguments import Arguments, FilePath, parse, schema_of
from wcore.tools.builtin import file_changes
from wcore.tools.fs.paths import resolve_entry, target_paths
from wcore.vocabulary import Args, Category, Prepared, ToolSpec

NAME = "Delete"


class DeleteArguments(Arguments):
    file_path: FilePath


class Delete(file_changes.ChangingTool, frozen=True):
    """Removes one file or link."""

    spec: ToolSpec = ToolSpec(
        NAME,
        Category.EDIT,
        "Delete a file. A symbolic link is deleted itself, not what it points to. "
        "Folders are not deleted.",
        schema_of(DeleteArguments),
    )

    def target_paths(self, args: Args) -> frozenset[str]:
        """Return what will be removed."""
        return target_paths(self.environment, args, entry=True)

    async def prepare(self, args: Args) -> Prepared:
        """Show what will be lost."""
        given, args = parse(NAME, DeleteArguments, args)
        path = resolve_entry(self.environment, given.file_path)
        intent = file_changes.ChangeRequest(NAME, "Delete", args, path, _gone, links=True)
        return await file_changes.prepare_change(self.environment, intent)


def _gone(before: file_changes.Before) -> None:
    if before.snapshot.absent:
        raise ToolError("there is no such file")
