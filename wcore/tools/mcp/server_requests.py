"""What a server asks a person while its tool runs.

It passes the gate as a call of its own, under an id of the engine's making. What it brings goes to
the server and to nobody else.
"""

from typing import Final

from msgspec import Struct

from wcore.tools.builtin.ask_user_question import NAME as QUESTION_TOOL
from wcore.tools.digests import call_digest
from wcore.tools.fs.paths import description_line
from wcore.tools.mcp import elicitation_form
from wcore.tools.mcp.server_call import ElicitationRequest
from wcore.tools.mcp.server_config import ServerConfig
from wcore.tools.tool import RunContext
from wcore.tools.truncate import truncate
from wcore.visible import visible
from wcore.vocabulary import (
    PREVIEW_BYTES_MAX,
    Args,
    Category,
    Json,
    Prepared,
    Preview,
    Status,
    ToolOutput,
    ToolSpec,
)

OPENED: Final = "I have done it"  # for an address to visit: there is nothing to write
DECLINED: Final = "No"
CUT_NOTE: Final = "[cut here: it is longer than can be shown]"


class Elicitation(Struct, frozen=True):
    """A server's question to a person, as AskUserQuestion."""

    config: ServerConfig
    question: ElicitationRequest
    workspace: str

    def args(self) -> Args:
        """Return the arguments of the card.

        Raises:
            ToolError: the form is too large to be shown.
        """
        schema = self.question.schema
        choices = [{"label": OPENED}, {"label": DECLINED}]
        form: dict[str, Json] = {}
        if schema is not None:
            form["schema"], choices = (
                elicitation_form.shown(schema),
                elicitation_form.options(schema),
            )
        return {
            "question": self.question.text,
            "header": f"{self.config.shown_name} asks",
            "options": choices,
            "server": self.config.shown_name,
            **form,
        }

    @property
    def spec(self) -> ToolSpec:
        """Never shown to a model: only the server's own code asks this."""
        return ToolSpec(QUESTION_TOOL, Category.INFO, "", {})

    def target_paths(self, args: Args) -> frozenset[str]:
        """A question is about no file."""
        return frozenset()

    async def prepare(self, args: Args) -> Prepared:
        """Lay the question out."""
        head = f"{self.config.shown_name} asks:\n{self.question.text}\n"
        text, cut = truncate(visible(head), PREVIEW_BYTES_MAX, CUT_NOTE)
        return Prepared(
            tool=QUESTION_TOOL,
            category=Category.INFO,
            args=args,
            description=description_line(f"{self.config.shown_name} asks: {self.question.text}"),
            digest=call_digest(QUESTION_TOOL, args, self.workspace),
            preview=Preview("text", text, truncated=cut),
        )

    async def run(self, prepared: Prepared, live: RunContext) -> ToolOutput:
        """Check the answer and keep it for the server."""
        if live.answer is None:
            return ToolOutput.failed("approved without an answer")
        if self.question.schema is not None:
            self.question.answer = elicitation_form.read(self.question.schema, live.answer)
        elif live.answer != DECLINED:
            self.question.answer = {}
        return ToolOutput(Status.SUCCESS, f"the answer goes to {self.config.shown_name} only")
