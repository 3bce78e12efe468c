"""Where a command is run: a folder that is gone, or never was, is said in one sentence."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
import waiting

ASKED = {
    "engine": (),
    "check": ("policy", "check"),
    "rules": ("policy", "rules"),
    "test": ("policy", "test"),
    "lint": ("policy", "lint"),
    "explain": ("policy", "explain", "ls"),
    "import": ("policy", "import", "claude", "{file}"),
    "trust": ("trust", ".", "--list"),
}
TAKES_CWD = ("engine", "check", "rules", "test", "lint", "explain")


def ended(words: tuple[str, ...], cwd: Path, home: Path) -> tuple[int, str]:
    """Run a command in a folder that is removed before it starts; return its code and words."""
    file = home / "settings.json"
    home.mkdir(exist_ok=True)
    file.write_text("{}")
    given = [word.replace("{file}", str(file)) for word in words]
    gone = cwd / "gone"
    gone.mkdir()
    enter = f"import os, sys; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); "
    start = "os.execv(sys.executable, [sys.executable, '-P', '-m', 'wcore', *sys.argv[1:]])"
    done = waiting.run(
        [sys.executable, "-c", enter + start, *given], env={**os.environ, "HOME": str(home)}
    )
    shutil.rmtree(gone, ignore_errors=True)
    said = done.stdout + done.stderr
    assert "Traceback" not in said
    return done.returncode, said


@pytest.mark.parametrize("name", ASKED)
def test_a_current_folder_that_is_gone_is_said(name: str, tmp_path: Path) -> None:
    code, said = ended(ASKED[name], tmp_path, tmp_path / "home")
    assert code == 2
    assert "the current folder does not exist any more" in said
    if name == "engine":
        assert json.loads(said.splitlines()[0])["error"]["code"] == "init_failed"


@pytest.mark.parametrize("name", TAKES_CWD)
def test_a_folder_that_never_was_is_said(name: str, tmp_path: Path) -> None:
    code, said = ended((*ASKED[name], "--cwd", "/nope"), tmp_path, tmp_path / "home")
    assert code == 2
    assert "/nope: there is no such folder" in said


@pytest.mark.parametrize("name", TAKES_CWD)
def test_whoever_names_a_folder_needs_no_current_one(name: str, tmp_path: Path) -> None:
    code, said = ended((*ASKED[name], "--cwd", str(tmp_path)), tmp_path, tmp_path / "home")
    assert code in (0, 10), said
    assert "does not exist" not in said
