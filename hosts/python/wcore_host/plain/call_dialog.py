"""The card of a call that waits for yes or no. Pure."""

from collections.abc import Iterator
from typing import Final

from wcore_host.events import Scope, ToolRequest
from wcore_host.headless import argument_editing
from wcore_host.headless.argument_editing import Draft
from wcore_host.headless.grants import (
    NOT_DESCRIBED,
    grant_label,
    grant_shown,
    grant_text,
    is_known,
    keeps,
    regrant,
)
from wcore_host.permission import Allow, Deny, command
from wcore_host.plain import argument_line, card
from wcore_host.plain.cells import cells
from wcore_host.plain.dialog import Again, Dialog, Done, Step
from wcore_host.plain.style import Style, wrap
from wcore_host.visible import visible_line

KEPT: Final = {  # what a person answers: how long a grant is kept, and what is told of it
    "": (None, ""),
    "p": ("project", ", also in later sessions of this project"),
    "u": ("user", ", also in later sessions everywhere"),
}
WORDS_ONLY: Final = frozenset({"which", "keep", "changed"})  # steps where `b` is no text


class CallDialog(Dialog):
    """A call that waits for yes or no."""

    def __init__(
        self, request: ToolRequest, *, can_edit: bool = False, can_keep: bool = False
    ) -> None:
        self._request = request
        self._can_keep = can_keep
        self._can_edit = can_edit
        self._args = request.tool.args  # as the person has changed them, if so
        self._line = Draft("", "")
        self._problem = ""
        offered = request.suggestions or ()
        self._grants = [scope for scope in offered if is_known(scope)]
        self._has_others = len(self._grants) < len(offered)
        self._step = "choose"
        self._grant: Scope = "once"

    @property
    def request(self) -> ToolRequest:
        return self._request

    @property
    def takes_paste(self) -> bool:
        return self._step == "change"

    @property
    def is_changed(self) -> bool:
        return self._args != self._request.tool.args

    def refused(self, problem: str) -> None:
        """The engine does not take the changes: the card is asked again and keeps them."""
        self._step, self._problem = "choose", problem

    @property
    def prompt(self) -> str:
        match self._step:
            case "keep":
                everywhere = ", u everywhere" if "user" in keeps(self._grant) else ""
                return f"kept for: Enter this session, p this project{everywhere}, b back?"
            case "change":
                return f"{self._line.name or 'all arguments'}:"
            case "changed":
                return "y run it like this, e change it again, b as it was?"
            case "tell":
                return "what should it do instead?"
            case "which":
                return f"which, 1 to {len(self._grants)}, b back?"
            case "edit":
                return "yes to every " + grant_label(self._grant)
            case _:
                return f"allow {visible_line(self._request.tool.name, 40)}?"

    def rows(self, style: Style) -> list[str]:
        told = f"the changes were not taken: {visible_line(self._problem, 400)}"
        problem = [card.BAR + row for row in wrap(told, style.width - 3)] if self._problem else []
        return [*card.rows(self._request, style), *problem, *self._answers(style)]

    def answer(self, line: str, style: Style) -> Step:
        if self._step in WORDS_ONLY and line.strip().lower() in ("b", "back"):
            return self.cancel()
        match self._step:
            case "tell":
                return self._done(Deny(line.strip()), "refused, and told why")
            case "which":
                return self._pick(line)
            case "edit":
                return self._granted(line)
            case "keep":
                return self._keep(line.strip().lower())
            case "change":
                return self._take_change(line, style)
            case "changed":
                return self._confirm(line.strip().lower())
            case _:
                return self._choose(line.strip(), style)

    def cancel(self) -> Step:
        if self._step != "choose":
            self._step, self._args = "choose", self._request.tool.args
            return Again(("back to the card; Esc refuses the call",))
        return self._done(Deny(""), "refused")

    def _choose(self, word: str, style: Style) -> Step:
        name = visible_line(self._request.tool.name, 40)
        match word.lower():
            case "y" | "yes":
                return self._done(Allow(), "allowed")
            case "a" | "always":
                return self._done(Allow(scope="always"), f"allowed, and every {name} from now on")
            case "p" if self._grants:
                return self._offer_grants()
            case "n" | "no":
                return self._done(Deny(""), "refused")
            case "t":
                self._step = "tell"
                return Again()
            case "s":
                return self._done(Deny("", stop=True), "refused and stopped")
            case "e" | "edit" if self._can_edit:
                return self._change()
            case "v":
                return Again(tuple(card.rows(self._request, style, whole=True)))
            case _:
                told = ("not understood:",) if word else ()
                return Again((*told, *self._answers(style)))

    def _change(self) -> Step:
        line = argument_line.draft(self._args)
        if line is None:
            return Again(("too long to be changed on a line; `wcore-chat` has an editor",))
        self._step, self._line = "change", line
        return Again(("change it and press Enter, nothing runs yet; Esc goes back",), line.text)

    def _take_change(self, text: str, style: Style) -> Step:
        try:
            self._args = argument_editing.read(self._args, self._line.name, text)
        except argument_editing.DraftError as error:
            return Again((f"not understood: {error}",), text)
        self._step = "changed" if self.is_changed else "choose"
        if not self.is_changed:
            return Again(("it is as it was",))
        return Again(tuple(argument_line.rows(self._request.tool.args, self._args, style)))

    def _confirm(self, word: str) -> Step:
        if word in ("y", "yes"):
            return self._done(Allow(args=self._args), "allowed once, as changed")
        return self._change() if word in ("e", "edit") else Again(("not understood: y, e or b",))

    def _offer_grants(self) -> Step:
        if len(self._grants) == 1:
            return self._pick("1")
        self._step = "which"
        return Again(tuple(f"{i}  {grant_shown(s)}" for i, s in enumerate(self._grants, 1)))

    def _pick(self, line: str) -> Step:
        number = int(line) if line.strip().isdecimal() else 0
        if not 1 <= number <= len(self._grants):
            return Again((f"not understood: a number from 1 to {len(self._grants)}, or b",))
        self._grant = self._grants[number - 1]
        if not grant_text(self._grant):
            return self._chosen()
        self._step = "edit"
        return Again(("edit it or press Enter; an empty line goes back",), grant_text(self._grant))

    def _granted(self, line: str) -> Step:
        if not line.strip():
            return self.cancel()  # it would grant nothing
        self._grant = regrant(self._grant, line)
        return self._chosen()

    def _chosen(self) -> Step:
        if self._can_keep and len(keeps(self._grant)) > 1:
            self._step = "keep"
            return Again((grant_shown(self._grant),))
        return self._keep("")

    def _keep(self, word: str) -> Step:
        persist, where = KEPT.get(word, ("", ""))
        if persist not in (None, *keeps(self._grant)):
            return Again(("not understood: one of those",))
        told = f"allowed, and {grant_shown(self._grant)}{where}"
        return self._done(Allow(scope=self._grant, persist=persist), told)

    def _done(self, verdict: Allow | Deny, told: str) -> Done:
        return Done(command(self._request, verdict), told)

    def _answers(self, style: Style) -> list[str]:
        name = visible_line(self._request.tool.name, 40)
        choices = ["y yes", f"a yes, and every {name} from now on"]
        if self._grants:
            more = f" (or {len(self._grants) - 1} other)" if len(self._grants) > 1 else ""
            choices.append(f"p yes, and {grant_shown(self._grants[0])}{more}")
        choices += ["e edit"] if self._can_edit else []
        choices += ["n no", "t no, and tell it…", "s no, and stop"]
        if self._has_others:
            choices.append(f"({NOT_DESCRIBED})")
        if card.is_folded(self._request, style):
            choices.append("v view all")
        width = max(20, style.width - len(card.BAR) - 1)
        rows = [row for text in _flow(choices, width) for row in wrap(text, width)]
        return [style.yellow("╰ " if row is rows[-1] else card.BAR) + row for row in rows]


def _flow(choices: list[str], width: int) -> Iterator[str]:
    """Put as many choices on a row as fit."""
    row = ""
    for choice in choices:
        joined = f"{row}   {choice}" if row else choice
        if row and cells(joined) > width:
            yield row
            joined = choice
        row = joined
    yield row
