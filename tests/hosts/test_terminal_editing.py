"""Changing what a call does, on the full screen: what runs is what was written and then shown."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest
from hosts.places import Place
from hosts.screens import BUSY_S, SHORT_S, Screen, looking
from talking import call
from textual.events import Paste
from textual.screen import ModalScreen
from textual.widgets import TextArea
from wcore_host.headless import card_queue
from wcore_host.terminal.editor import EditScreen

ECHO: list[object] = [{"echo": True}]
OFFER = "Change it first"
EDITOR = "Ctrl+S shows the card"
CHANGED = "changed by you: this runs"


@asynccontextmanager
async def editing(
    place: Place, monkeypatch: pytest.MonkeyPatch, *calls: object, flags: tuple[str, ...] = ()
) -> AsyncGenerator[Screen]:
    """Open the editor of the first of `calls`."""
    script = place.script(list(calls), ECHO)
    async with looking(place, monkeypatch, "--model", script, *flags) as screen:
        await screen.say("go")
        await open_editor(screen)
        yield screen


async def open_editor(screen: Screen, offer: str = OFFER) -> None:
    await screen.listens()
    while f"> {offer}" not in screen.text:
        await screen.press("down")
    await screen.press("enter")
    await screen.see(EDITOR)


def text_of(screen: Screen) -> TextArea:
    return screen.app.screen.query_one(TextArea)


async def test_a_changed_command_is_shown_again_and_exactly_that_runs(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = call("Bash", command="echo a > made", description="make it")
    async with editing(place, monkeypatch, asked) as screen:
        await screen.see("Change Bash: command")
        await screen.press("end", "2")
        await screen.press("ctrl+s")
        await screen.see(CHANGED)
        assert "echo a > made2" in screen.text
        assert "-echo a > made" in screen.text
        assert not place.file("made2").exists(), "leaving the editor runs nothing"
        await screen.listens()
        await screen.press("enter")
        await screen.see("changed by you")
        await screen.see("✓ Bash")
        await screen.see("echo a > made2")
    assert place.file("made2").exists()
    assert not place.file("made").exists()


async def test_no_key_in_the_editor_answers_the_card(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with editing(place, monkeypatch, call("Bash", command="touch made")) as screen:
        monkeypatch.setattr(card_queue, "QUIET_S", BUSY_S)
        await screen.press("end", "enter", "enter", "y", "ctrl+j", "ctrl+d", "tab")
        assert text_of(screen).text.startswith("touch made\n\ny")
        await screen.press("ctrl+s", "enter", "enter", "escape")
        await screen.see(CHANGED)
        assert screen.pane.talk.cards.front is not None, "nothing has answered the card"
    assert not place.file("made").exists()


async def test_the_clock_of_a_card_outlives_its_editor(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it is when the app ends with the editor open."""
    async with editing(place, monkeypatch, call("Bash", command="touch made")) as screen:
        editor = screen.app.screen
        assert isinstance(editor, EditScreen)
        await screen.press("escape")
        await screen.until(lambda: not editor.children, "the end of the editor")
        editor.left(1)


