"""Switches of the kernel that Python has no names for. Where there are none, nothing happens."""

import os
import struct
import sys

ADOPTS = sys.platform == "linux"  # whether there is a way to become the parent of orphans
NAME = b"wcore-supervise"  # the kernel keeps 15 bytes; "inside a tool call" is found by this name
_SET_PDEATHSIG = 1  # linux/prctl.h
_SET_DUMPABLE = 4
_SET_NAME = 15
_SET_CHILD_SUBREAPER = 36
_ARGUMENTS = 45  # field 48 of /proc/PID/stat, counted from behind the name: start, end
_ENVIRONMENT = 47  # field 50
_NEW_MOUNTS = 0x20000  # linux/sched.h
_SLAVE_ALL = 0x84000  # linux/mount.h, and for the new calls, which have no names in C libraries yet
_OPEN_TREE, _MOVE, _SETATTR = 428, 429, 442
_CLONE, _FROM_EMPTY = 1, 4
_READ_ONLY, _NOSUID, _NODEV = 1, 2, 4
_HERE, _NOFOLLOW, _EMPTY_PATH, _CLOEXEC = -100, 0x100, 0x1000, 0x80000  # linux/fcntl.h


def conceal() -> None:
    """Keep programs of this user from reading our memory, and everybody from our first environment.

    Children keep what this does until they start another program.
    """
    _prctl(_SET_DUMPABLE, 0)
    _prctl(_SET_NAME, NAME)
    os.environ.clear()
    if sys.platform == "linux":
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        _overwrite(int(fields[_ENVIRONMENT]), int(fields[_ENVIRONMENT + 1]), b"")
        _overwrite(int(fields[_ARGUMENTS]), int(fields[_ARGUMENTS + 1]), NAME)


def adopt_orphans() -> None:
    """Become the parent of all below us that lose their own. Children do not inherit this."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def tell_of_parents_death(number: int) -> None:
    """Get signal `number` when the thread that forked us ends. Children do not inherit this."""
    _prctl(_SET_PDEATHSIG, number)


def join(namespace: int) -> None:
    """Go into a namespace, given by a descriptor; raises `OSError` where we may not."""
    _called("setns", namespace, 0, about="a namespace")


def mount_links(links: "list[tuple[str, str]]") -> None:
    """Put symbolic links into the place of files, for us and our children; raises `OSError`.

    They are read-only and without devices, as bubblewrap will want them: it cannot change that,
    as it goes by names and would follow them.
    """
    if not links:
        return
    _called("unshare", _NEW_MOUNTS, about="a namespace")
    _called("mount", None, b"/", None, _SLAVE_ALL, None, about="/")
    for link, place in links:
        numbers = _OPEN_TREE, _HERE, os.fsencode(link), _CLONE | _CLOEXEC | _NOFOLLOW
        mount = _called("syscall", *numbers, about=link)
        flags = struct.pack("4Q", _READ_ONLY | _NOSUID | _NODEV, 0, 0, 0)
        _called("syscall", _SETATTR, mount, b"", _EMPTY_PATH, flags, len(flags), about=link)
        _called("syscall", _MOVE, mount, b"", _HERE, os.fsencode(place), _FROM_EMPTY, about=place)
        os.close(mount)


def inotify() -> int:
    """Return a new descriptor that tells of events in folders; raises `OSError`."""
    return _called("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC, about="inotify")


def watch(descriptor: int, folder: str, events: int) -> int:
    """Have `inotify` tell of events in a folder; return its number there. Raises `OSError`."""
    return _called("inotify_add_watch", descriptor, os.fsencode(folder), events, about=folder)


def _called(name: str, *args: "int | bytes | None", about: str) -> int:
    import ctypes  # noqa: PLC0415 - `os` has none of them in Python 3.11

    longs = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    result: int = getattr(ctypes.CDLL(None, use_errno=True), name)(*longs)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), about)
    return result


def _prctl(option: int, value: "int | bytes") -> None:
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - there is no other way to it; 2 ms and 0.3 MB

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _overwrite(start: int, end: int, text: bytes) -> None:
    import ctypes  # noqa: PLC0415

    if 0 < start < end:
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, text, min(len(text), end - start))
