"""A person in front of the full screen: sees its text, presses keys, waits with patience.

`Screen` drives the app in this process, against a real engine; `Tmux` the program in a terminal.
"""

import os
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Final
from uuid import uuid4

import pytest
import waiting
from hosts.places import PYTHON, Place
from textual.pilot import Pilot
from wcore_host.headless import chat_options
from wcore_host.terminal.app import ChatApp
from wcore_host.terminal.card_panel import Field
from wcore_host.terminal.lone_enter import ALONE_S
from wcore_host.terminal.pane import Pane
from wcore_host.terminal.prompt import Prompt

SIZE: Final = (100, 40)
READY: Final = "/help says more"
BUSY_S: Final = 60.0  # a quiet moment that no busy machine outlasts
SHORT_S: Final = 0.05  # and one that no test waits for
ANSWERS: Final = "↑↓ Enter"  # the hint of a card that listens

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Screen:
    """The app, its pilot, and what is on the screen."""

    def __init__(self, app: ChatApp, pilot: Pilot[int]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def text(self) -> str:
        """What is on the screen now, row by row."""
        rows = self.app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        return "\n".join(row.text.rstrip() for row in rows)

    @property
    def pane(self) -> Pane:
        return self.app.panes[0]

    async def see(self, text: str) -> None:
        """Wait until `text` is on the screen."""
        await self.until(lambda: text in self.text, f"{text!r} on the screen")

    async def unsee(self, text: str) -> None:
        """Wait until `text` is no longer on the screen."""
        await self.until(lambda: text not in self.text, f"{text!r} gone from the screen")

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something holds."""
        with waiting.patience(what, seen=lambda: self.text):
            while not holds():
                await self.pilot.pause(waiting.POLL_S)

    async def press(self, *keys: str) -> None:
        """Press keys, one after another."""
        await self.pilot.press(*keys)

    async def write(self, text: str) -> None:
        """Type a text."""
        await self.pilot.press(*("space" if char == " " else char for char in text))

    async def say(self, text: str) -> None:
        """Send a message."""
        await self.see(READY)
        await self.send(text)

    async def send(self, text: str, pane: Pane | None = None) -> None:
        """Write a message or a command and press Enter; it has left the prompt when this returns.

        What is seen until then may be what was typed, and what is written joins it.
        """
        pane = pane or self.pane
        written = pane.query_one(Prompt)
        pane.focus_prompt()
        pane.write(text)
        whole = written.text
        await self.pilot.press("enter")
        await self.until(lambda: written.text != whole, f"{text!r} sent")

    async def listens(self) -> None:
        """Wait until the card in front takes answers."""
        await self.see(ANSWERS)

    async def listens_to_text(self) -> None:
        """Wait until Enter in the field of a card counts."""
        await self.see("Enter: exactly this")
        field = self.pane.query_one(Field)
        await self.until(lambda: monotonic() - field.typed_at > ALONE_S, "an Enter by itself")

    def paste(self, text: str) -> None:
        """Paste as a terminal does that does not say so: as keys, all at once."""
        for char in text:
            self.app.simulate_key({"\r": "enter", " ": "space"}.get(char, char))

    async def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal."""
        await self.pilot.resize_terminal(columns, rows)


@asynccontextmanager
async def looking(
    place: Place, monkeypatch: pytest.MonkeyPatch, *flags: str, size: tuple[int, int] = SIZE
) -> AsyncGenerator[Screen]:
    """Run the app against a real engine in the workspace of `place`."""
    monkeypatch.chdir(place.workspace)
    for name in os.environ:
        if name.startswith("XDG_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", place.env["HOME"])
    app = ChatApp(chat_options.read(flags))
    async with app.run_test(size=size) as pilot:
        yield Screen(app, pilot)


class Tmux:
    """A terminal of its own with `wcore-chat` in it."""

    def __init__(self, socket: Path, command: str) -> None:
        self._socket = socket
        self.command = command  # that started the chat
        self.pids: list[int] = []  # its server leaves us

    def run(self, *words: str) -> str:
        """Run one tmux command and return what it prints."""
        return waiting.run(["tmux", "-S", self._socket, *words]).stdout

    @property
    def text(self) -> str:
        """What is on the screen now."""
        return self.run("capture-pane", "-p", "-t", "chat")

    @property
    def raw(self) -> str:
        """The same with colours."""
        return self.run("capture-pane", "-p", "-e", "-t", "chat")

    def press(self, *keys: str) -> None:
        """Press keys by their tmux names."""
        self.run("send-keys", "-t", "chat", *keys)

    def write(self, text: str) -> None:
        """Type a text as it is."""
        self.run("send-keys", "-l", "-t", "chat", text)

    async def see(self, text: str) -> None:
        """Wait until `text` is on the screen."""
        await waiting.until(
            lambda: text in self.text, repr(text), seen=lambda: self.text, pids=self.pids
        )


@asynccontextmanager
async def tmux(
    place: Place, *flags: str, size: tuple[int, int] = (100, 30), **env: str
) -> AsyncGenerator[Tmux]:
    """Start `wcore-chat` in a tmux of its own; a shell stays behind to say `status N`.

    tmux itself can tell so too, but on a busy machine it loses last words or the status.
    """
    program = [*PYTHON, "-m", "wcore_host.chat", *flags]
    named = [f"{name}={value}" for name, value in {**place.env, **env}.items()]
    where = ["-c", str(place.workspace), "-x", str(size[0]), "-y", str(size[1])]
    words = ["env", "-i", *named, *program]
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    terminal = Tmux(place.workspace.parent / f"tmux-{uuid4().hex[:8]}", quoted)
    quoted += "; echo status $?; read nothing"
    settings = place.workspace.parent / "tmux.conf"
    settings.write_text("set -g status off\n")
    terminal.run("-f", str(settings), "new-session", "-d", "-s", "chat", *where, quoted)
    terminal.pids = [int(terminal.run("display-message", "-p", "#{pid}"))]
    try:
        yield terminal
    finally:
        terminal.run("kill-server")
