import pytest
from tables import rows

from wcore.errors import ToolError
from wcore.tools.fs.glob_matcher import ALTERNATIVES_MAX, matcher, split_root


@rows(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a.py", True),
        ("*.py", "deep/er/a.py", True),
        ("./*.py", "a.py", True),
        ("./*.py", "deep/a.py", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/b/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/b/c/a.py", True),
        ("**/b/**", "a/b/c", True),
        ("**/b/**/c", "b/x/b/y/c", True),
        ("**", "a/b", True),
        ("?.[ch]", "x.c", True),
        ("?.[!ch]", "x.c", False),
        ("*.{js,ts}", "a/b.ts", True),
        ("{src,test}/**/{a,b}.{c,h}", "test/x/b.h", True),
        ("{src,test}/**/{a,b}.{c,h}", "test/x/c.h", False),
        ("a{b", "a{b", True),
        ("*.PY", "a.py", False),
        (".*", ".hidden", True),
        ("a[", "a[", True),
        ("*", "two\nlines", True),
    ],
)
def test_patterns_match_as_documented(pattern: str, path: str, matches: bool) -> None:
    assert matcher(pattern)(path) is matches


@pytest.mark.parametrize("pattern", ["*a" * 400, "**/" * 300 + "x", "[a*" * 300])
def test_no_pattern_takes_long(pattern: str) -> None:
    assert not matcher(pattern)("/".join(["a" * 250] * 100) + "b")


def test_too_much_is_refused() -> None:
    with pytest.raises(ToolError):
        matcher("{a,b}" * 10)
    with pytest.raises(ToolError):
        matcher("x" * 2000)
    assert ALTERNATIVES_MAX < 2**10


@pytest.mark.parametrize(
    ("pattern", "start", "rest"),
    [
        ("*.py", "", "*.py"),
        ("src/*.py", "src", "*.py"),
        ("a/[b]/c", "a", "[b]/c"),
        ("*/a/b", "", "*/a/b"),
        ("/etc/*.conf", "/etc", "*.conf"),
        ("/*.conf", "/", "*.conf"),
        ("/etc/hosts", "/etc", "hosts"),
        ("~/x/**/y", "~/x", "**/y"),
        ("../x/*", "../x", "*"),
        ("a/../*", "a/..", "*"),
    ],
)
def test_the_plain_folders_that_a_pattern_starts_with_are_split_off(
    pattern: str, start: str, rest: str
) -> None:
    assert split_root(pattern) == (start, rest)
