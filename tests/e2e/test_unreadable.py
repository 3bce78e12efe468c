"""A search says what it could not read: nothing found is never all that is told."""

import sys
from pathlib import Path

import pytest
from ordinary import read_as_told
from talking import Conversation, call, write_script

pytestmark = pytest.mark.anyio

BECOME = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"
ONE = "[1 file or folder could not be read]\n"
SEARCHES: list[tuple[str, dict[str, str], str]] = [
    ("Grep", {"pattern": "NEEDLE"}, "ok/c.txt:1:NEEDLE\n[4 files or folders could not be read]\n"),
    ("Grep", {"pattern": "nowhere", "glob": "*.py"}, f"[no match]\n{ONE}"),
    ("Grep", {"pattern": "NEEDLE", "path": "ok"}, "c.txt:1:NEEDLE\n[relative to {}/ok]\n"),
    (
        "Glob",
        {"pattern": "?.txt"},
        "a.txt\nok/c.txt\nw.txt\n[2 files or folders could not be read]\n",
    ),
    ("Glob", {"pattern": "*.py"}, f"[no file matches]\n{ONE}"),
    ("LS", {}, "a.txt\nlisted/\nlocked/\nok/\nw.txt\n[2 ignored by git left out]\n"),
    *(
        (tool, {**given, "path": name}, f"{{}}/{name}: Permission denied")
        for tool, given in (("Grep", {"pattern": "NEEDLE"}), ("Glob", {"pattern": "*"}), ("LS", {}))
        for name in ("locked", "listed")
    ),
    ("Grep", {"pattern": "NEEDLE", "path": "a.txt"}, "{}/a.txt: Permission denied"),
]


@pytest.fixture
def unreadable(workspace: Path) -> Path:
    for name in ("a.txt", "listed/b.txt", "locked/d.txt", "ok/c.txt", "w.txt", "ignored/e.txt"):
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text("NEEDLE\n")
    (workspace / ".gitignore").write_text("ignored/\n.gitignore\n")
    for name, mode in (("a.txt", 0), ("w.txt", 0o222), ("listed", 0o600), ("locked", 0)):
        (workspace / name).chmod(mode)
    (workspace / "ignored").chmod(0)
    return workspace


@pytest.mark.parametrize("has_ripgrep", [True, False])
async def test_what_could_not_be_read_is_counted_and_what_was_named_is_an_error(
    tmp_path: Path, unreadable: Path, has_ripgrep: bool
) -> None:
    calls = [call(tool, str(at), **given) for at, (tool, given, _) in enumerate(SEARCHES)]
    script = write_script(tmp_path, ([*calls], [{"text": "ok"}]))
    become = ("-c", BECOME, *read_as_told(), sys.executable, "-P", "-m", "wcore")
    env = {} if has_ripgrep else {"PATH": "/nowhere"}
    flags = ["--mode", "read_only", "--model", f"script:{script}"]
    async with Conversation(unreadable, flags, env, home=tmp_path / "home", program=become) as host:
        await host.ready()
        await host.message()
        await host.hear("stream_end")
    told = {int(told["call_id"]): told for told in host.of("tool_result")}
    for at, (*_, text) in enumerate(SEARCHES):
        status = "success" if text.endswith("\n") else "error"
        assert (told[at]["status"], told[at]["output"]) == (status, text.format(unreadable))
