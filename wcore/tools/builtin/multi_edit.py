"""MultiEdit: several replacements in one file, all or nothing."""

from typing import Final

from pydantic import Field

from wcore.tools.arguments import Arguments, FilePath, parse, schema_of
from wcore.tools.builtin import file_changes
from wcore.tools.builtin.replacement import Replacement, apply_replacements
from wcore.tools.fs.paths import resolved
from wcore.vocabulary import Args, Category, Prepared, ToolSpec

NAME = "MultiEdit"
EDITS_MAX: Final = 200  # each one is a pass over the file


class MultiEditArguments(Arguments):
    file_path: FilePath
    edits: tuple[Replacement, ...] = Field(
        min_length=1,
        max_length=EDITS_MAX,
        description="Applied one after the other, each to the result of the one before.",
    )


class MultiEdit(file_changes.ChangingTool, frozen=True):
    """Replaces several texts in one file."""

    spec: ToolSpec = ToolSpec(
        NAME,
        Category.EDIT,
        "Make several replacements in one file at once. If one does not fit, none is made. "
        "The rules of Edit hold for each.",
        schema_of(MultiEditArguments),
    )

    async def prepare(self, args: Args) -> Prepared:
        """Apply the edits in memory and show the difference."""
        given, args = parse(NAME, MultiEditArguments, args)
        path = await resolved(self.environment, given.file_path)
        intent = file_changes.ChangeRequest(
            NAME, "Edit", args, path, lambda before: apply_replacements(before, given.edits)
        )
        return await file_changes.prepare_change(self.environment, intent)
