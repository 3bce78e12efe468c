"""Reading commands whose stdout takes nothing: one line says so. Versions."""

import os
import sys
from pathlib import Path

import pytest
import waiting

from wcore import __version__

SAID = b'{"type":"message","msg_id":"m1","content":"hi"}\n'
READING = {
    "sessions list": ["sessions", "list"],
    "audit verify": ["audit", "verify"],
    "audit list": ["audit", "list"],
    "policy rules": ["policy", "rules"],
    "policy explain": ["policy", "explain", "--", "ls"],
    "policy lint": ["policy", "lint"],
}


@pytest.mark.parametrize(("full", "words"), [(">/dev/full", "No space left"), (">&-", "closed")])
@pytest.mark.parametrize("command", READING.values(), ids=list(READING))
def test_a_stdout_that_takes_nothing_is_one_line(
    tmp_path: Path, command: list[str], full: str, words: str
) -> None:
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    folder = tmp_path / "workspace"
    folder.mkdir()
    wcore = [sys.executable, "-P", "-m", "wcore"]
    waiting.run(wcore, env=environ, cwd=folder, said=SAID, check=True)
    done = waiting.run(
        ["sh", "-c", f'"$@" {full}', "sh", *wcore, *command], env=environ, cwd=folder
    )
    if done.returncode == 0:
        assert command[:2] == ["policy", "lint"], "it had nothing to say"
        return
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith(f"wcore {command[0]}: stdout: {words}")


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["sessions", "list", "--help"]])
def test_help_that_cannot_be_written_is_one_line(words: list[str]) -> None:
    wcore = [sys.executable, "-P", "-m", "wcore"]
    done = waiting.run(["sh", "-c", '"$@" >/dev/full', "sh", *wcore, *words])
    assert (done.returncode, done.stderr) == (1, "wcore: stdout: No space left on device\n")


@pytest.mark.parametrize("host", ["chat", "web", "acp"])
def test_hosts_have_a_version(host: str) -> None:
    done = waiting.run([sys.executable, "-P", "-m", f"wcore_host.{host}", "--version"])
    assert (done.returncode, done.stdout) == (0, f"wcore-{host} {__version__}\n")
