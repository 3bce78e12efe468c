"""The line host after a crash: what is said, and how an interrupted turn goes on or ends."""

import os
import signal

import pytest
from hosts.places import Place
from hosts.terminals import CTRL_D, ENTER, chatting, only_child
from hosts.test_chat_terminal import READY, begin
from talking import call

pytestmark = [pytest.mark.anyio, pytest.mark.real]  # they look for the one child of the chat

ECHO: list[object] = [{"echo": True}]


async def left_at_a_card(place: Place, *flags: str) -> None:
    """Have the engine die while a card is on the screen."""
    async with chatting(place, "--session-id", "s1", *flags) as terminal:
        await begin(terminal)
        await terminal.see("allow Write?")
        os.kill(only_child(terminal.process.pid), signal.SIGKILL)
        await terminal.see("what was not answered did not run: wcore-chat --plain --resume s1")
        assert await terminal.end() == 1


@pytest.mark.parametrize("go_on", ["/continue", "go on"])
async def test_the_card_of_an_interrupted_turn_comes_back(place: Place, go_on: str) -> None:
    model = ("--model", place.script([call("Write", file_path="a", content="x\n")], ECHO))
    await left_at_a_card(place, *model)
    async with chatting(place, "--resume", "s1", *model) as terminal:
        await terminal.see("A turn was interrupted: of its calls 1 had not run, 0 may have.")
        await terminal.see(READY)
        terminal.press(go_on + ENTER)
        await terminal.see("allow Write?")
        await terminal.enter("y")
        await terminal.see("✓ Write")
        assert place.file("a").read_text() == "x\n"


async def test_an_interrupted_turn_is_given_up_and_then_there_is_none(place: Place) -> None:
    model = ("--model", place.script([call("Write", file_path="a", content="x\n")]))
    await left_at_a_card(place, *model)
    async with chatting(place, "--resume", "s1") as terminal:
        await terminal.see(READY)
        terminal.press("/cancel" + ENTER)
        await terminal.see("nothing more of it runs")
        terminal.press("/continue" + ENTER)
        await terminal.see("no turn was interrupted")
        terminal.press("hello" + ENTER)
        await terminal.see("I am `offline`")
        await terminal.see(READY)
        terminal.press(CTRL_D)
        assert await terminal.end() == 0


async def test_grants_are_listed_while_a_turn_runs(place: Place) -> None:
    async with chatting(place, "--force") as terminal:
        await terminal.see("force> ")
        terminal.press("run echo begun; sleep 600" + ENTER)
        await terminal.see("begun")
        terminal.press("/grants" + ENTER)
        await terminal.see("/revoke ID takes one back")