async def test_esc_keeps_the_call_as_it_was_and_changes_are_thrown_away_only_at_the_second(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with editing(place, monkeypatch, call("Bash", command="touch made")) as screen:
        await screen.press("end", "x", "escape")
        await screen.see("Esc again throws your changes away")
        monkeypatch.setattr(card_queue, "QUIET_S", BUSY_S)
        await screen.press("escape")
        await screen.unsee(EDITOR)
        assert CHANGED not in screen.text
        await screen.press("escape")  # the same Esc once more is no answer
        assert screen.pane.talk.cards.front is not None
        monkeypatch.setattr(card_queue, "QUIET_S", SHORT_S)
        await screen.press("down", "up")
        await screen.listens()
        await screen.press("up", "up", "up", "up", "enter")
        await screen.see("✓ Bash")
    assert place.file("made").exists()


async def test_what_the_engine_does_not_take_is_said_on_the_card_with_the_changes_kept(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.file("a").write_text("one\n")
    asked = call("Edit", file_path="a", old_string="one", new_string="two")
    async with editing(place, monkeypatch, asked) as screen:
        await screen.press("ctrl+t")
        await screen.see("all arguments, as JSON")
        text_of(screen).load_text('{"file_path": "a", "old_string": "no", "new_string": "2"}')
        await screen.press("ctrl+s")
        await screen.see(CHANGED)
        await screen.listens()
        await screen.press("enter")
        await screen.see("not taken: changed arguments:")
        await open_editor(screen, "Change it again")
        assert text_of(screen).text == "2"
        await screen.press("ctrl+t")
        await screen.see("all arguments, as JSON")
        text_of(screen).load_text('{"file_path": "a", "old_string": "one", "new_string": "2"}')
        await screen.press("ctrl+s")
        await screen.listens()
        await screen.press("enter")
        await screen.see("✓ Edit")
    assert place.file("a").read_text() == "2\n"


async def test_a_path_that_was_not_on_the_card_is_refused_and_undone(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with editing(place, monkeypatch, call("Write", file_path="a", content="x")) as screen:
        await screen.press("ctrl+t")
        text_of(screen).load_text('{"file_path": ".env", "content": "x"}')
        await screen.press("ctrl+s")
        await screen.listens()
        await screen.press("enter")
        await screen.see("not taken:")
        said = screen.text.replace("\n│ ", " ")  # where it wraps depends on the folder's name
        assert "was not on the card" in said
        await screen.listens()
        await screen.press("down", "down", "enter")
        await screen.unsee(CHANGED)
        await screen.listens()
        await screen.press("enter")
        await screen.see("✓ Write")
    assert place.file("a").read_text() == "x"
    assert not place.file(".env").exists()


async def test_text_that_is_no_json_is_refused_with_its_place(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with editing(place, monkeypatch, call("Bash", command="ls\u202e")) as screen:
        assert "\\u202e" in text_of(screen).text
        text_of(screen).load_text("{,}")
        await screen.press("ctrl+s")
        await screen.see("line 1, column 2")
        assert EDITOR in screen.text


async def test_a_paste_is_made_visible_before_it_becomes_part_of_a_command(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with editing(place, monkeypatch, call("Bash", command="echo ")) as screen:
        await screen.press("end")
        text_of(screen).post_message(Paste("a\u202eb\x1b[2J"))
        await screen.see("a⟨U+202E⟩b⟨U+001B⟩[2J")


async def test_the_time_of_a_card_goes_on_while_the_screen_is_taken_down(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with editing(place, monkeypatch, call("Bash", command="true")) as screen:
        tick, editor = screen.pane.tick, screen.app.screen
        assert isinstance(editor, EditScreen)
        await screen.app.push_screen(ModalScreen[None]())
        await editor.query_one("#list-title").remove()
        editor.left(1)
        tick()
    tick()


@pytest.mark.clock
async def test_a_card_that_expires_takes_its_editor_along(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = call("Bash", command="touch made")
    async with editing(place, monkeypatch, asked, flags=("--approval-ttl", "8")) as screen:
        await screen.press("end", "x")
        await screen.unsee(EDITOR)
        await screen.see("nobody answered in time")
        assert screen.pane.talk.cards.front is None


async def test_an_engine_that_takes_no_changes_is_offered_none(
    place: Place, monkeypatch: pytest.MonkeyPatch, fake: Callable[[str], list[str]]
) -> None:
    async with looking(place, monkeypatch, "--engine", " ".join(fake("baseline"))) as screen:
        await screen.say("go")
        await screen.listens()
        assert OFFER not in screen.text


async def test_a_card_behind_a_dialog_does_not_listen(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = place.script([call("Bash", command="touch made")], ECHO)
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.listens()
        await screen.press("ctrl+o")
        await screen.see("this card")
        await screen.until(lambda: not screen.pane.talk.cards.is_timed, "a deaf card")
        monkeypatch.setattr(card_queue, "QUIET_S", BUSY_S)
        await screen.press("escape", "escape", "enter")
        assert screen.pane.talk.cards.front is not None
        monkeypatch.setattr(card_queue, "QUIET_S", SHORT_S)
        await screen.press("down", "up")
        await screen.listens()
    assert not place.file("made").exists()
