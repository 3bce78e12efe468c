"""Any text gets an answer, soon, and with little memory."""

import time
import tracemalloc

import pytest
from unit.policy.shell.gate import grant

from wcore.policy.shell import Reason, covers, lex, rough_words, suggest, warm
from wcore.policy.shell.reading import words

BYTES_MAX = 40 * 1024 * 1024
SECONDS_MAX = 5.0  # of CPU: most of these take a millisecond
MEGABYTE = 1024 * 1024

KILLERS = {
    "open brace in quotes": "rg -e'${'",
    "open brace in a message": "git commit -m='use ${'",
    "open brace between": "x'${y'",
    "open brace joined": "x'$\\\n{y'",
    "open brace in doubles": 'x"\\${y"',
    "arithmetic": "cargo $((1+1))",
    "old arithmetic": "cargo $[1]",
    "dollar backslash": "cargo $\\",
    "quote and backtick": "cargo ' `",
    "nul": "cargo \0; rm",
    "surrogate": "cargo \ud800",
    "lone backslash": "cargo b;\\",
    "array": "a=(1 2)",
    "arithmetic for": "for ((;;)); do :; done",
    "arabic digit": "cargo \u0663>&1",
    "huge number": "cargo " + "9" * 9000 + ">&1",
    "huge target": "cargo >&" + "9" * 9000,
}
LONG = {
    "nothing": "",
    "a": "a" * MEGABYTE,
    "blanks": " " * MEGABYTE,
    "surrogates": "\ud800" * MEGABYTE,
    "newlines": "\n" * MEGABYTE,
    "commands": "a;" * (MEGABYTE // 2),
    "quotes": "'" * MEGABYTE,
    "astral": "\U0001f600" * MEGABYTE,
}
DEEP = {
    "subshells": "(" * 5000,
    "substitutions": "cargo " + "$(" * 5000,
    "processes": "cargo " + "<(" * 5000,
    "groups": "{ " * 5000,
    "ifs": "if true; then " * 1000,
    "negations": "! " * 5000,
    "parameters": "cargo " + "${x:-" * 3000,
    "arithmetic": "cargo " + "$((" * 5000,
    "quoted substitutions": 'cargo "' + '"$(' * 4000,
    "braces": "cargo " + "{a," * 5000,
    "closed braces": "cargo " + "{a," * 4000 + "}" * 4000,
    "joined lines": "cargo " + "\\\n" * 8000,
    "comments": "#\n" * 8000,
    "pipes": "a|" * 8000,
}


def answer(text: str) -> Reason | None:
    began = time.thread_time()
    coverage = covers(text, [grant("cargo")])
    assert time.thread_time() - began < SECONDS_MAX
    assert coverage.covered == (coverage.reason is None)
    return coverage.reason


@pytest.mark.parametrize("text", KILLERS.values(), ids=KILLERS.keys())
def test_what_kills_parsers_is_answered(text: str) -> None:
    assert answer(text) is not None


@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_a_megabyte_is_not_read(text: str) -> None:
    assert answer(text) == (Reason.TOO_LONG if text else Reason.EMPTY)
    assert suggest(text) == []
    assert isinstance(rough_words(text), list)


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP.keys())
def test_depth_does_not_matter(text: str) -> None:
    answer(text)


#: What words are made of, what is not closed before them, and what does not fit behind.
PIECES = (
    "$aaaa",
    "${aaaa}",
    "\\a",
    "'a'",
    '"a"',
    "{a,b}",
    "a=~/",
    "?*",
    "[a]",
    "$(a)",
    "`a`",
    "#a\n",
)
OPENINGS = ("", '"', "'", "${a:-", "$((", "a=(", '"${a#', "<<E ", "[[ ", "{")
ENDINGS = ("", "`", '"', "\\", "$(", "\ud800")
PIECES_BYTES = 6 * 1024


@pytest.mark.parametrize("piece", PIECES)
def test_what_is_not_closed_is_read_once(piece: str) -> None:
    """However often a pattern that is asked for it could cut it in two."""
    for opening in OPENINGS:
        for ending in ENDINGS:
            text = f"cargo {opening}{piece * (PIECES_BYTES // len(piece))}{ending}"
            began = time.thread_time()
            lex(text)
            words(text)
            rough_words(text)
            assert time.thread_time() - began < SECONDS_MAX, (opening, ending)


def test_memory_does_not_grow_with_the_text() -> None:
    warm()
    covers("cargo", [])
    for text in (*KILLERS.values(), *LONG.values(), *(t for t in DEEP.values() if lex(t).reason)):
        tracemalloc.start()
        covers(text, [grant("cargo")])
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < BYTES_MAX, text[:20]
