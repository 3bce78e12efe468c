"""What a server asks for while its tool runs: a person's answer, or a reply of our model.

Both pass the gate as calls of their own, under ids of the engine's making. What they bring goes to
the server and to nobody else.
"""

from typing import Final

from msgspec import Struct

from wcore.errors import ToolError
from wcore.tools.builtin.ask_user_question import NAME as QUESTION_TOOL
from wcore.tools.digests import call_digest
from wcore.tools.fs.paths import description_line
from wcore.tools.mcp import elicitation_form
from wcore.tools.mcp.names import sampling_name
from wcore.tools.mcp.server_call import ElicitationRequest, SamplingRequest
from wcore.tools.mcp.server_config import ServerConfig
from wcore.tools.tool import CompleteFn, RunContext
from wcore.tools.truncate import truncate
from wcore.visible import visible, visible_line
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


class Sampling(Struct, frozen=True):
    """A server's request to our model. It gets the reply and nothing of our conversation."""

    config: ServerConfig
    prompt: SamplingRequest
    workspace: str
    complete: CompleteFn

    def args(self) -> Args:
        """Return the whole prompt."""
        prompt = self.prompt
        system: dict[str, Json] = {"system": prompt.system} if prompt.system else {}
        messages = [{"role": role, "text": text} for role, text in prompt.messages]
        return {**system, "messages": messages, "max_tokens": prompt.max_tokens}

    @property
    def spec(self) -> ToolSpec:
        """Never shown to a model: only the server's own code asks this."""
        name = sampling_name(self.config.safe_name)
        return ToolSpec(name, Category.MCP, "", {})

    def target_paths(self, args: Args) -> frozenset[str]:
        """A prompt is about no file."""
        return frozenset()

    async def prepare(self, args: Args) -> Prepared:
        """Lay the prompt out; it is the server's, and cannot be changed.

        Raises:
            ToolError: the arguments are not those of the prompt.
        """
        if args != self.args():
            raise ToolError("a server's prompt can be refused, but not changed")
        name = self.spec.name
        parts = [f"system: {self.prompt.system}"] * bool(self.prompt.system)
        parts += [f"{visible_line(role, 40)}: {text}" for role, text in self.prompt.messages]
        text, cut = truncate(visible("\n".join(parts)), PREVIEW_BYTES_MAX, CUT_NOTE)
        return Prepared(
            tool=name,
            category=Category.MCP,
            args=args,
            description=description_line(f"{self.config.shown_name} asks the model"),
            digest=call_digest(name, args, self.workspace),
            preview=Preview("text", text, truncated=cut),
            pin=(self.config.digest, "sampling"),
        )

    async def run(self, prepared: Prepared, live: RunContext) -> ToolOutput:
        """Ask the model and keep the reply for the server."""
        prompt = self.prompt
        reply = await self.complete(prompt.system, prompt.messages, prompt.max_tokens)
        self.prompt.reply = reply
        return ToolOutput(Status.SUCCESS, reply)
