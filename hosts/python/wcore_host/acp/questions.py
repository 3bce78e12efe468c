"""AskUserQuestion in an editor: a form where the editor has forms, else buttons. Pure.

Buttons carry one answer, also where several may be chosen; a form takes several, and own words.
A question of an MCP server brings the form it wants; without forms nobody can fill it in.
"""

import json
from dataclasses import dataclass
from typing import Final

from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    ElicitationFormSessionMode,
    PermissionOption,
)

from wcore_host.events import Json, ToolRequest
from wcore_host.headless.card_content import options_of
from wcore_host.permission import Allow, Deny
from wcore_host.visible import visible, visible_line

CHOSEN, OWN_WORDS = "answer", "other"  # the fields of the form
SHOWN: Final = ("title", "description")  # of a form's field
LABEL_CHARS_MAX: Final = 200  # a button
UNANSWERED: Final = "the user gave no answer"
IN_CHAT: Final = (
    "the editor takes no free text here: end your turn with this question as text, "
    "the user answers with the next message"
)
NO_FORMS: Final = "This editor has no forms, and there is nothing to choose from:"


@dataclass(frozen=True)
class Question:
    """What the model wants to know."""

    text: str
    labels: tuple[tuple[str, str], ...]  # label and description
    several: bool
    schema: dict[str, Json] | None = None  # the form that an MCP server wants

    @classmethod
    def of(cls, request: ToolRequest) -> "Question":
        args = request.tool.args
        header, text = str(args.get("header") or ""), str(args.get("question") or "")
        shown = f"{visible_line(header, 60)}: {visible(text)}" if header else visible(text)
        several, schema = args.get("multiSelect") is True, args.get("schema")
        wanted = schema if isinstance(schema, dict) else None
        return cls(shown, tuple(options_of(args)), several, wanted)

    @property
    def note(self) -> str:
        """What the buttons have to add where nothing can be chosen."""
        if self.labels:
            return ""
        return f"{NO_FORMS} " + (
            "the server gets no answer." if self.schema else "answer in the chat."
        )

    def form(self, session_id: str, call_id: str) -> ElicitationFormSessionMode | None:
        """Return the form; `None` if ACP cannot say the one that is wanted."""
        fields: dict[str, Json] = {"sessionId": session_id, "toolCallId": call_id}
        try:
            return ElicitationFormSessionMode.model_validate(
                {**fields, "requestedSchema": _shown(self.schema or self._own_form())}
            )
        except ValueError:
            return None

    def _own_form(self) -> dict[str, Json]:
        """Return our form: the person may always answer in own words."""
        own: Json = {"type": "string", "title": "In your own words"}
        fields: dict[str, Json] = {CHOSEN: self._chooser()} if self.labels else {}
        return {"type": "object", "properties": {**fields, OWN_WORDS: own}}

    def filled(self, response: object) -> Allow | Deny:
        """Return what a form that came back says."""
        if not isinstance(response, AcceptElicitationResponse):
            return Deny(UNANSWERED)
        content: dict[str, object] = dict(response.content or {})
        if self.schema is not None:
            return Allow(answer=json.dumps(content, ensure_ascii=False))
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
        return Deny(UNANSWERED if self.labels or self.schema else IN_CHAT)

    def _answer(self, picked: list[str]) -> Allow | Deny:
        if not picked:
            return Deny(UNANSWERED)
        answer = json.dumps(picked, ensure_ascii=False) if self.several else picked[0]
        return Allow(answer=answer)

    def _chooser(self) -> dict[str, Json]:
        choices: list[Json] = [
            {"const": label, "title": f"{label}: {about}" if about else label}
            for label, about in self.labels
        ]
        if self.several:
            return {"type": "array", "title": "Choose any", "items": {"anyOf": choices}}
        return {"type": "string", "title": "Choose one", "oneOf": choices}


def _shown(schema: Json) -> Json:
    """Return `schema` with everything visible that a form shows and nobody sends back."""
    if isinstance(schema, list):
        return [_shown(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: visible_line(value) if key in SHOWN and isinstance(value, str) else _shown(value)
        for key, value in schema.items()
    }
