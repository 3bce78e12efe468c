"""The memory of files is bounded: what it forgets is as if it had never been read."""

import pytest

from wcore.errors import ToolError
from wcore.file_content import FileContent
from wcore.session.known_files import KNOWN_MAX, KnownFiles
from wcore.vocabulary import Category, Prepared


def is_held(known: KnownFiles, path: str) -> bool:
    other = FileContent(path, "other")
    try:
        known.require(Prepared("Write", Category.EDIT, {}, "", "", replaces=other))
    except ToolError:
        return True
    return False


def test_the_file_told_of_longest_ago_is_forgotten() -> None:
    known = KnownFiles()
    for number in range(KNOWN_MAX):
        known.learn(FileContent(f"/{number}", "seen"))
    known.learn(FileContent("/0", "seen again"))
    known.learn(FileContent("/new", "seen"))
    held = [is_held(known, f"/{number}") for number in range(KNOWN_MAX)]
    assert held == [number != 1 for number in range(KNOWN_MAX)]
    assert is_held(known, "/new")


@pytest.mark.parametrize("made_from", [None, "absent", "seen", "other"])
def test_only_a_change_of_what_was_known_makes_the_rest_known(made_from: str | None) -> None:
    known = KnownFiles()
    known.learn(FileContent("/a", "seen"))
    known.learn(FileContent("/a", "other", made_from))
    assert is_held(known, "/a") is (made_from == "other")
