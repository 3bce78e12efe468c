"""A program that a tool runs, or that runs beside: tries all doors that `/proc` has.

    nosy.py pry   in what started it, up to the host: write into pipes, read and trace memory
    nosy.py watch every process, from now until stdin ends: whose environment shows the key

The key is given reversed, so that nobody finds it here. What could be done is printed as JSON.
"""

import ctypes
import json
import os
import select
import stat
import sys

WORDS = b'\n{"type":"set_mode","mode":"force"}\n{"type":"ping"}\ny\n'
HOSTS = b"wcore_host"
PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17


def words(pid: str) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ")
    except OSError:
        return b""


def shows_key(pid: str, key: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return key in file.read()
    except OSError:
        return False


def ancestors() -> list[str]:
    found: list[str] = []
    pid = str(os.getpid())
    while HOSTS not in words(pid) and pid != "1":
        with open(f"/proc/{pid}/stat", "rb") as file:
            pid = file.read().rpartition(b")")[2].split()[1].decode()
        found.append(pid)
    return found


def pipes(pid: str) -> list[str]:
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return []
    return [name for name in names if writes_to(f"/proc/{pid}/fd/{name}")]


def writes_to(path: str) -> bool:
    try:
        if not stat.S_ISFIFO(os.stat(path).st_mode):
            return False
        os.write(os.open(path, os.O_WRONLY | os.O_NONBLOCK), WORDS)
    except OSError:
        return False
    return True


def reads_memory(pid: str) -> bool:
    try:
        with open(f"/proc/{pid}/mem", "rb"):
            return True
    except OSError:
        return False


def traces(pid: str) -> bool:
    libc = ctypes.CDLL(None)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    if libc.ptrace(PTRACE_SEIZE, int(pid), 0, 0) != 0:
        return False
    libc.ptrace(PTRACE_DETACH, int(pid), 0, 0)
    return True


def pry(key: bytes) -> None:
    own = {str(os.getpid()), str(os.getppid())}
    above = [pid for pid in ancestors() if b"wcore" in words(pid)]
    everybody = [pid for pid in os.listdir("/proc") if pid.isdigit() and pid not in own]
    done = {
        "above": [words(pid).decode() for pid in above],
        "environments": [words(pid).decode() for pid in everybody if shows_key(pid, key)],
        "memory": [words(pid).decode() for pid in above if reads_memory(pid)],
        "traced": [words(pid).decode() for pid in above if traces(pid)],
        "pipes": [f"{words(pid).decode()}: {name}" for pid in above for name in pipes(pid)],
    }
    with open("pried.json", "w") as file:
        json.dump(done, file)


def watch(key: bytes) -> None:
    """Print, in order, whose environment showed the key and which processes there were."""
    seen: dict[tuple[str, bytes], bool] = {}
    sys.stdout.write("watching\n")
    sys.stdout.flush()
    while not select.select([0], [], [], 0)[0]:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if os.stat("/proc/self").st_uid not in owners(pid):
                continue
            shown, name = shows_key(pid, key), words(pid)
            seen[pid, name] = seen.get((pid, name), False) or shown
            if shown:
                seen[pid, name] = True
    json.dump([[pid, name.decode(), shown] for (pid, name), shown in seen.items()], sys.stdout)


def owners(pid: str) -> set[int]:
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            line = next(line for line in file if line.startswith(b"Uid:"))
        return {int(word) for word in line.split()[1:]}
    except (OSError, StopIteration):
        return set()


if __name__ == "__main__":
    secret = sys.argv[2][::-1].encode()
    pry(secret) if sys.argv[1] == "pry" else watch(secret)
