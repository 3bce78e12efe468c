"""The tolerant reader: it sees what the strict one sees, and the rest of the text as well."""

import json
import re
import time
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcore.policy.shell import lex
from wcore.policy.shell.analysis import COMMANDS_MAX
from wcore.policy.shell.parser import read
from wcore.policy.shell.reading import words
from wcore.policy.shell.reasons import Reason
from wcore.policy.shell.word_parts import HOLE, ReadWord

CASES: Final = Path(__file__).parents[4] / "protocol-spec" / "cases" / "shell"
EVERYDAY: Final = Path(__file__).parents[3] / "policy" / "everyday.jsonl"
PIECES: Final = (
    *("a", "b1", "rm", "git", "-x", "--y=z", "A=1", " ", "\t", "\n", ";", "&&", "||", "|", "&"),
    *(
        "'",
        '"',
        "\\",
        "\\\n",
        "$",
        "$X",
        "${X}",
        "${X:-",
        "$(",
        "`",
        ")",
        "(",
        "((",
        "))",
        "}",
        "{",
    ),
    *("<", ">", ">>", "2>&1", "<<E\n", "<<-'E'\n", "\nE\n", "<<<", "<(", "[[ ", " ]]", "#", "*"),
    *("?", "[", "]", "~", ",", "..", "if ", "then ", "for ", "do ", "case ", " in ", "esac", "!"),
    *("$'", "é", "→", "$((", "a=(", "@(", "/dev/null", "$?", "'a b'", '"a $X"', "\\ "),
)
TEXTS: Final = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
#: What no command holds: blanks, operators, comments, and the end of a here-document.
_BETWEEN: Final = re.compile(r"(?:[\s;&|(){}<>!]|\\\n|#[^\n]*)*")


def corpus() -> list[str]:
    found: list[str] = [json.loads(line) for line in EVERYDAY.read_text().splitlines()]
    for path in sorted(CASES.glob("*.jsonl")):
        found += [json.loads(line).get("text", "") for line in path.read_text().splitlines()]
    return found


def outline(text: str) -> tuple[list[object], list[object]] | None:
    """Return the words and redirections that the strict reader accepts."""
    if lex(text).reason is not None:
        return None
    commands = read(text, COMMANDS_MAX)
    redirects = [
        (r.span, r.operator, r.target.value, r.fd) for each in commands for r in each.redirects
    ]
    return [(w.span, w.source, w.value) for each in commands for w in each.words], list(redirects)


def tolerant(text: str) -> tuple[list[object], list[object]]:
    found = words(text).commands
    redirects = [
        (r.span, r.operator, r.target.value, r.fd) for each in found for r in each.redirections
    ]
    return [(w.span, w.source, w.value) for each in found for w in each.words], list(redirects)


def check_agrees(text: str) -> None:
    strict = outline(text)
    if strict is None:
        return
    assert tolerant(text) == strict
    plain = {word.span for each in read(text, COMMANDS_MAX) for word in each.words if word.dynamic}
    for each in words(text).commands:
        assert all(word.span in plain for word in each.words if word.literal is None)


def test_what_the_strict_reader_accepts_is_read_alike_in_the_corpus() -> None:
    texts = corpus()
    accepted = [text for text in texts if outline(text) is not None]
    for text in accepted:
        check_agrees(text)
    assert len(accepted) > 1000


@given(TEXTS)
def test_what_the_strict_reader_accepts_is_read_alike(text: str) -> None:
    check_agrees(text)


def test_expansions_within_expansions_are_followed_so_far() -> None:
    for begin, end in (("$((", "))"), ("${x:-", "}"), ("$(", ")"), ('"${x:-', '}"'), ("<(", ")")):
        assert words(f"a {begin * 30}1{end * 30}").doubt is None
        assert words(f"a {begin * 2000}1{end * 2000}").doubt is not None


def parts_of(text: str) -> list[ReadWord]:
    found: list[ReadWord] = []
    for each in words(text).commands:
        found += [*each.words, *each.inputs, *(r.target for r in each.redirections)]
    return found


def check_keeps_all(text: str) -> None:
    spans = [part.span for part in parts_of(text)]
    for each in words(text).commands:
        spans += [r.span for r in each.redirections]
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    at, between = 0, ""
    for start, end in sorted(spans):
        between += text[at:start]
        at = max(at, end)
    between += text[at:]
    assert _BETWEEN.fullmatch(between), between


@given(TEXTS)
def test_no_character_is_lost(text: str) -> None:
    check_keeps_all(text)


def test_no_character_of_the_corpus_is_lost() -> None:
    for text in corpus():
        check_keeps_all(text)


