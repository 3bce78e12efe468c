"""`wcore-chat` in a real terminal, from its first row to its exit code."""

import pytest
import waiting
from hosts.places import Place
from hosts.screens import READY, Tmux, needs_tmux, tmux
from hosts.terminals import only_child
from talking import call

pytestmark = needs_tmux
ECHO: list[object] = [{"echo": True}]


@pytest.mark.parametrize("size", [(80, 24), (40, 20), (200, 50)])
async def test_a_call_is_asked_answered_and_done(place: Place, size: tuple[int, int]) -> None:
    edit = call("Write", file_path="src/greet.py", content="def greet():\n    return 'hello'\n")
    script = place.script([{"text": "Let me **write** it."}, edit], [{"text": "Done."}])
    async with tmux(place, "--model", script, size=size) as terminal:
        await terminal.see("/help says more" if size[0] > 40 else "first.")
        terminal.write("go")
        terminal.press("Enter")
        await terminal.see("Ctrl+O: all")
        shown = terminal.text.splitlines()
        assert any(row.startswith("╭ Write") for row in shown)
        assert any("+def greet():" in row for row in shown)
        assert shown[size[1] - 1].startswith(" read_only"), "the mode is always there"
        assert all(len(row) <= size[0] for row in shown)
        assert not place.file("src").exists()
        terminal.press("Enter")
        await terminal.see("Done.")
        assert place.file("src/greet.py").exists()
        terminal.press("C-q")
        await terminal.see("wcore-chat --resume")
        await terminal.see("status 0")


async def test_without_colour_marks_and_signs_say_it(place: Place) -> None:
    ask = call("Bash", command="ls > out")
    script = place.script([ask], ECHO)
    async with tmux(place, "--model", script, NO_COLOR="1") as terminal:
        await terminal.see(READY)
        terminal.write("go")
        terminal.press("Enter")
        await terminal.see("Ctrl+O: all")
        assert "> Yes, this once" in terminal.text
        assert "\x1b[31m" not in terminal.raw
        assert "\x1b[38;2;253" not in terminal.raw
        terminal.press("Escape")
        await terminal.see("denied by the user")


async def test_hostile_text_reaches_the_terminal_inert(place: Place) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m[red]x[/red]"
    place.file("e").write_text(evil)
    script = place.script(
        [{"text": evil}, call("Read", file_path="e"), call("Bash", command=f"echo '{evil}'")], ECHO
    )
    async with tmux(place, "--model", script) as terminal:
        await terminal.see(READY)
        terminal.write("go")
        terminal.press("Enter")
        await terminal.see("Ctrl+O: all")
        assert "⟨U+001B⟩[2J⟨U+202E⟩⟨U+009B⟩31m[red]x[/red]" in terminal.text.replace("\n│ ", "")
        assert (
            terminal.run("display-message", "-p", "-t", "chat", "#{pane_title}").strip() != "owned"
        )
        terminal.press("Enter")
        await terminal.see("✓ Bash")


async def test_a_resize_keeps_everything(place: Place) -> None:
    script = place.script([{"text": "word " * 60}, call("Write", file_path="a", content="x")], ECHO)
    async with tmux(place, "--model", script) as terminal:
        await terminal.see(READY)
        terminal.write("go")
        terminal.press("Enter")
        await terminal.see("Ctrl+O: all")
        terminal.run("resize-window", "-t", "chat", "-x", "50", "-y", "18")
        await terminal.see("╭ Write · edit")
        terminal.run("resize-window", "-t", "chat", "-x", "120", "-y", "40")
        await terminal.see("word word")
        terminal.press("Enter")
        await terminal.see("✓ Write")


async def test_when_the_terminal_goes_away_so_do_chat_and_engine(place: Place) -> None:
    async with tmux(place, "--force") as terminal:
        await terminal.see("/help says more")
        terminal.write("run sleep 600")
        terminal.press("Enter")
        await terminal.see("… Bash")
        chat = only_child(int(terminal.run("display-message", "-p", "-t", "chat", "#{pane_pid}")))
        engine = only_child(chat)
        terminal.run("kill-session", "-t", "chat")
        await waiting.gone(chat)
        await waiting.gone(engine)


async def test_without_a_terminal_lines_are_used(place: Place) -> None:
    async with tmux(place, TERM="dumb") as terminal:
        await terminal.see("Mode read_only: reading")


async def begin_in_a_shell(terminal: Tmux, message: str) -> None:
    """Start the chat once more, from a shell that can stop it, and send a message."""
    terminal.run("respawn-pane", "-k", "-t", "chat", "PS1='shell>' bash --norc -i")
    await terminal.see("shell>")
    terminal.write(f"clear; {terminal.command}")
    terminal.press("Enter")
    await terminal.see("first.")  # of `everything else asks first`
    terminal.write(message)
    terminal.press("Enter")


async def go_to_the_shell(terminal: Tmux) -> None:
    terminal.press("C-z")
    await terminal.see("Stopped")
    terminal.write("clear; echo in the $((1+1))nd")
    terminal.press("Enter")
    await terminal.see("in the 2nd")


@pytest.mark.parametrize(
    ("flags", "listens", "early", "seen", "over"),
    [
        ((), "Ctrl+O: all", "", "+x", "denied by the user"),
        (("--plain",), "allow Write?", "y", "a paste cannot answer a card", "→ refused"),
    ],
)
async def test_ctrl_z_goes_to_the_shell_and_fg_comes_back_to_a_card_that_nothing_has_answered(
    place: Place, flags: tuple[str, ...], listens: str, early: str, seen: str, over: str
) -> None:
    script = place.script([call("Write", file_path="a", content="x\n")], ECHO)
    async with tmux(place, "--model", script, *flags) as terminal:
        await begin_in_a_shell(terminal, "go")
        await terminal.see(listens)
        await go_to_the_shell(terminal)
        terminal.press("f", "g", "Enter", *early, "Enter")
        await terminal.see(seen)

        def pressed() -> bool:
            """What is pressed in the first moment does not count: a person presses once more."""
            if listens in terminal.text and over not in terminal.text:
                terminal.press("Escape")
            return over in terminal.text

        await waiting.until(pressed, over, seen=lambda: terminal.text)
    assert not place.file("a").exists()


async def test_an_enter_that_was_meant_for_the_shell_keeps_no_yes(place: Place) -> None:
    async with tmux(place, "--plain") as terminal:
        await begin_in_a_shell(terminal, "run echo a b")
        for asked, typed in (("allow Bash?", "p"), ("b back?", "2"), ("starts with", "")):
            await terminal.see(asked)
            terminal.write(typed)
            await terminal.see(f"{asked} {typed}")
            terminal.press("Enter")
        await terminal.see("kept for:")
        await go_to_the_shell(terminal)
        terminal.press("f", "g", "Enter", "Enter")
        await terminal.see("kept for:")
        terminal.press("Escape")
        await terminal.see("back to the card")
        assert "→ allowed" not in terminal.text


async def test_where_no_shell_waits_ctrl_z_says_so_and_stops_nothing(place: Place) -> None:
    async with tmux(place) as terminal:
        await terminal.see(READY)
        terminal.press("C-z")
        await terminal.see("there is no shell to go back to")
