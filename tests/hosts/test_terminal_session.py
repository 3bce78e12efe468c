"""A session on the full screen: modes, ends, lists, several sessions, long conversations."""

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import pytest
from hosts.places import Place
from hosts.screens import READY, Screen, looking
from hosts.terminals import engine_flag
from talking import call
from textual.widgets import Input
from wcore_host import events
from wcore_host.headless.card_queue import QUIET_S
from wcore_host.terminal.transcript_view import TranscriptView

ECHO: list[object] = [{"echo": True}]


async def command(screen: Screen, line: str) -> None:
    await screen.send(line)


async def command_in(screen: Screen, number: int, line: str) -> None:
    pane = screen.app.panes[number]
    await screen.until(lambda: pane.talk.engine is not None, "its engine")
    await screen.send(line, pane)


async def test_it_starts_in_read_only_and_always_shows_the_mode(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with looking(place, monkeypatch, size=(30, 12)) as screen:
        await screen.see("mode read_only: reading")
        assert screen.text.splitlines()[-1].startswith(" read_only")


async def test_raising_the_mode_takes_a_second_yes_that_is_not_the_first_answer(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with looking(place, monkeypatch) as screen:
        await screen.see(READY)
        await command(screen, "/mode force")
        await screen.see("> No, leave it as it is")
        await screen.pilot.pause(0.5)
        await screen.press("enter")
        await screen.see("the mode stays read_only")
        await command(screen, "/mode force")
        await screen.see("> No, leave it as it is")
        await screen.press("down")
        await screen.see("> Yes, force")
        await screen.pilot.pause(0.5)
        await screen.press("enter")
        await screen.until(lambda: screen.text.splitlines()[-1].startswith(" force"), "mode force")
        await command(screen, "/mode default")
        await screen.until(lambda: screen.text.splitlines()[-1].startswith(" default"), "default")


async def test_markdown_thinking_and_calls_are_shown_folded(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.file("a.txt").write_text("hello\n")
    said: list[object] = [{"thinking": "hmm so"}, {"text": "# Plan\n\n**bold**"}]
    script = place.script([*said, call("Read", file_path="a.txt")], [{"text": "done"}])
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.see("done")
        assert re.search(r"▸ thought for \d+ s, 2 words", screen.text)
        assert "# Plan" in screen.text
        assert "**" not in screen.text
        assert "▸ ✓ Read a.txt" in screen.text
        assert "hello" not in screen.text
        screen.pane.query_one(TranscriptView).focus()
        await screen.press("up", "enter")
        await screen.see("hello")
        await screen.press("up", "enter")
        await screen.see("hmm so")


async def test_a_running_tool_shows_its_output_and_esc_stops_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with looking(place, monkeypatch, "--force") as screen:
        await screen.say("run echo building; sleep 600")
        await screen.see("│ building")
        await screen.see("1 s")
        await screen.press("escape")
        await screen.see("stopped by the user")
        await screen.until(lambda: not screen.pane.talk.turn, "the end of the turn")


async def test_a_turn_that_is_stopped_before_it_began_is_over_when_the_engine_says_so(
    place: Place, monkeypatch: pytest.MonkeyPatch, fake: Callable[[str], list[str]]
) -> None:
    async with looking(place, monkeypatch, engine_flag(fake("begins_late"))) as screen:
        await screen.say("go")
        await screen.until(lambda: bool(screen.pane.talk.turn), "the turn")
        for _ in range(2):
            assert screen.pane.talk.turn
            await screen.press("escape")
        await screen.until(lambda: not screen.pane.talk.turn, "the end of the turn")
        await screen.say("again")
        await screen.see("at your service")


async def test_a_killed_engine_is_said_plainly_and_resume_is_offered(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = place.script([call("Write", file_path="a", content="a")])
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.listens()
        engine = screen.pane.talk.engine
        assert engine is not None
        os.kill(engine.pid, signal.SIGKILL)
        await screen.see("the engine was ended by signal 9")
        await screen.see("1 card was not answered")
        await screen.see("/resume starts it again")
        assert "Yes, this once" not in screen.text


async def test_after_a_crash_resume_brings_the_card_back(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = place.script([call("Write", file_path="a", content="a")], [{"text": "well"}])
    flags = ("--session-id", "resumed", "--model", script)
    async with looking(place, monkeypatch, *flags) as screen:
        await screen.say("go")
        await screen.listens()
        engine = screen.pane.talk.engine
        assert engine is not None
        os.kill(engine.pid, signal.SIGKILL)
        await screen.see("the engine was ended by signal 9")
        await command(screen, "/resume")
        await screen.see("a turn was interrupted: 1 call had not run")
        await screen.press("enter")
        await screen.listens()
        await screen.press("enter")
        await screen.see("✓ Write")
        assert place.file("a").exists()


async def test_a_stored_session_is_shown_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.file("a.txt").write_text("hello\n")
    script = place.script([call("Read", file_path="a.txt")], [{"text": "**bold** words"}])
    async with looking(place, monkeypatch, "--session-id", "old", "--model", script) as screen:
        await screen.say("remember me")
        await screen.see("bold words")
    async with looking(place, monkeypatch) as screen:
        await screen.see(READY)
        await command(screen, "/sessions")
        await screen.see("  remember me  ")
        await screen.write("member")
        await screen.press("enter")
        await screen.until(lambda: len(screen.app.panes) == 2, "the session")
        await screen.see("> remember me")
        await screen.see("bold words")
        await screen.see("✓ Read a.txt  1 line")


async def test_a_session_that_is_closed_leaves_the_others_on_the_screen(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with looking(place, monkeypatch, "--session-id", "first") as screen:
        await screen.say("hello \u202efirst")
        await screen.see("I am offline")
        await command(screen, "/new")
        await screen.see(" 1 hello ⟨U+202E⟩first ")
        await command_in(screen, 1, "/close")
        await screen.see("> hello ⟨U+202E⟩first")
        await screen.unsee("Ctrl+PgDn")
        await screen.say("hello again")
        await screen.see("> hello again")


async def test_a_session_that_is_open_already_is_not_opened_twice(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with looking(place, monkeypatch, "--session-id", "first") as screen:
        await screen.say("hello")
        await screen.see("I am offline")
        await command(screen, "/new")
        await screen.until(lambda: len(screen.app.panes) == 2, "the second session")
        await command_in(screen, 1, "/resume first")
        await screen.see("> hello")
        assert len(screen.app.panes) == 2


async def test_an_engine_that_does_not_start_ends_the_program(
    place: Place, monkeypatch: pytest.MonkeyPatch, fake: Callable[[str], list[str]]
) -> None:
    async with looking(place, monkeypatch, engine_flag(fake("refuse_start"))) as screen:
        await screen.until(lambda: bool(screen.app.last_words), "its last words")
        assert "no key" in screen.app.last_words[0]
        assert screen.app.return_value == 1


async def test_the_footer_says_how_full_the_window_is(
    place: Place, monkeypatch: pytest.MonkeyPatch, fake: Callable[[str], list[str]]
) -> None:
    async with looking(place, monkeypatch, engine_flag(fake("filling"))) as screen:
        await screen.say("go")
        await screen.see(" · 90 in 10 out · context 37%")


async def test_a_suspended_call_is_a_card_too(
    place: Place, monkeypatch: pytest.MonkeyPatch, fake: Callable[[str], list[str]]
) -> None:
    async with looking(place, monkeypatch, engine_flag(fake("suspending"))) as screen:
        await screen.say("go")
        await screen.see("Which way?")
        await screen.listens()
        await screen.press("enter")
        await screen.see('"resume_token": "t1"')


async def test_the_lists_of_the_command_line_are_shown(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with looking(place, monkeypatch, "--force") as screen:
        await screen.say("run echo hi")
        await screen.see("✓ Bash")
        await command(screen, "/audit")
        await screen.see("the record is whole")
        await screen.see("approved")
        await screen.press("enter")
        await screen.see('"tool_name": "Bash"')
        await screen.press("escape", "escape")
        await command(screen, "/policy")
        await screen.see("main     Read               runs unasked")
        await screen.press("escape")
        await command(screen, "/policy rm -rf /")
        await screen.see("rm -rf /: deny")
        await command(screen, "/sessions")
        await screen.see("sessions")
        await screen.press("escape")


async def test_grants_are_revoked_while_a_turn_runs(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = place.script([call("Bash", command="true")], [call("Bash", command="sleep 600")], ECHO)
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.listens()
        while "> Yes, and every Bash call" not in screen.text:
            await screen.press("down")
        await screen.press("enter")
        await screen.see("kept <")
        await screen.listens_to_text()
        await screen.press("enter")
        await screen.see("… Bash")
        await command(screen, "/grants")
        await screen.see("what you have allowed for longer: 1")
        await screen.press("delete")
        await screen.see("what you have allowed for longer: 0")
        await screen.press("escape")
        await screen.see("taken back: Bash")


async def test_what_was_loosened_meanwhile_counts_when_it_is_accepted(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    accesses = [call("Bash", command="touch made")]
    script = place.script([], accesses, ECHO, accesses, ECHO)
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("one")
        await screen.see("> one")
        await screen.unsee("Esc stops")
        await command(screen, "/accept")
        await screen.see("nothing waits to be accepted")
        policy = Path(place.env["HOME"]) / ".config" / "wcore" / "policy.toml"
        policy.parent.mkdir(parents=True)
        policy.write_text('[[rule]]\nmatch = "Bash(touch *)"\ndo = "allow"\n')
        screen.pane.focus_prompt()
        await screen.write("two")
        await screen.press("enter")
        await screen.listens()
        await screen.press("escape")
        await screen.unsee("Esc stops")
        await screen.see("changed by others since this session began")
        await command(screen, "/accept")
        await screen.see("> No, leave it as it is")
        await screen.press("down")
        await screen.see("> Yes, let it count now")
        await screen.pilot.pause(0.5)
        await screen.press("enter")
        await screen.see("accepted: it counts from now on")
        assert not place.file("made").exists()
        screen.pane.focus_prompt()
        await screen.write("three")
        await screen.press("enter")
        await screen.until(lambda: place.file("made").exists(), "the file, unasked")


async def test_two_sessions_side_by_side_keep_their_cards_apart(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with looking(place, monkeypatch, size=(120, 30)) as screen:
        await screen.say("run echo one")
        await screen.see("echo one")
        await command(screen, "/new")
        await screen.until(lambda: len(screen.app.panes) == 2, "a second session")
        first, second = screen.app.panes
        await screen.until(lambda: second.talk.engine is not None, "its engine")
        await screen.until(lambda: not first.display, "the second one alone")
        await screen.see("?1")
        await screen.send("/side", second)
        await screen.until(lambda: first.display and second.display, "both")
        await screen.press("ctrl+pageup")
        await screen.until(lambda: first.has_focus_within, "the first one")
        await screen.resize(60, 30)
        await screen.until(lambda: not second.display, "one at a time again")


async def test_history_and_completion(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.file("notes.txt").write_text("x")
    async with looking(place, monkeypatch) as screen:
        await screen.see(READY)
        await screen.write("look @no")
        await screen.see("> notes.txt")
        await screen.press("tab")
        await screen.see("look @notes.txt")
        await screen.press("enter")
        await screen.until(lambda: not screen.pane.is_writing, "it is sent")
        await screen.until(lambda: not screen.pane.talk.turn, "the end of the turn")
        await screen.press("up")
        await screen.until(lambda: screen.pane.is_writing, "it is recalled")
        await screen.press("ctrl+u")
        await screen.until(lambda: not screen.pane.is_writing, "it is erased")
        await screen.press("ctrl+underscore")
        await screen.until(lambda: screen.pane.is_writing, "and is there again")
        await screen.press("ctrl+u")
        await screen.write("/gra")
        await screen.see("> /grants")


async def test_search_finds_folded_output_and_unfolds_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.file("a.txt").write_text("a needle\n")
    script = place.script([call("Read", file_path="a.txt")], [{"text": "done"}])
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("read it")
        await screen.see("done")
        assert "needle" not in screen.text
        await screen.press("ctrl+f")
        await screen.write("NEEDLE")
        await screen.press("enter")
        await screen.see("a needle")
        await screen.press("escape")
        await screen.until(lambda: not screen.pane.query_one("#search", Input).display, "closed")


async def test_a_card_can_be_seen_in_full(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    content = "\n".join(f"line {n}" for n in range(200)) + "\u202eend"
    script = place.script([call("Write", file_path="a", content=content)])
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.listens()
        await screen.press("ctrl+o")
        await screen.see("this card")
        await screen.press("end")
        await screen.see("⟨U+202E⟩end")
        await screen.press("escape")
        await screen.see("Yes, this once")


async def test_a_session_of_ten_thousand_calls_scrolls_and_resizes(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with looking(place, monkeypatch) as screen:
        await screen.see(READY)
        for number in range(10_000):
            call_id, tool = f"c{number}", events.Tool("Bash", "exec", {}, f"echo {number}")
            screen.pane.talk.take(events.CallAnnounced("m", call_id, tool), monotonic())
            done = events.ToolResult("m", call_id, "Bash", "success", "x\n" * 50)
            screen.pane.talk.take(done, monotonic())
        screen.pane.note("all of them")
        await screen.see("echo 9999")
        view = screen.pane.query_one(TranscriptView)
        assert view.row_count() >= 10_000
        view.focus()
        await screen.press("home")
        await screen.see("echo 0 ")
        await screen.resize(50, 20)
        await screen.see("echo 0 ")
        await screen.press("end")
        await screen.see("all of them")
        widgets = len(list(screen.app.query("*")))
        assert widgets < 50, "blocks are no widgets"


async def test_what_a_sub_agent_says_stands_behind_its_name_under_its_call(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawn = call("Spawn", "s1", task="look")
    says: list[object] = [{"text": "it says x"}, call("Bash", command="ls")]
    script = place.script([spawn], says, [{"text": "found"}], [{"text": "over"}])
    async with looking(place, monkeypatch, "--model", script) as screen:
        await screen.say("go")
        await screen.listens()
        await screen.press("enter")
        await screen.see("general: it says x")
        await screen.see("Bash, asked by general")


async def test_the_folder_is_trusted_after_a_second_yes(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place.workspace / ".wcore").mkdir()
    (place.workspace / ".wcore" / "policy.toml").write_text('deny = ["Bash(curl)"]\n')
    async with looking(place, monkeypatch) as screen:
        await screen.see(READY)
        await command(screen, "/trust")
        await screen.see("these files can only forbid")
        await screen.see("policy.toml")
        await screen.press("enter")
        await screen.see("Trust 1 files?")
        await screen.press("down")
        await screen.until(lambda: "> Yes, trust them" in screen.text, "the yes")
        await screen.pilot.pause(QUIET_S)
        await screen.press("enter")
        await screen.see("the files are trusted")
        await command(screen, "/trust")
        await screen.see("you trust these files")
