"""MultiEdit: several replacements in one file, all or nothing."""

from functools import cache
from typing import Final

from pydantic import Field

from wcore.tools.arguments import Arguments, parse, schema_of
from wcore.tools.builtin import file_changes
from wcore.tools.builtin.replacement import Replacement, apply_replacements
from wcore.tools.fs.paths import resolved
from wcore.vocabulary import Args, Category, Prepared, ToolSpec

NAME = "MultiEdit"
EDITS_MAX: Final = 200  # each one is a pass over the file


class MultiEditArguments(Arguments):
    file_path: str = Field(
        min_length=1, description="The file: absolute, or relative to the workspace."
    )
    edits: tuple[Replacement, ...] = Field(
        min_length=1,
        max_length=EDITS_MAX,
        description="Applied one after the other, each to the result of the one before.",
    )


@cache
def _spec() -> ToolSpec:
    return ToolSpec(
        NAME,
        Category.EDIT,
        "Make several replacements in one file at once. If one does not fit, none is made. "
        "The rules of Edit hold for each.",
        schema_of(MultiEditArguments),
    )


class MultiEdit(file_changes.ChangingTool, frozen=True):
    """Replaces several texts in one file."""

    @property
    def spec(self) -> ToolSpec:
        """What the model is shown."""
        return _spec()

    async def prepare(self, args: Args) -> Prepared:
        """Apply the edits in memory and show the difference."""
        given, args = parse(NAME, MultiEditArguments, args)
        path = await resolved(self.environment, given.file_path)
        intent = file_changes.ChangeRequest(
            NAME, "Edit", args, path, lambda before: apply_replacements(before, given.edits)
        )
        return await file_changes.prepare_change(self.environment, intent)
