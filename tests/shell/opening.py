"""What real bash opens and hands on when it runs a text, with the paths as they are out here.

The whole machine is bound read-only into the sandbox, only the tree of the test may be written;
so what bash does there can be compared with what was looked up here.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

RUN_S_MAX: Final = 10.0
SHELL: Final = "/bin/bash"

_CALL: Final = re.compile(r"(\w+)\((.*)\) += (-?\d+)")
_STRING: Final = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_WRITES: Final = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND")
_FORK: Final = re.compile(r"(?:clone3?|fork|vfork)\(.* = (\d+)$", re.MULTILINE)


@dataclass(slots=True)
class Opened:
    """What the shell itself opened, and the words that programs were given; absolute paths."""

    written: set[str] = field(default_factory=set[str])
    read: set[str] = field(default_factory=set[str])
    given: set[str] = field(default_factory=set[str])


def run(text: str, tree: Path, cwd: Path, environ: Mapping[str, str]) -> Opened:
    """Run `text` in bash as the engine does; only `tree` can be written."""
    with tempfile.TemporaryDirectory() as records:
        bwrap = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session"]
        bwrap += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        bwrap += ["--bind", str(tree), str(tree), "--bind", records, records]
        bwrap += ["--chdir", str(cwd), "--clearenv"]
        for name, value in environ.items():
            bwrap += ["--setenv", name, value]
        strace = [shutil.which("strace") or "strace", "-ff", "-qq", "-xx", "-s", "4096"]
        strace += ["-e", "trace=execve,open,openat,creat,chdir,clone,clone3,fork,vfork"]
        strace += ["-e", "signal=none", "-o", f"{records}/calls"]
        shell = [SHELL, "--noprofile", "--norc", "-c", "--", text]
        subprocess.run(
            [*bwrap, *strace, *shell],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=RUN_S_MAX,
            check=False,
        )
        calls = {int(p.suffix[1:]): p.read_text() for p in Path(records).glob("calls.*")}
    return _read(calls, str(cwd))


def _read(calls: Mapping[int, str], cwd: str) -> Opened:
    found = Opened()
    children = {int(m[1]) for text in calls.values() for m in _FORK.finditer(text)}
    waiting = [(pid, cwd, "") for pid in sorted(set(calls) - children)]
    while waiting:
        pid, here, image = waiting.pop(0)
        for line in calls.get(pid, "").splitlines():
            call = _CALL.match(line)
            if fork := _FORK.match(line):
                waiting.append((int(fork[1]), here, image))
            elif call is not None:
                here, image = _step(found, call, here, image)
    return found


def _step(found: Opened, call: re.Match[str], here: str, image: str) -> tuple[str, str]:
    """Note one system call; return the folder and the program after it."""
    name, body, result = call.groups()
    strings = [
        bytes.fromhex(each.replace("\\x", "")).decode(errors="replace")
        for each in _STRING.findall(body)
    ]
    is_shell = image.endswith("/bash")
    if name == "chdir" and result == "0":
        return os.path.normpath(os.path.join(here, strings[0])), image
    if name == "execve" and result == "0":
        if is_shell:
            words = strings[2 : _arguments_end(body)]
            found.given |= {os.path.join(here, word) for word in words if word}
        return here, strings[0]
    relative = name == "openat" and not body.startswith("AT_FDCWD")  # to another folder: a library
    if name in ("open", "openat", "creat") and is_shell and strings[0] and not relative:
        path = os.path.join(here, strings[0])
        if name == "creat" or _WRITES.search(body):
            found.written.add(path)
        elif "O_DIRECTORY" not in body:
            found.read.add(path)
    return here, image


def _arguments_end(body: str) -> int:
    """Return how many strings stand before the end of the argument list."""
    return len(_STRING.findall(body[: body.index("], ") + 1]))
