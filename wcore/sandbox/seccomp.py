"""The filter of system calls within a sandbox: a program of the kernel's classic BPF. Pure.

It forbids what could undo the mounts (mounting, new namespaces), what reaches around them (keys of
the session, asynchronous system calls that no filter sees, sockets that belong to no namespace) and
large parts of the kernel that programs of a project do not need. Tracing stays: debuggers and
sanitizers need it, and the PID namespace bounds it. Layout and numbers are from linux/seccomp.h,
linux/audit.h, asm/unistd.h.
"""

import struct
from collections.abc import Sequence
from itertools import chain
from typing import Final

from msgspec import Struct

_EPERM: Final = 1
_ENOSYS: Final = 38
_EAFNOSUPPORT: Final = 97
_NEW_NAMESPACES: Final = 0x7E02_0000  # CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}
_NEW_TIME: Final = 0x80  # CLONE_NEWTIME; in `clone` these bits are a signal
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C  # types into a terminal
_INIT: Final = 1  # of the PID namespace: while it is traced nobody sees that the program has ended
_FAMILIES: Final = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK; not AF_VSOCK, AF_ALG, …

_LOAD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_EQUAL: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_AT_LEAST: Final = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_ANY_BIT: Final = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN: Final = 0x06  # BPF_RET | BPF_K
_ALLOW: Final = 0x7FFF_0000
_KILL: Final = 0x8000_0000  # the process
_ERROR: Final = 0x0005_0000
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24  # offsets; the low halves of arguments
_X32: Final = 0x4000_0000  # the other numbers that x86_64 has for the same calls

#: Newer calls have one number on all machines: io_uring, open_tree to fspick, mount_setattr, and
#: open_tree_attr.
_COMMON: Final = (*range(425, 434), 442, 467)
_CLONE3: Final = 435  # its flags lie in memory, where no filter can read them


class _Machine(Struct, frozen=True):
    """Numbers of one architecture."""

    architecture: int  # AUDIT_ARCH_*
    denied: tuple[int, ...]
    clone: int
    unshare: int
    ioctl: int
    socket: int
    ptrace: int


_MACHINES: Final = {
    "x86_64": _Machine(
        0xC000_003E,
        (
            *(248, 249, 250),  # add_key, request_key, keyctl
            *(321, 298, 323),  # bpf, perf_event_open, userfaultfd
            *(165, 166, 155, 161),  # mount, umount2, pivot_root, chroot
            *(308, 303, 304),  # setns, name_to_handle_at, open_by_handle_at
            *(246, 320, 175, 313, 176),  # kexec, modules
            *(169, 167, 168, 163, 153),  # reboot, swapon, swapoff, acct, vhangup
        ),
        clone=56,
        unshare=272,
        ioctl=16,
        socket=41,
        ptrace=101,
    ),
    "aarch64": _Machine(
        0xC000_00B7,
        (
            *(217, 218, 219),
            *(280, 241, 282),
            *(40, 39, 41, 51),
            *(268, 264, 265),
            *(104, 294, 105, 273, 106),
            *(142, 224, 225, 89, 58),
        ),
        clone=220,
        unshare=97,
        ioctl=29,
        socket=198,
        ptrace=117,
    ),
}


def program(machine: str) -> bytes | None:
    """Return the filter for a machine as `os.uname` names it; `None`: there is none for it."""
    known = _MACHINES.get(machine)
    if known is None:
        return None
    denied = [_if(_EQUAL, number, _ERROR | _EPERM) for number in (*known.denied, *_COMMON)]
    typing = [_if(_EQUAL, value, _ERROR | _EPERM) for value in (_TIOCSTI, _TIOCLINUX)]
    steps = [
        _step(_LOAD, _ARCHITECTURE),
        *_unless(_EQUAL, known.architecture, _KILL),
        _step(_LOAD, _NUMBER),
        *_if(_AT_LEAST, _X32, _ERROR | _ENOSYS),
        *_if(_EQUAL, _CLONE3, _ERROR | _ENOSYS),
        *chain.from_iterable(denied),
        *_of(known.clone, _FIRST, _if(_ANY_BIT, _NEW_NAMESPACES, _ERROR | _EPERM)),
        *_of(known.unshare, _FIRST, _if(_ANY_BIT, _NEW_NAMESPACES | _NEW_TIME, _ERROR | _EPERM)),
        *_of(known.ioctl, _SECOND, [*chain.from_iterable(typing)]),
        *_of(known.ptrace, _SECOND, _if(_EQUAL, _INIT, _ERROR | _EPERM)),
        *_of(known.socket, _FIRST, _unless_one_of(_FAMILIES, _ERROR | _EAFNOSUPPORT)),
        _step(_RETURN, _ALLOW),
    ]
    return b"".join(steps)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _if(test: int, value: int, answer: int) -> list[bytes]:
    """Answer where the loaded value passes."""
    return [_step(test, value, 0, 1), _step(_RETURN, answer)]


def _unless(test: int, value: int, answer: int) -> list[bytes]:
    return [_step(test, value, 1, 0), _step(_RETURN, answer)]


def _unless_one_of(values: Sequence[int], answer: int) -> list[bytes]:
    tests = [_step(_EQUAL, each, len(values) - at, 0) for at, each in enumerate(values)]
    return [*tests, _step(_RETURN, answer)]


def _of(number: int, argument: int, tests: list[bytes]) -> list[bytes]:
    """Test an argument of one call; behind that the number is loaded again."""
    steps = [_step(_LOAD, argument), *tests, _step(_LOAD, _NUMBER)]
    return [_step(_EQUAL, number, 0, len(steps)), *steps]
