"""Runs `wcore policy …` as a person or script does: a process, its output, its exit code."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import waiting

NO_ENV: Final[Mapping[str, str]] = {}


def wcore(
    *argv: str, cwd: Path, stdin: bytes = b"", env: Mapping[str, str] = NO_ENV
) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end. The home folder lies beside `cwd`."""
    home = cwd.parent / "home"
    home.mkdir(exist_ok=True)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "NO_COLOR"))}
    return waiting.run(
        [sys.executable, "-m", "wcore", *argv],
        cwd=cwd,
        env={**clean, "HOME": str(home), **env},
        said=stdin,
    )


def explain(*argv: str, cwd: Path, env: Mapping[str, str] = NO_ENV) -> dict[str, Any]:
    """Return what `wcore policy explain --json` says, with its exit code."""
    done = wcore("policy", "explain", "--json", *argv, cwd=cwd, env=env)
    assert done.stdout, done.stderr
    return {**json.loads(done.stdout), "exit": done.returncode}


def trust(folder: Path) -> subprocess.CompletedProcess[str]:
    """Trust a folder as a script does: what was listed, by its digest."""
    listed = json.loads(wcore("trust", str(folder), "--list", "--json", cwd=folder).stdout)
    digest = str(listed["digest"])
    return wcore("trust", str(folder), "--yes", "--digest", digest, cwd=folder)
