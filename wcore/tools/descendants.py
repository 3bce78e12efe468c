"""Which processes descend from this one: asked of the kernel where it tells, else of psutil.

Linux lists the children of every thread. That costs a few small reads, while psutil reads the
state of every process of the machine to find the same ones.
"""

import os
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psutil

LOOKS: Final = 2  # a list may miss a child while an earlier one is being reaped


def children() -> "list[psutil.Process]":
    """Return the children of this process, dead ones that nobody has waited for included."""
    import psutil  # noqa: PLC0415 - 25 ms, not before the first call

    if not _kernel_tells():
        return psutil.Process().children()
    return list(_processes(_children_of(os.getpid())))


def descendants() -> "list[psutil.Process]":
    """Return all processes that descend from this one, as far as they can be seen."""
    import psutil  # noqa: PLC0415

    if not _kernel_tells():
        return psutil.Process().children(recursive=True)
    found: dict[int, None] = {}
    own = os.getpid()
    parents = [own]
    while parents:
        parent = parents.pop()
        fresh = [pid for pid in _children_of(parent) if pid not in found]
        found.update(dict.fromkeys(fresh))
        parents += fresh
        if not parents and parent != own:
            parents.append(own)  # last: it got the children of whoever has died meanwhile
    return list(_processes(found))


@cache
def _kernel_tells() -> bool:
    return os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def _children_of(pid: int) -> dict[int, None]:
    """Return the children of all threads of `pid`.

    The first thread is read last: it inherits the children of a thread that ends meanwhile.
    """
    found: dict[int, None] = {}
    with suppress(OSError):  # it has ended; its children are ours by now
        for thread in sorted(os.listdir(f"/proc/{pid}/task"), key=str(pid).__eq__):
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as listing:
                for _ in range(LOOKS):
                    listing.seek(0)
                    found.update(dict.fromkeys(map(int, listing.read().split())))
    return found


def _processes(pids: dict[int, None]) -> "Iterator[psutil.Process]":
    import psutil  # noqa: PLC0415

    for pid in pids:
        with suppress(psutil.Error):
            yield psutil.Process(pid)
