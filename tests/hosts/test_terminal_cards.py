"""Cards on the full screen: what answers them, and above all what does not."""

from collections.abc import Callable

import pytest
from hosts.places import Place
from hosts.screens import ANSWERS, BUSY_S, READY, SHORT_S, looking
from hosts.terminals import engine_flag
from talking import call
from textual.events import Key, Paste
from wcore_host.headless import card_queue
from wcore_host.terminal import lone_enter, prompt
from wcore_host.terminal.answer_menu_widget import UNARMED_HINT, AnswerMenuWidget
from wcore_host.terminal.card_panel import CardPanel, Field
from wcore_host.terminal.focus import Focus
from wcore_host.terminal.lone_enter import ALONE_S
from wcore_host.terminal.prompt import Prompt
from wcore_host.terminal.transcript_view import TranscriptView

ECHO: list[object] = [{"echo": True}]


def writes(*names: str) -> list[object]:
    return [call("Write", file_path=name, content=f"{name}\n") for name in names]


async def test_enter_runs_the_call_that_is_shown(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with looking(place, monkeypatch, "--model", place.script(writes("a"), ECHO)) as screen:
        await screen.say("go")
        await screen.listens()
        assert "+a" in screen.text
        assert not place.file("a").exists()
        await screen.press("enter")
        await screen.see("✓ Write")
        assert place.file("a").read_text() == "a\n"


async def test_esc_refuses_that_call_and_the_next_card_comes(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = place.script(writes("a", "b"), ECHO)
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.see("1 more")
        await screen.listens()
        await screen.press("escape")
        await screen.see("+++ b/b")
        await screen.listens()
        await screen.press("enter")
        await screen.see("✓ Write")
    assert not place.file("a").exists()
    assert place.file("b").exists()


async def test_the_enter_of_somebody_who_writes_is_for_the_prompt(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompt, "QUIET_S", BUSY_S)  # who writes is not taken for idle on the way
    slow = [{"text": "hm"}, {"stall_ms": 800}, *writes("a")]
    async with looking(place, monkeypatch, "--model", place.script(slow, ECHO)) as screen:
        await screen.say("go")
        await screen.see("hm")
        await screen.write("next")
        await screen.see("Tab goes to these answers")
        await screen.press("enter", "enter")
        await screen.see("your message stays in the prompt")
        assert screen.pane.talk.cards.front is not None
        await screen.press("tab")
        await screen.listens()
        await screen.press("escape")
        await screen.see("denied by the user")
    assert not place.file("a").exists()


async def test_keys_in_the_moment_a_card_appears_do_not_answer_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(card_queue, "QUIET_S", BUSY_S)
    monkeypatch.setattr(prompt, "QUIET_S", BUSY_S)  # so long the card leaves the keys to the prompt
    script = place.script(writes("a"), ECHO)
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.see("Tab goes to these answers")
        await screen.press("tab", "enter", "enter", "escape", "enter")
        await screen.see("in a moment…")
        assert screen.pane.talk.cards.front is not None, "nothing has answered the card"
        monkeypatch.setattr(card_queue, "QUIET_S", SHORT_S)
        await screen.press("enter")  # which begins that one
        await screen.listens()
        await screen.press("escape")
        await screen.see("denied by the user")
    assert not place.file("a").exists()


async def test_a_held_enter_does_not_answer_the_next_card(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = place.script(writes("a", "b"), ECHO)
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.see("1 more")
        await screen.listens()
        await screen.press("enter")
        monkeypatch.setattr(card_queue, "QUIET_S", BUSY_S)
        await screen.see("+++ b/b")
        for _ in range(20):
            await screen.press("enter")
        assert screen.pane.talk.cards.front is not None
        assert not place.file("b").exists()
        monkeypatch.setattr(card_queue, "QUIET_S", SHORT_S)
        await screen.press("enter")
        await screen.listens()
        await screen.press("escape")
        await screen.see("denied by the user")
    assert not place.file("b").exists()


async def test_letters_at_a_card_go_to_the_prompt(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = place.script(writes("a"), ECHO)
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.listens()
        await screen.write("yes please")
        await screen.see(" yes please")
        await screen.press("enter")
        await screen.see("your message stays in the prompt")
        assert screen.pane.talk.cards.front is not None


async def test_a_paste_at_a_card_goes_to_the_prompt(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = place.script(writes("a"), ECHO)
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.listens()
        screen.app.screen.focused.post_message(Paste("\n\ny\n\u202e\n"))  # type: ignore[union-attr]
        await screen.see("⟨U+202E⟩")
        assert screen.pane.talk.cards.front is not None


async def test_an_enter_with_company_is_a_paste_and_no_answer(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = place.script(writes("a"), ECHO)
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.listens()
        screen.paste("\ry\r")
        await screen.until(lambda: screen.pane.is_writing, "the y in the prompt")
        assert screen.pane.talk.cards.front is not None
    assert not place.file("a").exists()


@pytest.mark.parametrize("count", [2, 3, 4, 9])
async def test_enters_that_come_together_are_a_paste_and_no_answer(
    place: Place, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    script = place.script(writes("a"), ECHO)
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.listens()
        monkeypatch.setattr(card_queue, "QUIET_S", BUSY_S)
        screen.paste(count * "\r")
        await screen.see(UNARMED_HINT)
        monkeypatch.setattr(card_queue, "QUIET_S", SHORT_S)
        await screen.press("down")
        await screen.listens()
        await screen.press("escape")
        await screen.see("denied by the user")
    assert not place.file("a").exists()


async def test_an_enter_right_after_letters_is_no_answer(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = place.script(writes("a"), ECHO)
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.listens()
        screen.paste("y\r")  # before the focus can have moved
        await screen.until(lambda: screen.pane.is_writing, "the y in the prompt")
        await screen.pilot.pause(0.2)
        assert screen.pane.talk.cards.front is not None
    assert not place.file("a").exists()


async def test_what_came_at_once_is_a_paste_however_late_it_is_read(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a machine that is busy: the Enter has its turn long after the letter."""
    async with looking(place, monkeypatch) as screen:
        await screen.say("run echo a b")
        await screen.listens()
        await screen.press("down", "down", "enter")
        await screen.listens_to_text()
        letter, enter = Key("x", "x"), Key("enter", "\r")
        screen.app.post_message(letter)
        await screen.until(lambda: "x" in screen.pane.query_one(Field).value, "the x")
        await screen.listens_to_text()
        screen.app.post_message(enter)
        await screen.pilot.pause(10 * ALONE_S)
        assert screen.pane.talk.cards.front is not None


@pytest.mark.parametrize("text", ["x\r", "x\ry\r", "\rx\r", "x\r\r"])
async def test_lines_pasted_into_the_words_of_a_lasting_yes_do_not_give_it(
    place: Place, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    async with looking(place, monkeypatch) as screen:
        await screen.say("run echo a b")
        await screen.listens()
        await screen.press("down", "down", "enter")
        await screen.listens_to_text()
        screen.paste(text)
        await screen.until(lambda: "x" in screen.pane.query_one(Field).value, "the x")
        await screen.listens_to_text()
        await screen.press("up")  # is obeyed after all of that
        assert screen.pane.talk.cards.front is not None
        await screen.press("enter")  # by itself
        await screen.until(lambda: screen.pane.talk.cards.front is None, "the answer")


@pytest.mark.parametrize("text", ["one\rtwo\r\rthree", "one\rtwo\r\rthree\r"])
@pytest.mark.parametrize("at", ["prompt", "turn", "card"])
async def test_lines_pasted_as_keys_are_one_message_and_answer_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch, text: str, at: str
) -> None:
    monkeypatch.setattr(prompt, "QUIET_S", BUSY_S)
    script = place.script(
        [{"text": "hm"}, *([{"stall_ms": 600_000}] * (at == "turn")), *writes("a")]
    )
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.see(READY)
        if at != "prompt":
            await screen.say("go")
            await screen.see("hm")
        if at == "card":
            await screen.see("Tab goes to these answers")
            await screen.press("tab")
            await screen.listens()
        written = screen.pane.query_one(Prompt)
        screen.paste(text)
        if at == "prompt" and text.endswith("\r"):
            await screen.until(lambda: bool(screen.pane.talk.title), "the message")
            await screen.press("up")
        await screen.until(lambda: written.text == "one\ntwo\n\nthree", written.text)
        assert at != "card" or screen.pane.talk.cards.front is not None
    assert not place.file("a").exists()


async def test_a_pasted_enter_picks_no_completion(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with looking(place, monkeypatch) as screen:
        await screen.see(READY)
        await screen.write("/gra")
        await screen.see("> /grants")
        screen.paste("\rx")
        written = screen.pane.query_one(Prompt)
        await screen.until(lambda: written.text.endswith("x"), "all of the paste")
        assert written.text == "/gra\nx"


async def test_what_is_written_elsewhere_at_once_is_a_line_of_the_same_message(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lone_enter, "ALONE_S", BUSY_S)
    async with looking(place, monkeypatch) as screen:
        await screen.see(READY)
        screen.pane.write("one")
        await screen.press("enter")
        screen.pane.write("two")
        assert screen.pane.query_one(Prompt).text == "one\ntwo"


async def test_what_is_typed_while_a_message_is_sent_stays_in_the_prompt(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with looking(place, monkeypatch) as screen:
        await screen.see(READY)
        written = screen.pane.query_one(Prompt)
        screen.pane.write("one")
        written.post_message(Prompt.Sent("one"))
        written.insert("\ntwo")
        await screen.until(lambda: bool(screen.pane.talk.title), "the message")
        assert written.text == "\ntwo"


async def test_a_click_chooses_and_only_a_second_one_answers(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = place.script(writes("a"), ECHO)
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.listens()
        await screen.pilot.click("#answers", offset=(4, 3))
        await screen.see("> No")
        assert screen.pane.talk.cards.front is not None
        await screen.listens()
        await screen.pilot.click("#answers", offset=(4, 3))
        await screen.see("denied by the user")


async def test_no_and_tell_it_reaches_the_model(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = place.script(writes("a"), ECHO)
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.listens()
        await screen.press("down", "down", "down", "down")
        await screen.write("use b")
        await screen.see("use b")
        await screen.listens_to_text()
        await screen.press("enter")
        await screen.see("denied: use b")
        await screen.write("next")
        await screen.until(lambda: screen.pane.is_writing, f"the prompt, not {screen.app.focused}")


async def test_no_and_stop_ends_the_turn(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    script = place.script(writes("a", "b"), ECHO)
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.listens()
        await screen.press("down", "down", "down", "down", "down", "enter")
        await screen.until(lambda: not screen.pane.talk.turn, "the end of the turn")
        assert len(screen.pane.talk.cards) == 0
        assert not screen.app.panes[0].query_one("#card").display


async def test_a_grant_shows_its_text_is_edited_and_kept_for_the_project(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with looking(place, monkeypatch) as screen:
        await screen.say("run echo a b")
        await screen.see("every call of this exact command")
        await screen.listens()
        await screen.press("down", "down", "enter")
        await screen.see("kept < until this session ends >")
        await screen.press("down")
        await screen.see("kept < for this project >")
        await screen.press("ctrl+u", *"echo")
        await screen.listens_to_text()
        await screen.press("enter")
        await screen.see("✓ Bash")
        await screen.say("/grants")
        await screen.see("Bash: commands that begin with 'echo' · project")


async def test_a_protected_file_begins_on_no(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    script = place.script(writes(".env"), ECHO)
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.listens()
        assert "> No" in screen.text


@pytest.mark.clock
async def test_a_card_that_expires_goes_away_and_says_why(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = ("--model", place.script(writes("a"), ECHO), "--approval-ttl", "2")
    async with looking(place, monkeypatch, *flags) as screen:
        await screen.say("go")
        await screen.see("Yes, this once")
        await screen.see("this card is gone: nobody answered in time")
        await screen.unsee("Yes, this once")
    assert not place.file("a").exists()


async def test_an_answer_that_no_engine_takes_brings_the_card_back(
    place: Place, monkeypatch: pytest.MonkeyPatch, fake: Callable[[str], list[str]]
) -> None:
    async with looking(place, monkeypatch, engine_flag(fake("refusing"))) as screen:
        await screen.say("go")
        await screen.listens()
        await screen.press("enter")
        await screen.see("not like that")
        await screen.see("Yes, this once")
        await screen.see(ANSWERS)


async def test_a_card_that_goes_and_comes_between_two_refreshes_gets_the_keys_back(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = place.script([call("Bash", command="true")])
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.listens()
        pane = screen.pane
        panel, cards = pane.query_one(CardPanel), pane.talk.cards
        cards.answered(0.0)
        panel.sync(frozenset())
        await screen.until(lambda: not panel.has_keys, "no keys for what is gone")
        cards.refused()
        panel.sync(frozenset())
        Focus(pane.query_one(Prompt), panel, pane.query_one(TranscriptView)).card_appeared()
        await screen.until(lambda: panel.has_keys, "keys of the card")
        await screen.listens()


async def test_a_question_takes_an_option_and_own_words(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = [{"label": "staging"}, {"label": "prod"}]
    ask = [call("AskUserQuestion", question="Where?", options=options)]
    script = place.script(ask, ask, ECHO)
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.see("Where?")
        await screen.listens()
        await screen.press("down", "enter")
        await screen.see("✓ AskUserQuestion")
        await screen.see("Answer in your own words")
        await screen.listens()
        await screen.press("down", "down")
        await screen.write("neither")
        await screen.listens_to_text()
        await screen.press("enter")
        await screen.see('"output": "neither"')


async def test_a_question_takes_several_options(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = [{"label": "red"}, {"label": "gr\u00fcn"}, {"label": "blue"}]
    ask = [call("AskUserQuestion", question="Which?", multiSelect=True, options=options)]
    script = place.script(ask, ECHO)
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.listens()
        await screen.press("down", "space", "down", "space", "down")
        await screen.see("[x] blue")
        await screen.press("enter")
        await screen.see('["grün", "blue"]')


async def test_the_first_card_knows_how_wide_its_answers_are(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []
    sync = CardPanel.sync

    def watched(panel: CardPanel, flags: frozenset[str]) -> bool:
        is_another = sync(panel, flags)
        if is_another and panel.shown is not None:
            counts.append(panel.answers.row_count())
        return is_another

    monkeypatch.setattr(CardPanel, "sync", watched)
    script = place.script(writes("a"), ECHO)
    async with looking(place, monkeypatch, "--model", script, size=(60, 20)) as screen:
        await screen.say("go")
        await screen.listens()
        assert counts == [screen.pane.query_one(AnswerMenuWidget).row_count()]


@pytest.mark.parametrize("size", [(40, 15), (40, 24), (60, 20), (100, 40)])
async def test_any_screen_shows_what_would_run_and_the_chosen_answer(
    place: Place, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    lines = "\n".join(f"line {number}" for number in range(1, 59))
    script = place.script([call("Bash", command=f"cat > out <<'EOF'\n{lines}\nEOF")], ECHO)
    async with looking(place, monkeypatch, "--model", script, size=size) as screen:
        await screen.say("go")
        await screen.see("│ cat > out <<")
        await screen.see("PgDn: ")
        await screen.listens()
        assert "line 58" not in screen.text
        picking = screen.pane.query_one(AnswerMenuWidget).picking
        assert picking is not None
        for choice in picking.choices:
            label = choice.label

            def is_chosen(label: str = label) -> bool:
                first, chosen = screen.text.partition("\n> ")[::2]
                return bool(first) and "".join(label.split()) in "".join(chosen.split())

            await screen.until(is_chosen, f"{label!r}, chosen")
            await screen.press("down")
        for _ in range(60):
            await screen.press("pagedown")
        await screen.see("line 58")
        await screen.unsee("PgDn: ")
        await screen.unsee("│ cat > out <<")
        await screen.press("down")
        assert "line 58" in screen.text, "choosing an answer moves nothing else"
        await screen.press("escape")
        await screen.unsee("line 58")
