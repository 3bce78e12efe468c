"""Everyday commands come to the same in the sandbox of their workspace and outside of it.

`everyday.txt` has one a line; they run one after the other in the same workspace, so that what one
leaves is there for the next.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
import waiting
from anyio import to_thread
from sandbox.trying import SHELL
from supervising import supervised

from wcore.cli.sandbox import sandbox_of
from wcore.policy.protected import Places
from wcore.policy_files.snapshot import Rules
from wcore.sandbox.network import Start
from wcore.sandbox.sandbox import Agreement, Sandbox
from wcore.supervisor.client import Program

COMMANDS: Final = (Path(__file__).parent / "everyday.txt").read_text().splitlines()
#: What is not the same, and why.
DIFFERENT: Final[Mapping[str, str]] = {}

FILES: Final = {
    "README.md": "# A project\n\nWith words, and a FIXED.\n" + "More of them follow. " * 9 + "\n",
    "words.txt": "alpha\nbeta\ngamma\nalpha\ndelta\n",
    "other.txt": "alpha\nepsilon\n",
    "data.csv": "name,count\nb,10\na,9\nc,100\n",
    "tabs.txt": "a\tb\n        c\n",
    "run.sh": "#!/bin/sh\necho ran\n",
    "src/app.py": "import util\n\n\ndef main():\n    print(util.half(4))\n\n\nmain()\n",
    "src/util.py": "# FIXED: more\ndef half(x):\n    return x // 2\n",
    "src/app.js": 'console.log(require("path").join("a", "b"));\n',
    "src/hello.c": '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n',
    "test_util.py": "import unittest\nclass T(unittest.TestCase):\n  def test(self): pass\n",
    "package.json": '{"name": "p", "scripts": {"hello": "echo hi", "test": "node src/app.js"}}\n',
    "Makefile": "all: out/made\nout/made:\n\tmkdir -p out && echo made >$@\ntest:\n\t@echo ok\n"
    "clean:\n\trm -rf out\n.PHONY: all test clean\n",
    ".gitignore": "build/\nout/\n__pycache__/\n",
    "build/ignored.txt": "built\n",
}
BASH: Final = (SHELL, "--noprofile", "--norc", "-c")
Result = tuple[int, str, str]


def environ(home: Path) -> dict[str, str]:
    told = {"NAME": "x", "EMAIL": "x@example.org", "DATE": "2024-01-01T00:00:00Z"}
    git = {f"GIT_{who}_{n}": text for who in ("AUTHOR", "COMMITTER") for n, text in told.items()}
    path = os.environ.get("PATH", os.defpath)
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "TMPDIR": "/tmp", **git}


def laid_out(ws: Path) -> None:
    """Make the workspace, the same each time."""
    for name, text in FILES.items():
        (ws / name).parent.mkdir(parents=True, exist_ok=True)
        (ws / name).write_text(text)
        os.utime(ws / name, (0, 0))  # what is compiled has it inside
    (ws / "link-to-readme").symlink_to("README.md")
    script = "git init -q -b main . && git config user.name x && git add . && git commit -qm first"
    waiting.run([SHELL, "-c", script], cwd=ws, env=environ(ws.parent), check=True)


def outside(ws: Path, command: str) -> Result:
    argv = [*BASH, command]
    done = waiting.run(argv, cwd=ws, env=environ(ws.parent))
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return code, done.stdout, done.stderr


async def inside(sandbox: Sandbox, start: Start, ws: Path, command: str) -> Result:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        streams = (None, out.fileno(), err.fileno())
        program = Program((*BASH, command), "/", environ(ws.parent), streams)
        async with sandbox.around(program, sandbox.view()) as inner:
            held = await start(inner.program)
            await held.exited()
            await held.end(0)
            held.close()
            code = inner.exit_code()
        assert code is not None
        for each in (out, err):
            each.seek(0)
        said, problems = (each.read().decode(errors="replace") for each in (out, err))
        return code, said, problems + "".join(inner.told())


def tree(ws: Path) -> dict[str, tuple[int, bytes]]:
    """Return what is left in the workspace, without the insides of its repository."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(ws.rglob("*")):
        name = str(path.relative_to(ws))
        if not name.startswith(".git/"):
            content = os.readlink(path).encode() if path.is_symlink() else b""
            content = path.read_bytes() if path.is_file() else content
            found[name] = path.lstat().st_mode, content
    return found


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path)) / "home" / "ws"
    laid_out(folder)
    return folder


async def test_everyday_commands_come_to_the_same(ws: Path) -> None:
    with waiting.patience("the commands", limit_s=waiting.LONG_S):
        wanted = {each: await to_thread.run_sync(outside, ws, each) for each in COMMANDS}
        left = tree(ws)
        shutil.rmtree(ws)
        laid_out(ws)
        places = Places(str(ws), str(ws.parent), (str(ws.parent / "own"),))
        with supervised() as supervisor:
            start, env = supervisor.start, environ(ws.parent)
            made = sandbox_of(places, Rules, env, start, Agreement())
            found = {each: await inside(made, start, ws, each) for each in COMMANDS}
            made.close()
    pairs = {each: (wanted[each], found[each]) for each in COMMANDS}
    different = {each: pair for each, pair in pairs.items() if pair[0] != pair[1]}
    assert different.keys() == DIFFERENT.keys(), different
    assert tree(ws) == left
