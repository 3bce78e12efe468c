"""The line host: arguments changed on a card, confirmed, and what the engine does not take."""

import json
from collections.abc import Callable

import pytest
from hosts.places import Place
from hosts.terminals import ENTER, ESC, chatting, engine_flag
from hosts.test_chat_pipe import chat
from hosts.test_chat_terminal import begin
from talking import call
from wcore_host.events import Json, Tool, ToolRequest
from wcore_host.plain.call_dialog import CallDialog
from wcore_host.plain.dialog import Again, Done
from wcore_host.plain.style import Style

ECHO: list[object] = [{"echo": True}]
PLAIN = Style(width=80, rows=40, colour=False)


def asked(**args: Json) -> CallDialog:
    request = ToolRequest("m", "c1", Tool("Write", "edit", args), digest="d")
    return CallDialog(request, can_edit=True)


@pytest.mark.anyio
async def test_a_command_is_changed_on_its_line_and_runs_after_a_second_yes(place: Place) -> None:
    async with chatting(place) as terminal:
        await begin(terminal, "run echo one")
        await terminal.see("allow Bash?")
        await terminal.enter("e")
        await terminal.see("command: echo one")
        terminal.press(" $((6*7))" + ENTER)
        await terminal.see("-echo one")
        await terminal.see("+echo one $((6*7))")
        await terminal.see("y run it like this")
        await terminal.enter("y")
        await terminal.see("allowed once, as changed")
        await terminal.see("one 42")


@pytest.mark.anyio
async def test_esc_leaves_the_call_as_it_was(place: Place) -> None:
    async with chatting(place) as terminal:
        await begin(terminal, "run echo one")
        await terminal.see("allow Bash?")
        await terminal.enter("e")
        await terminal.see("command: echo one")
        terminal.press(" two" + ENTER)
        await terminal.see("y run it like this")
        terminal.press(ESC)
        await terminal.see("back to the card")
        await terminal.enter("y")
        await terminal.see("one")
        assert "one two\n" not in terminal.text.partition("back to the card")[2]


@pytest.mark.anyio
async def test_changes_that_the_engine_does_not_take_bring_the_card_back(place: Place) -> None:
    model = place.script([call("Write", file_path="a", content="x\n")], ECHO)
    async with chatting(place, "--model", model) as terminal:
        await begin(terminal)
        await terminal.see("allow Write?")
        await terminal.enter("e")
        await terminal.see("all arguments:")
        terminal.press("\x15" + json.dumps({"file_path": ".env", "content": "y"}) + ENTER)
        await terminal.see("+.env")
        await terminal.enter("y")
        await terminal.see("the changes were not taken")
        await terminal.see("allow Write?")
        await terminal.enter("y")
        await terminal.see("✓ Write")
    assert place.file("a").read_text() == "x\n"
    assert not place.file(".env").exists()


def test_lines_of_a_pipe_change_a_call_too(place: Place) -> None:
    said = chat(place, "run echo one\ne\necho $((6*7))\ny\n")
    assert said.returncode == 0, said.stderr
    assert "42" in said.stdout


@pytest.mark.anyio
async def test_an_engine_that_takes_no_changes_is_not_offered_any(
    place: Place, fake: Callable[[str], list[str]]
) -> None:
    async with chatting(place, engine_flag(fake("baseline"))) as terminal:
        await terminal.see("default> ")
        terminal.press("go" + ENTER)
        await terminal.see("allow Bash?")
        assert "e edit" not in terminal.text


def test_what_cannot_be_seen_is_edited_as_an_escape_and_comes_back_as_it_was() -> None:
    dialog = asked(command="rm \u202egnp.exe\x1b[2J")
    offered = dialog.answer("e", PLAIN)
    assert isinstance(offered, Again)
    assert offered.prefill == r'{"command": "rm \u202egnp.exe\u001b[2J"}'
    back = dialog.answer(offered.prefill, PLAIN)
    assert isinstance(back, Again)
    assert back.rows == ("it is as it was",)


def test_what_is_no_json_is_said_and_kept() -> None:
    dialog = asked(file_path="a", content="1\n2")
    assert isinstance(dialog.answer("e", PLAIN), Again)
    step = dialog.answer('{"file_path": ', PLAIN)
    assert isinstance(step, Again)
    assert step.rows[0].startswith("not understood: line 1, column 15")
    assert step.prefill == '{"file_path": '
    step = dialog.answer('{"file_path": "b", "content": "1\\n2"}', PLAIN)
    assert isinstance(step, Again)
    assert step.rows == ("file_path:", "-a", "+b")
    step = dialog.answer("y", PLAIN)
    assert isinstance(step, Done)
    assert step.command == {
        "type": "tool_approve",
        "call_id": "c1",
        "args": {"file_path": "b", "content": "1\n2"},
        "digest": "d",
    }


def test_what_is_too_long_for_a_line_is_not_offered_on_one() -> None:
    step = asked(content="x\n" * 5_000).answer("e", PLAIN)
    assert isinstance(step, Again)
    assert "too long" in step.rows[0]
