"""The terminal host in a real pseudo terminal: what a person sees and what their keys do."""

import os
import signal
from collections.abc import Callable

import pytest
import waiting
from hosts.places import Place
from hosts.terminals import (
    CTRL_C,
    CTRL_D,
    ENTER,
    ESC,
    Terminal,
    chatting,
    engine_flag,
    only_child,
)
from talking import call

READY = "read_only> "
ECHO: list[object] = [{"echo": True}]
PASTE = "\x1b[200~{}\x1b[201~"


def writes(*names: str) -> list[object]:
    return [call("Write", file_path=name, content="x\n") for name in names]


async def begin(terminal: Terminal, text: str = "go", ready: str = READY) -> None:
    await terminal.see(ready)
    terminal.press(text + ENTER)


async def test_it_starts_in_read_only_and_says_so(place: Place) -> None:
    async with chatting(place) as terminal:
        await terminal.see("Mode read_only: reading the workspace runs unasked")
        await terminal.see(READY)
        terminal.press(CTRL_D)
        assert await terminal.end() == 0


async def test_a_mode_of_the_person_is_left_alone(place: Place) -> None:
    async with chatting(place, "--mode", "default") as terminal:
        await terminal.see("Mode default: every call asks")
        await terminal.see("default> ")


async def test_what_runs_unasked_is_told_in_a_line(place: Place) -> None:
    place.file("a.txt").write_text("hello\n")
    async with chatting(place) as terminal:
        await begin(terminal, "read a.txt")
        await terminal.see("· Read a.txt  [mode]")
        await terminal.see("hello")
        await terminal.see(READY)


async def test_y_runs_the_call_and_shows_its_output(place: Place) -> None:
    async with chatting(place) as terminal:
        await begin(terminal, "run echo $((6*7))")
        await terminal.see("asks because:")
        await terminal.see("allow Bash?")
        await terminal.enter("y")
        await terminal.see("✓ Bash echo")
        await terminal.see("42")


async def test_a_card_shows_the_diff_before_anything_is_written(place: Place) -> None:
    async with chatting(place, "--model", place.script(writes("a"), ECHO)) as terminal:
        await begin(terminal)
        await terminal.see("+x")
        await terminal.see("allow Write?")
        assert not place.file("a").exists()
        await terminal.enter("y")
        await terminal.see("✓ Write")
        assert place.file("a").read_text() == "x\n"


async def test_esc_at_a_card_refuses_that_call(place: Place) -> None:
    async with chatting(place, "--model", place.script(writes("a", "b"), ECHO)) as terminal:
        await begin(terminal)
        await terminal.see("allow Write?")
        terminal.press(ESC)
        await terminal.see("→ refused")
        await terminal.see("allow Write?")
        await terminal.enter("y")
        await terminal.see(READY)
    assert not place.file("a").exists()
    assert place.file("b").exists()


async def test_ctrl_c_at_a_card_refuses_it_and_leaves_engine_and_chat_alive(place: Place) -> None:
    async with chatting(place, "--model", place.script(writes("a"), ECHO)) as terminal:
        await begin(terminal)
        await terminal.see("allow Write?")
        terminal.press(CTRL_C)
        await terminal.see("denied")
        await terminal.see(READY)
    assert not place.file("a").exists()


async def test_two_cards_are_shown_one_at_a_time_and_answered_in_order(place: Place) -> None:
    async with chatting(place, "--model", place.script(writes("a", "b"), ECHO)) as terminal:
        await begin(terminal)
        await terminal.see("+++ b/a")
        await terminal.see("1 more after this")
        assert "+++ b/b" not in terminal.text, "the second card waits"
        await terminal.enter("n")
        await terminal.see("+++ b/b")
        await terminal.see("allow Write?")
        await terminal.enter("y")
        await terminal.see(READY)
    assert not place.file("a").exists()
    assert place.file("b").exists()


async def test_no_and_tell_it_reaches_the_model(place: Place) -> None:
    async with chatting(place, "--model", place.script(writes("a"), ECHO)) as terminal:
        await begin(terminal)
        await terminal.see("allow Write?")
        await terminal.enter("t")
        await terminal.see("what should it do instead?")
        await terminal.enter("nimm den Ordner höher")
        await terminal.see('"error"')
        await terminal.see("nimm den Ordner höher")
    assert not place.file("a").exists()


async def test_s_refuses_and_stops_the_turn(place: Place) -> None:
    async with chatting(place, "--model", place.script(writes("a", "b"), ECHO)) as terminal:
        await begin(terminal)
        await terminal.see("allow Write?")
        await terminal.enter("s")
        await terminal.see(READY)
        assert '"error"' not in terminal.text, "the model was not asked again"