@given(st.text(max_size=200))
def test_every_text_has_an_answer(text: str) -> None:
    words(text)


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "$(",
            "`",
            "((",
            "(",
            "{",
            "'",
            '"',
            "\\",
            "<<E\n",
            "<<E ",
            "${",
            "$((",
            "a=(",
            "@(",
            "[",
            "$((a ",
        ),
        *('"$(', "$'", "! ", "case a in ", "[[ ", "x ", "; ", "<(", "if ", "$(case a in b)", "\\`"),
        *("$(cat <<E\n", "a{", "((a))", ")", "`\\`"),
    ],
)
@pytest.mark.clock
def test_time_grows_with_the_text_and_not_faster(piece: str) -> None:
    def spent(length: int) -> float:
        text = (piece * length)[:length]
        start = time.process_time()
        words(text)
        return time.process_time() - start

    # The fastest of three, or the first that is fast enough: others are at work as well.
    small = min(spent(4_000) for _ in range(3))
    assert any(spent(32_000) < 40 * max(small, 0.005) for _ in range(3)), small


def shapes(text: str) -> list[list[str]]:
    found = words(text).commands
    return [[word.shape.replace(HOLE, "□") for word in each.words] for each in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("r\"$x\"m 'F'", [["r□m", "F"]]),
        ("r''m \\F $'\\x72'", [["rm", "F", "r"]]),
        ("r\\\nm F", [["rm", "F"]]),
        ("a $(b $(c)) `d`", [["c"], ["b", "□"], ["d"], ["a", "□", "□"]]),
        ("echo \"$(cat <<'E'\n(x\nE\n)\" && y", [["cat"], ["echo", "□"], ["y"]]),
        ("x <<E; y\n$(z)\nE\nw", [["x"], ["y"], ["z"], ["w"]]),
        ("case $x in a) b;; esac; c", [["case", "□", "in", "a"], ["b"], ["esac"], ["c"]]),
        ("$(case x in a) $X;; esac)", [["case", "x", "in", "a"], ["□"], ["esac"], ["□"]]),
        ("for x do y; done", [["for", "x"], ["do", "y"], ["done"]]),
        ("f() { x; }", [["f"], ["{", "x"], ["}"]]),
        ("function f { x; }", [["function", "f"], ["{", "x"], ["}"]]),
        ("[[ -n $x && y ]] && z", [["□", "-n", "□", "y", "]]"], ["z"]]),
        ("((a = $(b))); c", [["b"], ["□"], ["c"]]),
        ("((a); b)", [["a"], ["b"]]),
        ("a=(x $(y) z) b", [["y"], ["a=□", "b"]]),
        (
            "ls !(a|$(b)) {c,d} [e]f a{b} ~ ~/x",
            [["b"], ["ls", "!□", "□", "□f", "a{b}", "□", "□/x"]],
        ),
        ("!(a)", [["!"], ["a"]]),
        ("if !(a)", [["if", "!"], ["a"]]),
        ("f+() { a; }", [["f+"], ["{", "a"], ["}"]]),
        (
            "time -p case $x in a) b;; esac",
            [["time", "-p", "case", "□", "in", "a"], ["b"], ["esac"]],
        ),
        ("cat <<E\na \\\nb\nE\nc", [["cat"], ["c"]]),
        ("diff <(a) >(b)", [["a"], ["b"], ["diff", "□", "□"]]),
        ("a # b\nc", [["a"], ["c"]]),
    ],
)
def test_words_and_their_holes(text: str, found: list[list[str]]) -> None:
    assert shapes(text) == found


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a 'b", Reason.QUOTING),
        ('a "b', Reason.QUOTING),
        ("a $(b", Reason.QUOTING),
        ("a \\", Reason.QUOTING),
        ("a $\\\n(b)", Reason.QUOTING),
        ("a $x\\\ny", Reason.QUOTING),
        ("cat <<EE\nE\\\nE\nb", Reason.HERE_DOCUMENT),
        ("cat <<E\n\\\\\nE\nb", None),
        ("cat <<E\na\\\nE\n'\nE\nb #'", Reason.HERE_DOCUMENT),
        ("cat <<'E'\na\\\nE\nb", None),
        ('"${x:-\'}"', Reason.QUOTING),
        ('"${x@P}"', Reason.EXPANSION),
        ("a {1..2000}", Reason.BRACE),
        ("a \0", Reason.FORBIDDEN_CHARACTER),
        ("a \ud800", Reason.FORBIDDEN_CHARACTER),
        ("a" * 20_000, Reason.TOO_LONG),
        ("$(" * 50, Reason.SUBSTITUTION),
        ("cat <<E $(x\n)\nE", Reason.HERE_DOCUMENT),
        ("a 'b' $(c) `d`", None),
    ],
)
def test_where_it_is_in_doubt(text: str, reason: Reason | None) -> None:
    assert words(text).doubt == reason
