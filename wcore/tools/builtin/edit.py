"""Edit: one exact-string replacement in one file."""

from wcore.tools.arguments import FilePath, parse, schema_of
from wcore.tools.builtin import file_changes
from wcore.tools.builtin.replacement import Replacement, apply_replacements
from wcore.tools.fs.paths import resolved
from wcore.vocabulary import Args, Category, Prepared, ToolSpec

NAME = "Edit"


class EditArguments(Replacement):
    file_path: FilePath


class Edit(file_changes.ChangingTool, frozen=True):
    """Replaces a text in one file."""

    spec: ToolSpec = ToolSpec(
        NAME,
        Category.EDIT,
        "Replace an exact text in a file. The text must be there exactly once, or set replace_all. "
        "Do not include the line numbers that Read shows. Line ends and encoding are kept.",
        schema_of(EditArguments),
    )

    async def prepare(self, args: Args) -> Prepared:
        """Find the text and show the difference."""
        given, args = parse(NAME, EditArguments, args)
        path = await resolved(self.environment, given.file_path)
        intent = file_changes.ChangeRequest(
            NAME, "Edit", args, path, lambda before: apply_replacements(before, (given,))
        )
        return await file_changes.prepare_change(self.environment, intent)