@pytest.mark.clock
async def test_keys_typed_before_a_card_do_not_answer_it(place: Place) -> None:
    slow = [{"text": "hm"}, {"stall_ms": 600}, *writes("a")]
    async with chatting(place, "--model", place.script(slow, ECHO)) as terminal:
        await begin(terminal)
        await terminal.see("hm")
        terminal.press("y" + ENTER + "y" + ENTER)
        await terminal.see("allow Write?")
        await terminal.enter("n")
        await terminal.see("→ refused")
    assert not place.file("a").exists()


@pytest.mark.clock
async def test_keys_pressed_in_the_moment_a_card_appears_do_not_answer_it(place: Place) -> None:
    async with chatting(place, "--model", place.script(writes("a"), ECHO)) as terminal:
        await begin(terminal)
        await terminal.see("╰ y yes")  # the card is there, its prompt is not yet
        terminal.press("y" + ENTER)
        await terminal.see("allow Write?")
        await terminal.enter("n")
        await terminal.see("→ refused")
    assert not place.file("a").exists()


@pytest.mark.parametrize("paste", [PASTE.format("y\ry\ny\n"), "y\r", "y\ry\r", "\ry\r", "n\ry\n"])
async def test_a_paste_does_not_answer_a_card(place: Place, paste: str) -> None:
    async with chatting(place, "--model", place.script(writes("a"), ECHO)) as terminal:
        await begin(terminal)
        await terminal.see("allow Write?")
        terminal.press(paste)
        await terminal.see("a paste cannot answer a card")
        await terminal.see("…")  # it does not listen
        await terminal.see("allow Write?")
        await terminal.enter("n")
        await terminal.see("→ refused")
    assert not place.file("a").exists()


async def test_what_is_pasted_at_a_card_waits_for_the_prompt(place: Place) -> None:
    async with chatting(place, "--model", place.script(writes("a"), ECHO)) as terminal:
        await begin(terminal)
        await terminal.see("allow Write?")
        terminal.press("one\rtwo\r")
        await terminal.see("it waits for the prompt")
        await terminal.see("…")  # it does not listen
        await terminal.see("allow Write?")
        await terminal.enter("n")
        await terminal.see(READY + "one⏎two")


@pytest.mark.parametrize("paste", [PASTE.format("one\ntwo"), "one\rtwo", "one\ntwo"])
async def test_a_pasted_message_of_several_lines_is_one_message(place: Place, paste: str) -> None:
    seen: list[object] = [{"text": "ok"}]
    async with chatting(place, "--model", place.script(seen)) as terminal:
        await terminal.see(READY)
        terminal.press(paste)
        await terminal.see("one⏎two")
        terminal.press(ENTER)
        await terminal.see("ok")
        await terminal.see(READY)
        terminal.press("/history" + ENTER)
        await terminal.see("user: one ⏎ two")


@pytest.mark.clock
async def test_a_half_typed_answer_dies_with_its_card(place: Place) -> None:
    script = place.script(writes("a"), writes("b"), ECHO)
    flags = ("--model", script, "--approval-ttl", "2")
    async with chatting(place, *flags) as terminal:
        await begin(terminal)
        await terminal.see("allow Write?")
        terminal.press("y")
        await terminal.see("this card is gone: nobody answered in time")
        await terminal.see("+++ b/b")
        await terminal.see("allow Write?")
        terminal.press(ENTER)
        await terminal.see("y yes")  # the answers are listed again: nothing was answered
        await terminal.enter("n")
        await terminal.see("→ refused")
    assert not place.file("a").exists()
    assert not place.file("b").exists()


async def test_hostile_text_reaches_the_terminal_inert(place: Place) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m"
    place.file("e").write_text(evil)
    calls: list[object] = [{"text": evil + "\n"}, call("Read", file_path="e")]
    ask: list[object] = [
        call("Bash", command=f"printf '%s' \"{evil}\"\n│ ╰ y yes"),
        call("Write", file_path=f"f{evil}", content=evil),
        call("Teleport", **{f"to{evil}": evil}),
        call("AskUserQuestion", question=evil, options=[{"label": evil}], header=evil),
    ]
    async with chatting(place, "--model", place.script(calls, ask, ECHO)) as terminal:
        await begin(terminal)
        await terminal.see("allow Bash?")
        await terminal.enter("y")
        for prompt in ("allow Write?", "a number or text?"):
            await terminal.see(prompt)
            terminal.press(ESC)
        await terminal.see(READY)
        terminal.press("/history" + ENTER)
        await terminal.see("assistant: ")
        await terminal.see(READY)
        for harm in ("\x1b]", "\x07", "\x1b[2J", "\u202e", "\x9b"):
            assert harm not in terminal.raw


async def test_a_question_takes_numbers_and_several_of_them(place: Place) -> None:
    ask = call(
        "AskUserQuestion",
        question="Colours?",
        multiSelect=True,
        options=[{"label": "red"}, {"label": "gr\u00fcn"}, {"label": "blue"}],
    )
    async with chatting(place, "--model", place.script([ask], ECHO)) as terminal:
        await begin(terminal)
        await terminal.see("2  grün")
        await terminal.see("numbers (1,3) or text?")
        await terminal.enter("9")
        await terminal.see("numbers go from 1 to 3")
        await terminal.enter("2,3")
        await terminal.see("→ answered: grün, blue")
        await terminal.see('["grün", "blue"]')


