"""A person at a real pseudo terminal: sees what is printed, presses keys, waits with patience."""

import os
import re
import signal
import sys
import termios
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
import waiting
from anyio.abc import Process
from hosts.places import PYTHON, Place

CHAT: Final = (*PYTHON, "-m", "wcore_host.chat", "--plain")
SIZE: Final = (40, 100)  # rows, columns
ESCAPES: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
ENTER: Final = "\r"
ESC: Final = "\x1b"
CTRL_C: Final = "\x03"
CTRL_D: Final = "\x04"


class Terminal:
    """The person's side of one `wcore-chat`."""

    def __init__(self, process: Process, master: int) -> None:
        self.process = process
        self._master = master
        self.raw = ""  # every byte that reached the terminal
        self._seen = 0

    def press(self, keys: str) -> None:
        """Press keys, all at once."""
        os.write(self._master, keys.encode())

    async def enter(self, text: str) -> None:
        """Type a line and, once it is shown, press Enter: not in one read, as a paste would be."""
        self.press(text)
        with waiting.patience(repr(text), seen=lambda: self.unseen):
            while not self.unseen.endswith(text):
                await self._read()
        self.press(ENTER)

    async def see(self, text: str) -> None:
        """Wait until `text` appears after what has been seen so far."""
        with waiting.patience(repr(text), seen=lambda: self.unseen):
            while (at := self.unseen.find(text)) < 0:
                await self._read()
        self._seen += at + len(text)

    async def end(self) -> int:
        """Wait for the chat to end and return its exit code."""
        with waiting.patience("the end of the chat", seen=lambda: self.unseen):
            return await self.process.wait()

    @property
    def text(self) -> str:
        """Everything so far without cursor movements and colours."""
        return ESCAPES.sub("", self.raw).replace("\r", "")

    @property
    def unseen(self) -> str:
        return self.text[self._seen :]

    @property
    def mode(self) -> list[object]:
        """The terminal's settings."""
        return termios.tcgetattr(self._master)

    async def _read(self) -> None:
        await anyio.wait_readable(self._master)
        data = os.read(self._master, 65536)
        self.raw += data.decode(errors="replace")


@asynccontextmanager
async def chatting(place: Place, *flags: str) -> AsyncGenerator[Terminal]:
    """Start `wcore-chat` in a terminal of its own."""
    master, slave = os.openpty()
    termios.tcsetwinsize(slave, SIZE)
    process = await anyio.open_process(
        [*CHAT, *flags],
        cwd=place.workspace,
        env=place.env,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    try:
        yield Terminal(process, master)
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
        with anyio.CancelScope(shield=True):
            await process.wait()
        os.close(master)
        os.close(slave)


def engine_flag(command: list[str]) -> str:
    """Return the flag that makes the chat drive another engine."""
    return "--engine=" + " ".join(command)


def only_child(pid: int) -> int:
    """Return the only child of a process: the engine of a chat, the chat of a shell."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    assert sys.platform == "linux"
    return int(children[0])
