"""Globs: compared with a slow, obvious matcher on every small pattern and text."""

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from itertools import product

import pytest

from wcore.policy.patterns import NamePattern, PatternError, literal_folder, name_glob, path_glob


def slow_name(pattern: str, text: str) -> bool:
    """Match `*`, `?` and letters by trying everything."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(slow_name(pattern[1:], text[n:]) for n in range(len(text) + 1))
    return bool(text) and pattern[0] in ("?", text[0]) and slow_name(pattern[1:], text[1:])


def slow_path(
    pattern: list[str], parts: list[str], fits: Callable[[str, str], bool] = slow_name
) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(slow_path(pattern[1:], parts[n:], fits) for n in range(len(parts) + 1))
    first = bool(parts) and fits(pattern[0], parts[0])
    return first and slow_path(pattern[1:], parts[1:], fits)


def either_way(pattern: str, name: str) -> bool:
    """Match brackets as a class of characters and as themselves."""
    return fnmatchcase(name, pattern) or fnmatchcase(name, pattern.replace("[", "[[]"))


def texts(alphabet: str, length: int) -> list[str]:
    return ["".join(chars) for n in range(1, length + 1) for chars in product(alphabet, repeat=n)]


def test_every_small_name_pattern_matches_what_the_obvious_matcher_matches() -> None:
    names = texts("ab", 5)
    for pattern in texts("ab*?", 5):
        if "**" not in pattern:
            for name in names:
                found = name_glob(pattern).match(name) is not None
                assert found == slow_name(pattern, name), (pattern, name)


def test_every_small_path_pattern_matches_what_the_obvious_matcher_matches() -> None:
    components = ("a", "b", "ab")
    paths = [list(p) for n in range(1, 5) for p in product(components, repeat=n)]
    for pattern in (list(p) for n in range(1, 5) for p in product(("a", "*b", "**"), repeat=n)):
        compiled = path_glob("/" + "/".join(pattern))
        for path in paths:
            found = compiled.match("/" + "/".join(path)) is not None
            assert found == slow_path(list(pattern), list(path)), (pattern, path)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("[abc]x", "bx", "dx"),
        ("[!abc]x", "dx", "ax"),
        ("[a-c]", "b", "d"),
        ("[]]", "]", "["),
        ("[!]]", "a", "]"),
        ("[-a]", "-", "b"),
        ("mcp__*", "mcp__", "mcp_"),
        ("a.c", "a.c", "abc"),
        ("**", "anything", ""),
        ("*", "a\nb", None),
    ],
)
def test_name_patterns(pattern: str, yes: str, no: str | None) -> None:
    assert NamePattern(pattern).matches(yes)
    assert no is None or not NamePattern(pattern).matches(no) or (pattern, no) == ("**", "")


@pytest.mark.parametrize("pattern", ["", "[", "[a", "a[", "a**", "***", "[b-a]", "x" * 2000, "\n"])
def test_what_is_no_name_pattern(pattern: str) -> None:
    with pytest.raises(PatternError):
        name_glob(pattern)


@pytest.mark.parametrize("pattern", ["", "a", "/a//b", "/a/../b", "/./a", "/a**/b", "/[x"])
def test_what_is_no_path_pattern(pattern: str) -> None:
    with pytest.raises(PatternError):
        path_glob(pattern)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("/w/src/**", ("/w/src", "/w/src/a", "/w/src/a/b"), ("/w/srcx", "/w", "/w/a/src")),
        ("/w/src/", ("/w/src", "/w/src/a/b"), ("/w/srcx",)),
        ("/w/*.py", ("/w/a.py", "/w/.py"), ("/w/a/b.py", "/w/a.pyc")),
        ("/w/**/*.py", ("/w/a.py", "/w/a/b/c.py"), ("/w/a.pyc", "/x/a.py")),
        ("/w/a?c", ("/w/abc",), ("/w/a/c",)),
        ("/w/a[!b]c", ("/w/axc",), ("/w/a/c", "/w/abc")),
        ("/w/a\nb", (), ()),
        ("/**", ("/a", "/"), ()),
    ],
)
def test_path_patterns(pattern: str, yes: tuple[str, ...], no: tuple[str, ...]) -> None:
    if "\n" in pattern:
        with pytest.raises(PatternError):
            path_glob(pattern)
        return
    assert all(path_glob(pattern).match(path) for path in yes)
    assert not any(path_glob(pattern).match(path) for path in no)


def test_what_stops_ignores_case() -> None:
    assert path_glob("/w/Secrets/**", stops=True).match("/W/SECRETS/a")
    assert not path_glob("/w/Secrets/**").match("/w/secrets/a")


def test_brackets_of_what_stops_stand_for_themselves_as_well() -> None:
    """Every pattern of two components, of those of web frameworks and others, both ways."""
    parts = ("[slug]", "[...path]", "[[...all]]", "(a)", "[ab]*", "x[!a]", "b", "**", "*-[id].ts")
    names = ("s", "[slug]", "[...path]", "[[...all]]", "(a)", "[ab]x", "ax", "xb", "b", "1-[id].ts")
    for pattern in product(parts, repeat=2):
        glob = path_glob("/" + "/".join(pattern), stops=True)
        for path in product(names, repeat=2):
            expected = slow_path(list(pattern), list(path), either_way)
            assert (glob.match("/" + "/".join(path)) is not None) == expected, (pattern, path)
            if path_glob("/" + "/".join(pattern)).match("/" + "/".join(path)):
                assert expected, "what stops stops no less"


def test_the_leading_folders_without_wildcards() -> None:
    assert literal_folder("/w/a/*.py") == "/w/a"
    assert literal_folder("/**") == "/"
    assert literal_folder("/w/a") == "/w/a"


@pytest.mark.parametrize("pattern", ["*a" * 500, "?*" * 500])
def test_no_name_pattern_runs_away(pattern: str) -> None:
    assert not NamePattern(pattern + "b").matches("a" * 20_000 + "c")


def test_no_path_pattern_runs_away() -> None:
    pattern = "/" + "/".join(["**", "*a*a*b"] * 80)
    assert path_glob(pattern).match("/aaaa" * 2_000) is None
    assert isinstance(path_glob(pattern), re.Pattern)