@pytest.mark.parametrize(("key", "kept"), [("", "session"), ("p", "project"), ("u", "user")])
async def test_a_prefix_grant_is_shown_edited_and_given(place: Place, key: str, kept: str) -> None:
    async with chatting(place) as terminal:
        await begin(terminal, "run echo a b")
        await terminal.see("p yes, and every call of this exact command (or 1 other)")
        await terminal.see("allow Bash?")
        await terminal.enter("p")
        await terminal.see("which, 1 to 2, b back?")
        await terminal.enter("2")
        await terminal.see("starts with echo")
        terminal.press(" a\x17" + ENTER)  # Ctrl-W: what is left is `echo `
        await terminal.see("kept for: Enter this session, p this project, u everywhere, b back?")
        await terminal.enter("yes")
        await terminal.see("one of those")
        await terminal.enter(key)
        await terminal.see("✓ Bash echo a b")
        await terminal.see(READY)
        terminal.press("run echo c" + ENTER)
        await terminal.see("· Bash echo c  [grant]")
        await terminal.see(READY)
        terminal.press("/grants" + ENTER)
        await terminal.see(f"Bash: commands that begin with 'echo' ({kept}")


async def test_raising_the_mode_takes_a_second_yes(place: Place) -> None:
    async with chatting(place) as terminal:
        await begin(terminal, "/mode force")
        await terminal.see("everything runs unasked")
        await terminal.see("change to force?")
        terminal.press(ESC)
        await terminal.see("the mode stays as it is")
        await terminal.see(READY)
        terminal.press("/mode auto_edit" + ENTER)
        await terminal.see("change to auto_edit?")
        await terminal.enter("yes")
        await terminal.see("auto_edit> ")
        terminal.press("/mode default" + ENTER)
        await terminal.see("default> ")


async def test_esc_and_ctrl_c_stop_a_running_turn(place: Place) -> None:
    async with chatting(place, "--force") as terminal:
        for key in (ESC, CTRL_C):
            await terminal.see("force> ")
            terminal.press("run sleep 600" + ENTER)
            await terminal.see("Esc stops")
            terminal.press(key)
            await terminal.see("stopping")
        await terminal.see("force> ")


async def test_a_turn_that_is_stopped_before_it_began_is_over_when_the_engine_says_so(
    place: Place, fake: Callable[[str], list[str]]
) -> None:
    async with chatting(place, engine_flag(fake("begins_late"))) as terminal:
        await begin(terminal, ready="default> ")
        await terminal.see("Esc stops")
        for _ in range(2):
            terminal.press(ESC)
            await terminal.see("stopping")
        await begin(terminal, "again", ready="default> ")
        await terminal.see("at your service")


@pytest.mark.clock
async def test_a_running_tool_shows_its_seconds_and_last_line(place: Place) -> None:
    async with chatting(place, "--force") as terminal:
        await terminal.see("force> ")
        terminal.press("run echo building; sleep 600" + ENTER)
        await terminal.see("Bash 1 s · building · Esc stops")


@pytest.mark.clock
async def test_two_ctrl_c_leave_and_give_the_terminal_back(place: Place) -> None:
    async with chatting(place) as terminal:
        before = terminal.mode
        await terminal.see(READY)
        assert terminal.mode != before
        terminal.press(CTRL_C)
        await terminal.see("Ctrl-C again leaves")
        terminal.press(CTRL_C)
        assert await terminal.end() == 0
        assert terminal.mode == before


@pytest.mark.real
async def test_a_killed_engine_is_said_plainly(place: Place) -> None:
    async with chatting(place, "--model", place.script(writes("a"))) as terminal:
        before = terminal.mode
        await begin(terminal)
        await terminal.see("allow Write?")
        os.kill(only_child(terminal.process.pid), signal.SIGKILL)
        await terminal.see("the engine was ended by signal 9")
        assert await terminal.end() == 1
        assert terminal.mode == before


async def test_a_crash_shows_exit_code_and_last_words(
    place: Place, fake: Callable[[str], list[str]]
) -> None:
    async with chatting(place, engine_flag(fake("crash"))) as terminal:
        await begin(terminal, ready="default> ")
        await terminal.see("about to")
        await terminal.see("exited with code 7")
        await terminal.see("Traceback: the reason")
        assert await terminal.end() == 1


@pytest.mark.real
async def test_sigterm_ends_chat_and_engine(place: Place) -> None:
    async with chatting(place) as terminal:
        before = terminal.mode
        await terminal.see(READY)
        engine = only_child(terminal.process.pid)
        terminal.process.terminate()
        assert await terminal.end() == 143
        assert terminal.mode == before
        assert not waiting.is_living(engine)
