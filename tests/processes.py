"""Looking at other processes, any of which may end while it is looked at.

What has ended is nothing: it is not below, it has no words, it cannot be killed.

    (server,) = [each for each in below(engine.pid) if "server.py" in words(each)]
"""

from contextlib import suppress

import psutil


def below(pid: int, *, recursive: bool = True) -> list[psutil.Process]:
    """Return the children of a process, and theirs; zombies too."""
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).children(recursive=recursive)
    return []


def words(process: psutil.Process) -> list[str]:
    """Return the command line of a process: one that is dead or of the kernel has none."""
    with suppress(psutil.Error):
        return process.cmdline()
    return []


def name(process: psutil.Process) -> str:
    """Return what the kernel calls a process, and nothing for one that has ended."""
    with suppress(psutil.Error):
        return process.name()
    return ""


def kill(pid: int) -> None:
    """Kill a process and all below it, as far as they are there still."""
    children = below(pid)
    with suppress(psutil.NoSuchProcess):
        for each in (*children, psutil.Process(pid)):
            with suppress(psutil.NoSuchProcess):
                each.kill()
