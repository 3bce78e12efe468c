"""The card of AskUserQuestion: what the person answers becomes the tool's output. Pure."""

import json

from wcore_host.events import ToolRequest
from wcore_host.headless.card_content import asker, options_of
from wcore_host.permission import Allow, Deny, command
from wcore_host.plain import card
from wcore_host.plain.dialog import Again, Dialog, Done, Step
from wcore_host.plain.style import Style, wrap
from wcore_host.visible import visible_line


class QuestionDialog(Dialog):
    """AskUserQuestion: the answer is the tool's output."""

    def __init__(self, request: ToolRequest) -> None:
        args = request.tool.args
        self._request = request
        self._question = str(args.get("question", ""))
        self._header = str(args.get("header") or "")
        self._several = args.get("multiSelect") is True
        self._labels = [label for label, _ in options_of(args)]

    @property
    def request(self) -> ToolRequest:
        return self._request

    @property
    def takes_paste(self) -> bool:
        return True

    @property
    def prompt(self) -> str:
        if not self._labels:
            return "your answer?"
        return "numbers (1,3) or text?" if self._several else "a number or text?"

    def rows(self, style: Style) -> list[str]:
        width = max(20, style.width - len(card.BAR) - 1)
        head = visible_line(self._header, 60) or "a question"
        who = asker(self._request)
        texts = [visible_line(self._question, 2000)]
        for number, (label, about) in enumerate(options_of(self._request.tool.args), 1):
            more = f": {visible_line(about, 300)}" if about else ""
            texts.append(f"  {number}  {visible_line(label, 200)}{more}")
        bar = style.cyan(card.BAR)
        rows = [bar + row for text in texts for row in wrap(text, width)]
        top = style.cyan("╭ ") + style.bold(f"{head}{', asked by ' + who if who else ''}")
        return [top, *rows, style.cyan("╰ ") + style.dim("Esc gives no answer")]

    def answer(self, line: str, style: Style) -> Step:
        text = line.strip()
        if not text:
            return Again(("an answer, or Esc",))
        chosen = self._chosen(text)
        if isinstance(chosen, Again):
            return chosen
        shown = visible_line(", ".join(chosen), 200)
        answer = json.dumps(chosen, ensure_ascii=False) if self._several else chosen[0]
        return Done(command(self._request, Allow(answer=answer)), f"answered: {shown}")

    def cancel(self) -> Step:
        return Done(command(self._request, Deny("")), "not answered")

    def _chosen(self, text: str) -> list[str] | Again:
        parts = [part.strip() for part in text.split(",")] if self._several else [text]
        if not self._labels or not all(part.isdecimal() for part in parts):
            return [text]
        numbers = [int(part) for part in parts]
        if not all(1 <= number <= len(self._labels) for number in numbers):
            return Again((f"numbers go from 1 to {len(self._labels)}",))
        return [self._labels[number - 1] for number in dict.fromkeys(numbers)]
