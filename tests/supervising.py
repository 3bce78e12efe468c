"""A supervisor for tests that have no engine: a process of its own, as its parent has threads."""

import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import processes
import psutil
import waiting

import wcore
from wcore.supervisor import kernel
from wcore.supervisor.client import Supervisor

ROOT: Final = str(Path(wcore.__file__).parents[1])
#: What a command of the shell finds its supervisor by: the parent of its holder.
SUPERVISOR: Final = "$(cut -d' ' -f4 /proc/$PPID/stat)"
CODE: Final = """
import socket, sys
from wcore.cli import main
from wcore.supervisor import process
process.supervise(socket.socket(fileno=int(sys.argv[1])), main.read_shell_texts)
"""


class Supervised(Supervisor):
    """A supervisor of which the test knows the process."""

    process: "subprocess.Popen[bytes]"

    def programs(self) -> list[psutil.Process]:
        """Return what runs below it, zombies too; its own holders and workers are left out."""
        own = (kernel.NAME.decode(), "")  # or it has ended
        below = processes.below(self.process.pid)
        return [each for each in below if processes.name(each) not in own]


@contextmanager
def supervised(folder: Path | None = None, **environ: str) -> Generator[Supervised]:
    """Have a supervisor. Leaving ends it, and expects it to end."""
    ours, theirs = socket.socketpair()
    with theirs:
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", CODE, str(theirs.fileno())],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": ROOT, **environ},
            pass_fds=(theirs.fileno(),),
        )
    supervisor = Supervised(ours)
    supervisor.process = child
    try:
        yield supervisor
    finally:
        supervisor.close()
        waiting.finish(child)
