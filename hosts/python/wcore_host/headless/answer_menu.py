"""The answers of a card, and the way to one of them. Pure.

Only arrows, Enter, Space and Esc count here: a letter can never be an answer. Every lasting yes
takes two steps, and the second shows the exact text that will be stored.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from wcore_host.events import Scope
from wcore_host.headless.card_content import is_outside, options_of
from wcore_host.headless.card_queue import Card
from wcore_host.headless.grants import (
    NOT_DESCRIBED,
    PERSISTS,
    grant_label,
    grant_note,
    grant_shown,
    grant_text,
    is_known,
    keeps,
    regrant,
)
from wcore_host.permission import Allow, Deny
from wcore_host.visible import visible_line

KEPT: Final = {
    "session": "until this session ends",
    "project": "for this project",
    "user": "for you, in every project",
}
# What asks for these reasons is not everyday work: the cursor starts on No.
CAREFUL_ROWS: Final = frozenset({"protected", "outside", "safety", "unreadable", "deny"})


class ChoiceAction(StrEnum):
    """What a choice does."""

    YES = "yes"
    LASTING = "lasting"
    CHANGE = "change"
    UNDO = "undo"
    NO = "no"
    TELL = "tell"
    STOP = "stop"
    OPTION = "option"
    WRITE = "write"
    DONE = "done"
    UNKNOWN = "unknown"


TWO_STEPS: Final = frozenset({ChoiceAction.LASTING, ChoiceAction.TELL, ChoiceAction.WRITE})


@dataclass(frozen=True)
class Choice:
    """One row of answers; `text` is what can be edited before it is stored or sent."""

    act: ChoiceAction
    label: str
    scope: Scope = "once"
    text: str = ""

    @property
    def takes_text(self) -> bool:
        return self.act in (ChoiceAction.TELL, ChoiceAction.WRITE) or (
            self.act is ChoiceAction.LASTING and bool(self.text)
        )


class AnswerMenu:
    """Where the person is on one card."""

    def __init__(self, card: Card, *, persists: bool, edits: bool = False) -> None:
        self.card = card
        self._can_keep = persists
        self._kept = 0
        self.several = card.is_question and card.request.tool.args.get("multiSelect") is True
        self.choices = _answers(card, self.several) if card.is_question else _verdicts(card, edits)
        self.ticked: set[int] = set()
        self.at = self._first()
        self.in_step = False  # the second step of a lasting yes, or a text is being written

    @property
    def choice(self) -> Choice:
        return self.choices[self.at]

    @property
    def _persists(self) -> tuple[str, ...]:
        return keeps(self.choice.scope) if self._can_keep else PERSISTS[:1]

    @property
    def persist(self) -> str:
        return self._persists[self._kept]

    @property
    def can_keep_longer(self) -> bool:
        return len(self._persists) > 1

    def move(self, step: int) -> None:
        """Go to another answer."""
        if not self.in_step:
            self.at = min(max(self.at + step, 0), len(self.choices) - 1)

    def keep(self, step: int) -> None:
        """Choose how long a lasting yes is kept."""
        if self.in_step and self.choice.act is ChoiceAction.LASTING:
            self._kept = min(max(self._kept + step, 0), len(self._persists) - 1)

    def tick(self) -> None:
        """Add or remove an option, where several may be chosen."""
        if self.several and self.choice.act is ChoiceAction.OPTION:
            self.ticked ^= {self.at}

    def enter(self, text: str = "") -> Allow | Deny | None:
        """Take the answer; `None` if there is a second step, or nothing to take yet."""
        if not self.in_step and self.choice.act in TWO_STEPS:
            self.in_step, self._kept = True, 0
            return None
        return self._taken(self.choice, text)

    def _taken(self, choice: Choice, text: str) -> Allow | Deny | None:
        written = text.strip()
        match choice.act:
            case ChoiceAction.YES:
                return Allow(args=self.card.changed)
            case ChoiceAction.NO | ChoiceAction.STOP:
                return Deny("", stop=choice.act is ChoiceAction.STOP)
            case ChoiceAction.LASTING:
                return self._lasting(choice, text)
            case ChoiceAction.TELL if written:
                return Deny(written)
            case ChoiceAction.WRITE if written:
                return self._answer([written])
            case ChoiceAction.OPTION if self.several:
                self.tick()
            case ChoiceAction.OPTION:
                return self._answer([choice.text])
            case ChoiceAction.DONE if self.ticked:
                return self._answer([self.choices[at].text for at in sorted(self.ticked)])
            case _:
                pass  # whoever asked opens an editor, or shows the call as it was
        return None

    def back(self) -> Deny | None:
        """Esc: leave the second step, or say no."""
        if self.in_step:
            self.in_step = False
            return None
        return Deny("")

    def _first(self) -> int:
        request = self.card.request
        careful = request.why.row in CAREFUL_ROWS or is_outside(request.sandbox)
        careful = careful and not self.card.is_question
        wanted = ChoiceAction.NO if careful else self.choices[0].act
        return next(at for at, choice in enumerate(self.choices) if choice.act is wanted)

    def _lasting(self, choice: Choice, text: str) -> Allow | None:
        if choice.text and not text.strip():
            return None  # empty would grant nothing, or everything
        scope = regrant(choice.scope, text) if choice.text else choice.scope
        return Allow(scope=scope, persist=self.persist if self._kept else None)

    def _answer(self, chosen: list[str]) -> Allow:
        several = json.dumps(chosen, ensure_ascii=False)
        return Allow(answer=several if self.several else chosen[0])


def _verdicts(card: Card, edits: bool) -> list[Choice]:  # noqa: FBT001
    name = visible_line(card.request.tool.name, 40)
    yes = [Choice(ChoiceAction.YES, "Yes, this once")]
    if card.token:
        return [*yes, Choice(ChoiceAction.NO, "No")]
    if card.changed is not None:
        return [
            Choice(ChoiceAction.YES, "Yes, with these changes, this once"),
            Choice(ChoiceAction.CHANGE, "Change it again"),
            Choice(ChoiceAction.UNDO, "Undo the changes"),
            *_noes(),
        ]
    narrow = [
        Choice(ChoiceAction.LASTING, f"Yes, and {_named(scope)}", scope, grant_text(scope))
        for scope in card.request.suggestions or ()
        if is_known(scope)
    ]
    unknown = len(card.request.suggestions or ()) - len(narrow)
    return [
        *yes,
        *narrow,
        *([Choice(ChoiceAction.UNKNOWN, f"({NOT_DESCRIBED})")] if unknown else []),
        Choice(ChoiceAction.LASTING, f"Yes, and every {name} call from now on", "always"),
        *(
            [Choice(ChoiceAction.CHANGE, "Change it first")]
            if edits and card.request.digest
            else []
        ),
        *_noes(),
    ]


def _named(scope: Scope) -> str:
    """Return what a choice says of a scope; what can be edited stands beside it."""
    label = f"every {grant_label(scope)}{grant_note(scope)}"
    return label if grant_text(scope) else grant_shown(scope)


def _noes() -> list[Choice]:
    return [
        Choice(ChoiceAction.NO, "No"),
        Choice(ChoiceAction.TELL, "No, and tell it what to do instead"),
        Choice(ChoiceAction.STOP, "No, and stop"),
    ]


def _answers(card: Card, several: bool) -> list[Choice]:  # noqa: FBT001
    found: list[Choice] = []
    for label, about in options_of(card.request.tool.args):
        more = f": {visible_line(about, 300)}" if about else ""
        found.append(Choice(ChoiceAction.OPTION, visible_line(label, 300) + more, text=label))
    if several and found:
        found.append(Choice(ChoiceAction.DONE, "Send what is ticked"))
    return [
        *found,
        Choice(ChoiceAction.WRITE, "Answer in your own words"),
        Choice(ChoiceAction.NO, "Give no answer"),
    ]
