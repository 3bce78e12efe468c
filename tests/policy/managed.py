"""Runs wcore where `/etc/wcore/policy.toml` is a file of the test: in a bubblewrap sandbox.

The engine has no switch that moves the managed file, so the test moves `/etc`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import waiting

NEEDED = ("passwd", "group", "ld.so.cache", "alternatives", "localtime")


def sandbox(managed: Path, writable: Path) -> list[str]:
    """Return the command line that comes before what is to be run."""
    etc = (part for name in NEEDED for part in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}"))
    return [
        *("bwrap", "--unshare-user", "--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/etc"),
        *etc,
        *("--ro-bind", str(managed), "/etc/wcore/policy.toml"),
        *("--bind", str(writable), str(writable), "--die-with-parent", "--"),
    ]


def why_unavailable(folder: Path) -> str | None:
    """Return what keeps such a sandbox from working here."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    probe = folder / "probe"
    probe.write_text("")
    done = waiting.run([*sandbox(probe, folder), "test", "-f", "/etc/wcore/policy.toml"])
    return None if done.returncode == 0 else f"bubblewrap cannot work here: {done.stderr}"


def wcore(
    managed: Path, *argv: str, cwd: Path, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run wcore under the managed policy. The home folder lies beside `cwd`."""
    home = cwd.parent / "home"
    home.mkdir(exist_ok=True)
    clean = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
    return waiting.run(
        [*sandbox(managed, cwd.parent), sys.executable, "-m", "wcore", *argv],
        cwd=cwd,
        env={**clean, "HOME": str(home)},
        said=stdin,
    )
