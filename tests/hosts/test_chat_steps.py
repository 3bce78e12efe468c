"""The second questions of a card by lines: what goes back from them, and what is not understood."""

import pytest
from wcore_host.events import Scope, Tool, ToolRequest, Why
from wcore_host.plain.call_dialog import CallDialog
from wcore_host.plain.dialog import Again, Done
from wcore_host.plain.style import Style

STYLE = Style()


def dialog() -> CallDialog:
    tool = Tool("Bash", "exec", {"command": "git log"})
    scopes: tuple[Scope, ...] = (
        {"always_exact": {"command": "git log"}},
        {"always_prefix": {"prefix": "git log"}},
    )
    request = ToolRequest("m1", "c1", tool, Why("mode", "asks"), suggestions=scopes)
    return CallDialog(request, can_edit=True, can_keep=True)


@pytest.mark.parametrize(
    "lines", [["p"], ["p", "1"], ["p", "2", "git "]], ids=["which", "kept for", "prefix kept for"]
)
@pytest.mark.parametrize("back", ["b", "back", " B "])
def test_a_word_goes_back_from_a_second_question(lines: list[str], back: str) -> None:
    card = dialog()
    first = card.prompt
    for line in lines:
        assert isinstance(card.answer(line, STYLE), Again)
    assert "b back" in card.prompt
    assert isinstance(card.answer(back, STYLE), Again)
    assert card.prompt == first
    assert isinstance(card.answer("n", STYLE), Done)


def test_an_empty_line_goes_back_from_the_words_of_a_grant() -> None:
    card = dialog()
    first = card.prompt
    for line in ("p", "2", ""):
        assert isinstance(card.answer(line, STYLE), Again)
    assert card.prompt == first


@pytest.mark.parametrize("lines", [["perhaps"], ["p", "7"], ["p", "1", "for ever"]])
def test_what_is_not_understood_is_said(lines: list[str]) -> None:
    card = dialog()
    *before, last = lines
    for line in before:
        card.answer(line, STYLE)
    step = card.answer(last, STYLE)
    assert isinstance(step, Again)
    assert step.rows[0].startswith("not understood:")
