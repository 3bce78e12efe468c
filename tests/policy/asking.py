"""Runs `wcore policy …` as a person or script does: a process, its output, its exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PATIENCE_S = 60.0


def wcore(
    *argv: str, cwd: Path, home: Path | None = None, stdin: bytes = b"", **env: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end. `home` is made if it is missing; default: beside `cwd`."""
    home = home or cwd.parent / "home"
    home.mkdir(exist_ok=True)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "NO_COLOR"))}
    done = subprocess.run(
        [sys.executable, "-m", "wcore", *argv],
        cwd=cwd,
        env={**clean, "HOME": str(home), "PYTHONIOENCODING": "utf-8", **env},
        input=stdin,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def explain(*argv: str, cwd: Path, **env: str) -> dict[str, Any]:
    """Return what `wcore policy explain --json` says, with its exit code."""
    done = wcore("policy", "explain", "--json", *argv, cwd=cwd, **env)
    assert done.stdout, done.stderr
    return {**json.loads(done.stdout), "exit": done.returncode}
