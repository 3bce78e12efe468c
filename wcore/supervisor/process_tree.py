"""Finding and killing processes below this one, also those that try to outrun it."""

import os
import signal
import sys
from contextlib import suppress

QUICK_PASSES = 2  # what does not fork meanwhile is dead after one
FREEZE_PASSES_MAX = 64  # each stops what is left of a fork bomb; it has one core less each time
PS_BYTES = 64 * 1024  # a pipe's default capacity

_BY_KERNEL = sys.platform == "linux" and os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def children_of(pid: int) -> "list[int]":
    """Return the children of `pid`, dead ones that nobody has waited for included."""
    if _BY_KERNEL:
        return _listed(pid)
    return [child for child, parent in _parents().items() if parent == pid]


def with_all_below(pids: "list[int]") -> "list[int]":
    """Return `pids` and all their descendants, parents first."""
    found = dict.fromkeys(pids)
    left = list(pids)
    parents = None if _BY_KERNEL else _parents()
    while left:
        parent = left.pop()
        if parents is None:
            below = _listed(parent)
        else:
            below = [child for child, of in parents.items() if of == parent]
        fresh = [pid for pid in below if pid not in found]
        found.update(dict.fromkeys(fresh))
        left += fresh
    return list(found)


def signal_all(pids: "list[int]", number: int) -> None:
    """Signal all of them, as far as they are there and we may."""
    for pid in pids:
        with suppress(OSError):  # it is dead, or runs as another user
            os.kill(pid, number)


def kill_all(roots: "list[int]", passes: int) -> None:
    """Kill `roots` and everything below. `passes`: how often that was tried before.

    `roots` are children of ours. Their process groups go first, each at once: what forks faster
    than we can look gets no time to, as the kernel lets no fork escape the signal of a group.
    Where that is not enough, everything is stopped first, a little more with each look.
    """
    _kill_groups(roots)
    found = with_all_below(roots)
    if passes >= QUICK_PASSES:
        stopped: set[int] = set()
        for _ in range(FREEZE_PASSES_MAX):
            fresh = [pid for pid in found if pid not in stopped]
            if not fresh:
                break
            signal_all(fresh, signal.SIGSTOP)
            stopped.update(fresh)
            found = with_all_below(roots)
    signal_all(found, signal.SIGKILL)


def _kill_groups(pids: "list[int]") -> None:
    """Kill the process groups of children of ours, which nobody else can have reaped.

    A group lies within one session, and a session within what we hold.
    """
    groups: set[int] = set()
    for pid in pids:
        with suppress(OSError):  # on macOS a zombie has none
            groups.add(os.getpgid(pid))
    for group in groups - {os.getpgrp()}:
        with suppress(OSError):
            os.killpg(group, signal.SIGKILL)


def _listed(pid: int) -> "list[int]":
    """Ask the kernel for the children of all threads of `pid`; nothing if it is gone."""
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        # A thread may have ended; its children belong to another one by now.
        with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb", 0) as listing:
            found += map(int, listing.read().split())
    return found


def _parents() -> "dict[int, int]":
    """Return the parent of every process, where the kernel lists no children."""
    if sys.platform == "linux":
        found: dict[int, int] = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                # One may have ended while we looked.
                with suppress(OSError, IndexError), open(f"/proc/{name}/stat", "rb", 0) as file:
                    found[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
        return found
    return _parents_by_ps()


def _parents_by_ps() -> "dict[int, int]":
    reading, writing = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, writing, 1)]
    try:
        argv = ["/bin/ps", "-A", "-o", "pid=,ppid="]
        pid = os.posix_spawn(argv[0], argv, {}, file_actions=actions)
    except OSError:
        os.close(reading)
        return {}
    finally:
        os.close(writing)
    output = b""
    while data := os.read(reading, PS_BYTES):
        output += data
    os.close(reading)
    os.waitpid(pid, 0)
    numbers = list(map(int, output.split()))
    return dict(zip(numbers[::2], numbers[1::2], strict=True))
