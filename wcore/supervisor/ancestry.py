"""Whether this process was started by a tool call: told by its ancestors, not by a variable.

A variable can be unset by whoever it is meant to stop. What a supervisor starts stays below it,
because it is the reaper of its orphans. What cron, `at` or systemd start on a tool's behalf is no
descendant, and a PID namespace of its own hides its ancestors: this cannot see either.

Whoever keeps what outlives a session (`store.tiers.count_change`, `store.sessions.purge`, the
record of trust) asks here and refuses: an engine in a call has a program for its host, no person.
"""

import os
import sys
from typing import Final

INSIDE_CALL: Final = (
    "refused inside a tool call: what wcore allows and keeps is for a person to change"
)
SUPERVISOR: Final = "wcore-supervise"  # what a supervisor calls itself: 15 bytes, as many as fit
ANCESTORS_MAX: Final = 4096  # a walk that takes longer is no walk up a tree
WALKS_MAX: Final = 3  # an ancestor may end while we look; its child then has another parent


def is_inside_call() -> bool:
    """Whether an ancestor of this process is a supervisor.

    On Linux also where nothing can be known, since `/proc` was taken away; on other systems, which
    have none, never.
    """
    if sys.platform != "linux":
        return False
    if not os.path.exists("/proc/self/stat"):
        return True
    return any(_walk() for _ in range(WALKS_MAX))


def _walk() -> bool:
    pid = "self"
    for _ in range(ANCESTORS_MAX):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                stat = file.read()
        except OSError:
            return False  # ended meanwhile, or not ours to see
        before, _, after = stat.rpartition(b")")  # the name may hold brackets and spaces itself
        if before.partition(b"(")[2] == SUPERVISOR.encode():
            return True
        pid = after.split()[1].decode()
        if pid == "0":
            return False
    return False
