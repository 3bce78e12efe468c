"""AskUserQuestion in an editor: a form where the editor has forms, else buttons. Pure.

Buttons carry one answer, also where several may be chosen; a form takes several, and own words.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    ElicitationFormSessionMode,
    PermissionOption,
)

from wcore_host.events import Json, JsonObject, ToolRequest
from wcore_host.permission import Allow, Deny
from wcore_host.visible import visible, visible_line

QUESTION_TOOL: Final = "AskUserQuestion"
CHOSEN, OWN_WORDS = "answer", "other"  # the fields of the form
LABEL_CHARS_MAX: Final = 200  # a button
UNANSWERED: Final = "the user gave no answer"


@dataclass(frozen=True)
class Question:
    """What the model wants to know."""

    text: str
    labels: tuple[tuple[str, str], ...]  # label and description
    several: bool

    @classmethod
    def of(cls, request: ToolRequest) -> "Question":
        args = request.tool.args
        header, text = str(args.get("header") or ""), str(args.get("question") or "")
        shown = f"{visible_line(header, 60)}: {visible(text)}" if header else visible(text)
        return cls(shown, tuple(_labels(args)), args.get("multiSelect") is True)

    def form(self, session_id: str, call_id: str) -> ElicitationFormSessionMode:
        """Return the form; the person may always answer in own words."""
        own: JsonObject = {"type": "string", "title": "In your own words"}
        fields = {CHOSEN: self._chooser(), OWN_WORDS: own}
        schema = {"type": "object", "properties": fields}
        return ElicitationFormSessionMode.model_validate(
            {"sessionId": session_id, "toolCallId": call_id, "requestedSchema": schema}
        )

    def filled(self, response: object) -> Allow | Deny:
        """Return what a form that came back says."""
        if not isinstance(response, AcceptElicitationResponse):
            return Deny(UNANSWERED)
        content: dict[str, object] = dict(response.content or {})
        own, chosen = content.get(OWN_WORDS), content.get(CHOSEN)
        words = [own] if isinstance(own, str) and own.strip() else []
        if isinstance(chosen, list):
            picked = [item for item in chosen if isinstance(item, str)]  # pyright: ignore[reportUnknownVariableType]
        else:
            picked = [chosen] if isinstance(chosen, str) and not words else []
        return self._answer([*picked, *words])

    def options(self) -> list[PermissionOption]:
        """Return one button for each label, and one for no answer."""
        shown = [
            (f"answer-{number}", label, "allow_once")
            for number, (label, _) in enumerate(self.labels, 1)
        ]
        return [
            PermissionOption.model_validate(
                {"optionId": key, "name": visible_line(label, LABEL_CHARS_MAX), "kind": kind}
            )
            for key, label, kind in [*shown, ("reject_once", "No answer", "reject_once")]
        ]

    def pressed(self, outcome: object) -> Allow | Deny:
        """Return what a button says. A cancelled card ends the turn, as ACP has it."""
        if not isinstance(outcome, AllowedOutcome):
            return Deny(UNANSWERED, stop=True)
        for number, (label, _) in enumerate(self.labels, 1):
            if outcome.option_id == f"answer-{number}":
                return self._answer([label])
        return Deny(UNANSWERED)

    def _answer(self, picked: list[str]) -> Allow | Deny:
        if not picked:
            return Deny(UNANSWERED)
        answer = json.dumps(picked, ensure_ascii=False) if self.several else picked[0]
        return Allow(answer=answer)

    def _chooser(self) -> JsonObject:
        choices: list[Json] = [
            {"const": label, "title": visible_line(f"{label}: {about}" if about else label)}
            for label, about in self.labels
        ]
        if self.several:
            return {"type": "array", "title": "Choose any", "items": {"anyOf": choices}}
        return {"type": "string", "title": "Choose one", "oneOf": choices}


def _labels(args: JsonObject) -> Iterator[tuple[str, str]]:
    options = args.get("options")
    for option in options if isinstance(options, list) else []:
        if isinstance(option, dict) and isinstance(option.get("label"), str):
            about = option.get("description")
            yield str(option["label"]), about if isinstance(about, str) else ""
