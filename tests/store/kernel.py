"""What the kernel says of an engine that holds a store: its locks, its descriptors."""

import os
from pathlib import Path


def locked_files(pid: int, store: Path) -> set[str]:
    """Return the names of the store's files on which a process holds a POSIX lock."""
    names = {path.stat().st_ino: path.name for path in store.parent.glob(f"{store.name}*")}
    found: set[str] = set()
    for line in Path("/proc/locks").read_text().splitlines():
        fields = line.replace("->", "").split()
        if fields[1] == "POSIX" and int(fields[4]) == pid:
            found.add(names.get(int(fields[5].rpartition(":")[2]), ""))
    return found - {""}


def lost_files(pid: int, store: Path) -> set[str]:
    """Return what a process still has open of the store although its name is gone."""
    links: list[str] = []
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        try:
            links.append(os.readlink(fd))
        except OSError:
            continue
    return {link for link in links if link.startswith(str(store)) and link.endswith("(deleted)")}
