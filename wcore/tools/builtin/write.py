"""Write: a whole file, new or replaced."""

from pydantic import Field

from wcore.errors import ToolError
from wcore.tools.arguments import Arguments, FilePath, parse, schema_of
from wcore.tools.builtin import file_changes
from wcore.tools.fs.paths import resolved
from wcore.tools.fs.text_encoding import rewritten
from wcore.vocabulary import Args, Category, Prepared, ToolSpec

NAME = "Write"


class WriteArguments(Arguments):
    file_path: FilePath
    content: str = Field(description="The whole new content.")


class Write(file_changes.ChangingTool, frozen=True):
    """Replaces or makes one file."""

    spec: ToolSpec = ToolSpec(
        NAME,
        Category.EDIT,
        "Write a file, replacing what is there; missing folders are made. A new file is UTF-8; "
        "of an old one, byte order mark, line ends and encoding stay. "
        "To change a part of a file use Edit.",
        schema_of(WriteArguments),
    )

    async def prepare(self, args: Args) -> Prepared:
        """Show the difference to what is there now."""
        given, args = parse(NAME, WriteArguments, args)
        path = await resolved(self.environment, given.file_path)
        if given.file_path.endswith("/"):
            raise ToolError("`file_path` ends in `/`: it names a folder, not a file")
        intent = file_changes.ChangeRequest(
            NAME,
            "Write to",
            args,
            path,
            lambda before: rewritten(before.text, given.content, before.charset),
            is_whole=True,
        )
        return await file_changes.prepare_change(self.environment, intent)
