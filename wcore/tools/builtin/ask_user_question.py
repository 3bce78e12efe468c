"""AskUserQuestion: the model asks, a person answers; nothing is run."""

from typing import Final

from msgspec import Struct
from pydantic import Field

from wcore.tools.arguments import Arguments, parse, schema_of
from wcore.tools.digests import call_digest
from wcore.tools.fs.paths import description_line
from wcore.tools.tool import RunContext, ToolEnvironment
from wcore.tools.truncate import truncate
from wcore.visible import visible
from wcore.vocabulary import (
    PREVIEW_BYTES_MAX,
    Args,
    Category,
    Prepared,
    Preview,
    Status,
    ToolOutput,
    ToolSpec,
)

NAME = "AskUserQuestion"
OPTIONS_MAX: Final = 20  # what a card can show


class Option(Arguments):
    label: str = Field(min_length=1, description="The answer, short.")
    description: str = Field(default="", description="What choosing it means.")
    preview: str = Field(default="", description="Something to look at, such as code.")


class AskArguments(Arguments):
    question: str = Field(min_length=1, description="The question, complete.")
    header: str = Field(default="", description="A word or two above the question.")
    options: tuple[Option, ...] = Field(
        min_length=1, max_length=OPTIONS_MAX, description="The answers to choose from."
    )
    multiSelect: bool = Field(  # noqa: N815 - the protocol's name
        default=False, description="Several may be chosen; the result is a JSON array of labels."
    )


class AskUserQuestion(Struct, frozen=True):
    """Passes a person's answer on."""

    environment: ToolEnvironment
    spec: ToolSpec = ToolSpec(
        NAME,
        Category.INFO,
        "Ask the user a question with answers to choose from, when only they can decide. "
        "The result is the label they chose, or what they wrote instead.",
        schema_of(AskArguments),
    )

    def target_paths(self, args: Args) -> frozenset[str]:
        """A question is about no file."""
        return frozenset()

    async def prepare(self, args: Args) -> Prepared:
        """Check the question and lay it out."""
        given, args = parse(NAME, AskArguments, args)
        note = "[question cut here: it is longer than can be shown]"
        text, cut = truncate(visible(_laid_out(given)), PREVIEW_BYTES_MAX, note)
        return Prepared(
            tool=NAME,
            category=Category.INFO,
            args=args,
            description=description_line(f"AskUserQuestion: {given.question}"),
            digest=call_digest(NAME, args, self.environment.workspace),
            preview=Preview("text", text, truncated=cut),
        )

    async def run(self, prepared: Prepared, live: RunContext) -> ToolOutput:
        """Return the answer as it was given."""
        if live.answer is None:
            return ToolOutput.failed("approved without an answer")
        return ToolOutput(Status.SUCCESS, live.answer)


def _laid_out(given: AskArguments) -> str:
    lines = [given.header] * bool(given.header) + [given.question]
    for number, option in enumerate(given.options, 1):
        meaning = f": {option.description}" if option.description else ""
        lines.append(f"{number}. {option.label}{meaning}")
        lines.extend(f"   {line}" for line in option.preview.split("\n") if option.preview)
    if given.multiSelect:
        lines.append("(several may be chosen)")
    return "\n".join(lines) + "\n"
