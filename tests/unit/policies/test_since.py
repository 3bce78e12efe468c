"""Since when a deny has been there that a grant can lift: by the file, then by the rule."""

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from wcore.policy.protected import Places
from wcore.policy.rules.rule import Level
from wcore.policy_files.policy_files import PolicyFiles

BASH = '[[rule]]\nmatch = "Bash"\ndo = "deny"\n'
READ = '[[rule]]\nmatch = "Read"\ndo = "deny"\n'
CHILD = '[[rule]]\nmatch = "Bash"\ndo = "deny"\nagent = "child"\n'
STANDING = '[[rule]]\nmatch = "Bash"\ndo = "deny"\nalways = true\n'

Write = Callable[[str], None]


@pytest.fixture(params=[Level.USER, Level.PROJECT])
def level(request: pytest.FixtureRequest) -> Level:
    found: Level = request.param
    return found


@pytest.fixture
def file(tmp_path: Path, level: Level) -> Path:
    path = tmp_path / ("config" if level is Level.USER else "ws/.wcore") / "policy.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def files(tmp_path: Path, file: Path) -> Callable[[], PolicyFiles]:
    del file
    places = Places(str(tmp_path / "ws"), str(tmp_path))
    (tmp_path / "ws").mkdir(exist_ok=True)
    return lambda: PolicyFiles(places, str(tmp_path / "config"), str(tmp_path / "state"))


def since(files: PolicyFiles) -> dict[str, str]:
    return {rule: at for (_, rule), at in files.load().snapshot.since.items()}


def written(path: Path, text: str) -> None:
    """Write a file with the old times that a copying program gives it, but a new inode's time."""
    before = path.lstat().st_ctime_ns if path.exists() else 0
    path.unlink(missing_ok=True)
    path.write_text(text)
    os.utime(path, (0, 0))
    while path.lstat().st_ctime_ns <= before:  # the kernel's clock has ticks
        os.utime(path, (0, 0))


def test_a_rule_counts_from_when_it_was_read_first(
    files: Callable[[], PolicyFiles], file: Path
) -> None:
    written(file, BASH)
    engine = files()
    (bash,) = since(engine).values()
    assert bash > "2026", "not the time that the file was given"
    written(file, BASH + READ)
    both = since(engine)
    assert both["Bash"] == bash, "the same rule, and this engine has had it all the time"
    assert both["Read"] > bash
    assert since(files()) == {"Bash": both["Read"], "Read": both["Read"]}, "another cannot know"
    written(file, READ)
    assert since(engine) == {"Read": both["Read"]}
    written(file, READ + BASH)
    again = since(engine)
    assert again["Bash"] > both["Read"], "it was away in between"
    written(file, READ + BASH + CHILD)
    assert since(engine)["Bash for child"] > again["Bash"], "a rule for one agent is another one"
    written(file, STANDING)
    assert since(engine) == {}, "no grant lifts it, whenever it was given"


def test_a_file_that_cannot_be_read_forgets_nothing(
    files: Callable[[], PolicyFiles], file: Path
) -> None:
    written(file, BASH)
    engine = files()
    before = since(engine)
    file.write_text(BASH + "\nbroken")
    with pytest.raises(Exception, match=r"policy\.toml"):
        engine.load()
    file.write_text(BASH)
    assert since(engine) == before


@pytest.mark.parametrize("level", [Level.USER], indirect=True)
def test_a_link_that_leads_elsewhere_makes_another_file(
    files: Callable[[], PolicyFiles], file: Path, tmp_path: Path
) -> None:
    strict = tmp_path / "strict.toml"
    written(strict, BASH)
    file.symlink_to(strict)
    while file.lstat().st_ctime_ns <= strict.stat().st_ctime_ns:
        file.unlink()
        file.symlink_to(strict)
    (bash,) = since(files()).values()
    assert datetime.fromisoformat(bash).timestamp() == pytest.approx(file.lstat().st_ctime)
    assert datetime.fromisoformat(bash).timestamp() > strict.stat().st_ctime
