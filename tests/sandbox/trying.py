"""Tries to get out of sandboxes, sound ones and such with a planted hole; also as another user.

A hole is another bubblewrap: a program that changes what it is told and starts the real one. As a
program, `trying.py BWRAP HOLE…` prints what got out of each, as JSON: for tests as another user.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Final

import anyio

from wcore.cli.sandbox import workspace_of
from wcore.policy.protected import Places
from wcore.sandbox import escapes, sandbox
from wcore.sandbox.escapes import ESCAPES, LEFTOVERS, Planted
from wcore.sandbox.network import opened
from wcore.sandbox.workspace import Workspace
from wcore.supervisor import process
from wcore.supervisor.client import Supervisor

SHELL: Final = "/bin/bash"
ALL: Final = {*ESCAPES, *LEFTOVERS}
SIMPLEST: Final = ("--unshare-all", "--ro-bind", "/", "/", "true")
NONE: Final = "none"  # the hole of a sound one
THIS_MACHINE: Final = "127.0.0.0/8:*"  # what the hole "hosts" agrees to

#: What nothing that bubblewrap is told lets out: it sees to it by itself.
ALWAYS_HELD: Final = {"gain rights by a program", "reach the machine by /proc"}

WRAPPER: Final = """#!{python} -I
import os, sys
told = [os.fsdecode(word) for word in open(3, "rb", closefd=False).read().split(b"\\0")[:-1]]
argv = sys.argv[1:]
home = os.path.dirname(told[told.index("--chdir") + 1])
workspace = home + "/ws"

def drop(*pattern):
    # '' fits any word, 'x/' what lies below x
    at = 0
    while at <= len(told) - len(pattern):
        words = told[at : at + len(pattern)]
        if all(p in ("", w) or (p[-1:] == "/" and w.startswith(p)) for p, w in zip(pattern, words)):
            del told[at : at + len(pattern)]
        else:
            at += 1

def no_filter():
    at = argv.index("--seccomp")
    del argv[at : at + 2]

def turn(old, new):
    told[:] = [new if word == old else word for word in told]

{change}
held = os.memfd_create("told")
os.write(held, b"".join(os.fsencode(word) + b"\\0" for word in told))
os.lseek(held, 0, 0)
os.dup2(held, 3)
os.execv({bwrap!r}, [{bwrap!r}, *argv])
"""

_FILES: Final = 'drop("--ro-bind", "/dev/null", "")'
_FOLDERS: Final = 'drop("--perms", "0000", "--tmpfs", "", "--remount-ro", "")'
_RIGHTS: Final = """
drop("--cap-drop", "ALL")
drop("--ro-bind", "/proc/sys", "/proc/sys")
turn("--bind", "--dev-bind")
no_filter()
"""

#: What is changed, what gets out then, and what more as root.
HOLES: Final[dict[str, tuple[str, set[str], set[str]]]] = {
    "hidden files": (
        _FILES,
        {
            *("read a hidden file", "read it by another link", "read it by a hard link"),
            *("move it away", "replace it", "read what the rules deny"),
            "connect to a socket with a path",
        },
        {"read what the system hides"},
    ),
    "hidden folders": (_FOLDERS, {"read a key of the home", "read wcore's own files"}, set()),
    "what is kept": (
        'drop("--ro-bind", workspace + "/", "")',
        {
            *("write the project's rules", "write the hooks of git"),
            *("write the configuration of git", "write what an editor runs"),
        },
        set(),
    ),
    "folders above": (
        'drop("--bind", workspace + "/", "")',
        {"move its folder away", "replace the repository"},
        set(),
    ),
    "read-only": (
        'turn("--ro-bind", "--bind")',
        {
            *("write beside the workspace", "write beside it through a link"),
            "write in the home",
        },
        {"write where programs are", "write in /etc"},
    ),
    "wcore's own": (
        _FOLDERS + '\nturn("--ro-bind", "--bind")',
        {"write wcore's own files"},
        set(),
    ),
    "network": (
        'drop("--unshare-net")',
        {"connect to one without a path", "connect to this machine", "send something to another"},
        set(),
    ),
    "hosts": ("", {"connect to it by the proxy"}, set()),
    "processes": (
        'drop("--unshare-pid")',
        {"see programs outside"},
        set(),
    ),
    "filter": (
        "no_filter()",
        {
            *("enter a namespace", "open files by handle", "type into a terminal"),
            "reach the host of a virtual machine",
            *("mount by newer system calls", "use keys, filters and counters of the kernel"),
        },
        {"make one by clone"},
    ),
    "rights": (
        _RIGHTS,
        set(),
        {
            *("undo a mask", "undo it by the system call", "mount anew", "make a namespace"),
            *("have rights over the machine", "set what the kernel starts", "make a device"),
        },
    ),
    "rights and processes": (
        _RIGHTS + 'drop("--unshare-pid")',
        set(),
        {"reach the root of another"},
    ),
    "environment": (
        'told.extend(["--setenv", "PLANTED_TOKEN", "x"])',
        {"see secrets in the environment"},
        set(),
    ),
    "descriptors": (
        'os.dup2(os.open("/", os.O_RDONLY), 9)',
        {"use descriptors that were left open"},
        set(),
    ),
}


def wanted(hole: str) -> set[str]:
    """Return what gets out of a sandbox with this hole."""
    _, always, as_root = HOLES[hole]
    return always | (as_root if os.geteuid() == 0 else set())


def wrapper(folder: Path, bwrap: str, hole: str) -> str:
    """Write the bubblewrap that has a hole."""
    path = folder / "bwrap"
    change = HOLES[hole][0]
    path.write_text(WRAPPER.format(python=sys.executable, change=change, bwrap=bwrap))
    path.chmod(0o755)
    return str(path)


def scratch(planted: Planted) -> Workspace:
    places = Places(planted.workspace, planted.home, (planted.own,))
    return workspace_of(places, escapes.is_denied, planted.environ, SHELL)


def bubblewraps() -> list[str]:
    """Return those of this machine that can make any sandbox."""
    found = sandbox.candidates({"PATH": os.defpath}, "/nowhere")
    return [bwrap for bwrap in found if not subprocess.call([bwrap, *SIMPLEST])]


async def not_held(
    supervisor: Supervisor, bwrap: str, names: Collection[str], hole: str = NONE, real: str = ""
) -> dict[str, str]:
    """Return what got out, of `names`, and what it said; `real` is a bubblewrap without a hole."""
    network = await opened(supervisor.start, real or bwrap)
    await network.agree([THIS_MACHINE] if hole == "hosts" else [])
    joins = () if hole == "network" else network.namespaces
    found = await escapes.check(supervisor.start, bwrap, SHELL, scratch, joins, names)
    network.close()
    assert {each.name for each in found} == set(names)
    return {each.name: each.said for each in found if not each.held}


async def _told(supervisor: Supervisor, bwrap: str, holes: list[str]) -> dict[str, dict[str, str]]:
    told: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for hole in holes:
            if hole == NONE:
                told[hole] = await not_held(supervisor, bwrap, ALL)
            else:
                other = wrapper(Path(folder), bwrap, hole)
                told[hole] = await not_held(supervisor, other, wanted(hole), hole, bwrap)
    return told


def main() -> None:
    supervisor = Supervisor(*process.fork(lambda _: None))
    try:
        json.dump(anyio.run(_told, supervisor, sys.argv[1], sys.argv[2:]), sys.stdout)
    finally:
        supervisor.close()


if __name__ == "__main__":
    main()
