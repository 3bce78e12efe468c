"""How many of the paths that real bash opens, or hands on, are among the facts of its text.

A protected one whose last name stands in the text always is; of the others a share is published.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from wcore.policy.protected import Places, is_within, protection
from wcore.policy.shell.paths.mentions import mentions_of
from wcore.policy.shell.paths.values import ANY, HOLES
from wcore.policy_files.named_paths import finder
from wcore.vocabulary import Access, PathFact

from .naming_texts import Maker, furnish
from .opening import Opened, run
from .sandbox import why_unavailable

TEXTS: Final = 100
SEEDS: Final = range(4)
MISSED_MAX: Final = 0.03  # of the texts of a seed
_EXEMPT: Final = ("/dev/", "/proc/")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if reason := why_unavailable():
        pytest.skip(f"no sandbox, nothing was proved: {reason}")
    tree = tmp_path_factory.mktemp("template")
    furnish(tree)
    return tree


class Missed(NamedTuple):
    """What is not among the facts of a text; `unasked` although it is protected and named."""

    any: Sequence[str] = ()
    unasked: Sequence[str] = ()


def missed(text: str, template: Path, tree: Path) -> Missed:
    """Run `text` in a fresh tree and return what of it is not among its facts."""
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(template, tree, symlinks=True)
    home, workspace = tree / "home", tree / "home/ws"
    places = Places(str(workspace), str(home), (str(home / ".config/wcore"),))
    environ = {
        "HOME": str(home),
        "PATH": f"{tree}/bin:/usr/bin:/bin",
        "PUB": str(home / "other"),
        "SECRET": "s3cr3t",
        "LC_ALL": "C.UTF-8",
    }
    facts = finder(places)(text, environ).paths
    reading = mentions_of(text, places, environ)
    vague = [_shape(m.value) for m in reading.mentions if ANY in m.value and not m.adrift]
    before = {os.path.join(root, name) for root, folders, files in os.walk(tree)
              for name in (*folders, *files)}  # fmt: skip
    opened = run(text, tree, workspace, environ)
    if reading.lost:
        return Missed()
    shapes = [_shape(m.value) for m in reading.mentions if m.opened and ANY not in m.value]
    missed = [
        *_about_opened(opened, facts, shapes, places, before),
        *_about_given(opened, facts, vague, places, before),
    ]
    return Missed(missed, list(_unasked(opened, facts, text, places)))


def _shape(value: str) -> re.Pattern[str]:
    """Return what fits a value with holes."""
    parts = (
        ".*" if each == ANY else "[^/]*" if HOLES.match(each) else re.escape(each) for each in value
    )
    return re.compile("".join(parts), re.DOTALL)


def _about_opened(
    opened: Opened,
    facts: tuple[PathFact, ...],
    shapes: list[re.Pattern[str]],
    places: Places,
    before: set[str],
) -> Iterator[str]:
    if any(fact.unknown and _asks(fact) for fact in facts):
        return
    for access, paths in ((Access.WRITE, opened.written), (Access.READ, opened.read)):
        known = {fact.path for fact in facts if fact.access is access or access is Access.READ}
        for path in paths:
            ours = "/home" in path and "named" in path
            if path.startswith(_EXEMPT) or (access is Access.READ and not ours):
                continue
            real = os.path.realpath(path)
            fresh = real not in before  # its name is told by another that is protected already
            harmless = is_within(real, places.workspace) and (
                fresh or not protection(real, access, places)
            )
            beyond = any(is_within(real, f.path) for f in facts if not f.inside or f.protected)
            if (harmless or beyond) and any(shape.fullmatch(path) for shape in shapes):
                continue  # a pattern told which files of the workspace it may be
            if not _names(path, known):
                yield f"bash opened {path} to {access}"


def _unasked(
    opened: Opened, facts: tuple[PathFact, ...], text: str, places: Places
) -> Iterator[str]:
    if any(map(_asks, facts)):
        return
    for access, paths in ((Access.WRITE, opened.written), (Access.READ, opened.read)):
        for path in paths:
            is_named = os.path.basename(path) in text and "named" in path
            if is_named and protection(os.path.realpath(path), access, places):
                yield f"bash opened {path} to {access}"


def _asks(fact: PathFact) -> bool:
    return fact.protected is not None or not fact.inside


def _names(path: str, known: set[str]) -> bool:
    return os.path.realpath(path) in known or os.path.normpath(path) in known


def _about_given(
    opened: Opened,
    facts: tuple[PathFact, ...],
    vague: list[re.Pattern[str]],
    places: Places,
    before: set[str],
) -> Iterator[str]:
    known = {fact.path for fact in facts}
    for path in opened.given:
        real = os.path.realpath(path)
        if real not in before:
            continue
        matters = protection(real, Access.READ, places) or not is_within(real, places.workspace)
        if not matters or real in known or any(f.unknown and f.protected for f in facts):
            continue
        if not any(shape.fullmatch(path) for shape in vague):
            yield f"a program was given {path}"


@pytest.mark.parametrize("seed", SEEDS)
def test_what_bash_opens_and_hands_on_is_among_the_facts(
    template: Path, tmp_path: Path, seed: int
) -> None:
    maker, found, unasked = Maker(seed), list[str](), list[str]()
    for _ in range(TEXTS):
        text = maker.text()
        result = missed(text, template, tmp_path / "named")
        found += [text] if result.any else []
        unasked += [text] if result.unasked else []
    assert unasked == []
    assert len(found) <= TEXTS * MISSED_MAX, found


if __name__ == "__main__":  # python -m tests.shell.test_named_paths SEED COUNT
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        furnish(Path(folder) / "template")
        made = Maker(int(sys.argv[1]))
        count = 0
        for _ in range(int(sys.argv[2])):
            each = made.text()
            said = missed(each, Path(folder) / "template", Path(folder) / "named")
            if said.any or said.unasked:
                count += 1
                sys.stdout.write(f"{each!r}\n    {said.any[:3]} {said.unasked}\n")
        sys.stdout.write(f"{count} texts\n")
