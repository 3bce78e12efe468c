"""The filter of system calls, run by an interpreter of its own kind of program."""

import errno
import struct
from typing import Final

import pytest

from wcore.sandbox import seccomp

X86: Final = 0xC000_003E
ARM: Final = 0xC000_00B7
I386: Final = 0x4000_0003
ALLOWED: Final = 0x7FFF_0000
KILLED: Final = 0x8000_0000
STEPS_MAX: Final = 4096  # as the kernel takes


def answer(machine: str, number: int, *arguments: int, architecture: int = 0) -> int:
    """Return what the filter answers to a system call."""
    code = seccomp.program(machine) or b""
    kind = architecture or {"x86_64": X86, "aarch64": ARM}[machine]
    six = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", number, kind, 0, *six)
    steps = list(struct.iter_unpack("=HBBI", code))
    assert 0 < len(steps) <= STEPS_MAX
    held, at = 0, 0
    while True:
        step, if_true, if_false, value = steps[at]
        match step:
            case 0x20:
                held = int.from_bytes(data[value : value + 4], "little")
            case 0x06:
                return value
            case 0x15 | 0x35 | 0x45:
                passes = {0x15: held == value, 0x35: held >= value, 0x45: held & value != 0}
                at += if_true if passes[step] else if_false
            case _:
                raise AssertionError(step)
        at += 1


def refused(number: int) -> int:
    return 0x0005_0000 | number


#: By name: the number on x86_64 and on aarch64, arguments, and the answer.
CALLS: Final[dict[str, tuple[tuple[int, int], tuple[int, ...], int]]] = {
    "read": ((0, 63), (), ALLOWED),
    "execve": ((59, 221), (), ALLOWED),
    "ptrace": ((101, 117), (), ALLOWED),  # debuggers
    "trace another": ((101, 117), (16, 7), ALLOWED),
    "trace what waits for its end": ((101, 117), (16, 1), refused(errno.EPERM)),
    "pidfd_send_signal": ((424, 424), (), ALLOWED),
    "pidfd_open": ((434, 434), (), ALLOWED),
    "openat2": ((437, 437), (), ALLOWED),
    "mount": ((165, 40), (), refused(errno.EPERM)),
    "umount2": ((166, 39), (), refused(errno.EPERM)),
    "pivot_root": ((155, 41), (), refused(errno.EPERM)),
    "chroot": ((161, 51), (), refused(errno.EPERM)),
    "setns": ((308, 268), (), refused(errno.EPERM)),
    "add_key": ((248, 217), (), refused(errno.EPERM)),
    "keyctl": ((250, 219), (), refused(errno.EPERM)),
    "bpf": ((321, 280), (), refused(errno.EPERM)),
    "perf_event_open": ((298, 241), (), refused(errno.EPERM)),
    "userfaultfd": ((323, 282), (), refused(errno.EPERM)),
    "open_by_handle_at": ((304, 265), (), refused(errno.EPERM)),
    "kexec_file_load": ((320, 294), (), refused(errno.EPERM)),
    "finit_module": ((313, 273), (), refused(errno.EPERM)),
    "reboot": ((169, 142), (), refused(errno.EPERM)),
    "io_uring_setup": ((425, 425), (), refused(errno.EPERM)),
    "open_tree": ((428, 428), (), refused(errno.EPERM)),
    "fspick": ((433, 433), (), refused(errno.EPERM)),
    "mount_setattr": ((442, 442), (), refused(errno.EPERM)),
    "open_tree_attr": ((467, 467), (), refused(errno.EPERM)),
    "clone3": ((435, 435), (), refused(errno.ENOSYS)),  # who gets that uses clone
    "fork": ((56, 220), (17,), ALLOWED),
    "a thread": ((56, 220), (0x003D_0F00,), ALLOWED),
    "a new user namespace": ((56, 220), (0x1000_0011,), refused(errno.EPERM)),
    "a new mount namespace": ((56, 220), (0x0002_0011,), refused(errno.EPERM)),
    "unshare files": ((272, 97), (0x400,), ALLOWED),
    "unshare the network": ((272, 97), (0x4000_0000,), refused(errno.EPERM)),
    "unshare the time": ((272, 97), (0x80,), refused(errno.EPERM)),
    "ioctl": ((16, 29), (0, 0x5401), ALLOWED),
    "type into a terminal": ((16, 29), (0, 0x5412), refused(errno.EPERM)),
    "type with more bits": ((16, 29), (0, 0xFFFF_FFFF_0000_5412), refused(errno.EPERM)),
    "paste into a console": ((16, 29), (0, 0x541C), refused(errno.EPERM)),
    "a socket with a path": ((41, 198), (1,), ALLOWED),
    "a socket of the internet": ((41, 198), (10, 1), ALLOWED),
    "a netlink socket": ((41, 198), (16,), ALLOWED),
    "a socket to the host of a virtual machine": ((41, 198), (40,), refused(errno.EAFNOSUPPORT)),
    "a socket of the kernel's ciphers": ((41, 198), (38,), refused(errno.EAFNOSUPPORT)),
    "a packet socket": ((41, 198), (17,), refused(errno.EAFNOSUPPORT)),
    "the other numbers of x86_64": ((0x4000_0000, 0x4000_0000), (), refused(errno.ENOSYS)),
}


@pytest.mark.parametrize("at", [0, 1], ids=["x86_64", "aarch64"])
def test_each_call_gets_its_answer(at: int) -> None:
    machine = ("x86_64", "aarch64")[at]
    wrong = {
        name: hex(found)
        for name, (numbers, arguments, wanted) in CALLS.items()
        if (found := answer(machine, numbers[at], *arguments)) != wanted
    }
    assert wrong == {}


def test_a_program_of_another_architecture_is_killed() -> None:
    assert answer("x86_64", 0, architecture=I386) == KILLED
    assert answer("aarch64", 0, architecture=X86) == KILLED


def test_for_other_machines_there_is_none() -> None:
    assert seccomp.program("riscv64") is None
