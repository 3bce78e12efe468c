"""What servers are given of the world: folders, environment, and ways to be heard, all bounded."""

import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from anyio.abc import TaskGroup
from msgspec import Struct

from wcore.supervisor.client import Held, Program
from wcore.tools.fs.paths import inside
from wcore.tools.mcp.server_config import ServerConfig, ServerConfigError
from wcore.tools.process.child_environment import child_environment
from wcore.visible import visible_line

STDERR_LINE_CHARS_MAX: Final = 500  # what one line of a log is read for
STDERR_CHARS_MAX: Final = 64 * 1024  # of one run; a server that prints for ever must not fill disks

log = logging.getLogger("wcore.mcp")


class McpEnvironment(Struct, frozen=True):
    """The world as servers see it. `environ` holds no provider key; `strip` takes secrets out.

    `start` starts a program. `tasks` must outlive the servers.
    """

    workspace: str
    home: str
    environ: Mapping[str, str]
    start: Callable[[Program], Awaitable[Held]]
    tasks: TaskGroup
    redact: Callable[[str], str]


class Stderr:
    """What a server prints for people: to the log, a line at a time, and its last line kept."""

    def __init__(self, server: str, redact: Callable[[str], str]) -> None:
        self._server = server
        self._redact = redact
        self._rest = b""
        self._room = STDERR_CHARS_MAX
        self.last = ""

    def take(self, data: bytes) -> None:
        """Take what was read; an unfinished line waits, as far as it would be shown."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-STDERR_LINE_CHARS_MAX:]
        for line in lines:
            self._tell(line)

    def finish(self) -> None:
        """Tell of the last line, though it has no end."""
        self._tell(self._rest)
        self._rest = b""

    def _tell(self, line: bytes) -> None:
        text = self._redact(line[: 4 * STDERR_LINE_CHARS_MAX].decode(errors="replace").strip())
        if not text:
            return
        self.last = visible_line(text, STDERR_LINE_CHARS_MAX)
        if self._room > 0:
            self._room -= len(self.last)
            log.info("server.printed %s: %s", self._server, self.last)
            if self._room <= 0:
                log.info("server.printed %s: more than is logged", self._server)


def find_program(config: ServerConfig, environ: Mapping[str, str]) -> str:
    """Return the absolute path of the program to start.

    Raises:
        ServerConfigError: there is none, or only one where it may not come from.
    """
    command = os.path.expanduser(config.command)
    if "/" in command:
        path = os.path.join(config.cwd, command)
        if not _runnable(path):
            raise ServerConfigError(f"{visible_line(path, 200)} is no program that can be run")
        return path
    folders = config.on_path
    for folder in child_environment(environ)["PATH"].split(":") if folders is None else folders:
        path = os.path.join(folder, command)
        if _runnable(path):
            return path
    raise ServerConfigError(
        f"the program {visible_line(command, 200)!r} was not found; write its full path"
    )


def path_outside(environ: Mapping[str, str], workspace: str) -> tuple[str, ...]:
    """Return the folders of PATH that no project brings along."""
    folders = child_environment(environ)["PATH"].split(":")
    return tuple(f for f in folders if not inside(workspace, os.path.realpath(f)))


def _runnable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
