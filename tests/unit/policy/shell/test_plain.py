import json

import pytest
from tables import rows

from wcore.policy.shell import Analysis, Reason, analyse, lex

TEXTS = [
    *(
        "crate",
        "crate 'a b' \"$X\" ~/y {a,b} 2>&1 <in | b",
        "FOO=1 \u00e9 '\u4e2d' # x\nc",
        "",
        "a $(b)",
    ),
    *("a\ud800", "x" * 20_000, "crate &&", "a '", "a;#b"),
]


@pytest.mark.parametrize("text", TEXTS)
def test_an_analysis_survives_its_journey(text: str) -> None:
    for analysis in (analyse(text), lex(text)):
        plain = json.loads(json.dumps(analysis.to_plain()))
        assert Analysis.from_plain(text, plain) == analysis


def test_reasons_survive_as_reasons() -> None:
    analysis = Analysis.from_plain("", json.loads(json.dumps(analyse("").to_plain())))
    assert analysis.reason is Reason.EMPTY
    timeout = Analysis("x", reason=Reason.TIMEOUT)
    assert Analysis.from_plain("x", timeout.to_plain()) == timeout


@rows(
    "text",
    [
        *("null", "1", '"x"', "{}", "[]", '["nonsense", []]', '["empty", [1]]', "[1]", "[[1]]"),
        *('["empty", ["a", "b"]]', "[[[]]]", "[[[[], []]]]", "[[[[1], []]]]", "[[[[[0, 1]], []]]]"),
        "[[[[[0, 1, null, 0, 0]], []]]]",
        "[[[[[0, 1, null, false, false]], [[1]]]]]",
        "[[[[[0, 1, null, false, false]], [3]]]]",
    ],
)
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a|is not a valid"):
        Analysis.from_plain("x", json.loads(text))


def test_values_are_words_without_their_quotes() -> None:
    text = "crate 'a b' \"c d\" e\\ f g''h \"\\$x \\q\" 'it'\\''s' i\\\nj \"k\\\nl\" ''"
    (command,) = analyse(text).commands
    assert [word.value for word in command.words] == [
        *("crate", "a b", "c d", "e f", "gh", "$x \\q", "it's", "ij", "kl", "")
    ]
    assert not any(word.dynamic for word in command.words)


def test_words_tell_whether_the_shell_computes_them() -> None:
    (command,) = analyse('a $A "$A" * ?x [ab] {a,b} ~ ~/x a~b [ ] x=~/y').commands
    told = [(word.source, word.dynamic, word.loose) for word in command.words]
    assert told == [
        ("a", False, False),
        ("$A", True, True),
        ('"$A"', True, False),
        ("*", True, True),
        ("?x", True, True),
        ("[ab]", True, True),
        ("{a,b}", True, True),
        ("~", True, False),
        ("~/x", True, False),
        ("a~b", False, False),
        ("[", False, False),
        ("]", False, False),
        ("x=~/y", True, False),
    ]


def test_redirections_are_told_with_their_targets() -> None:
    (command,) = analyse("crate 2>&1 < in.txt >/dev/null").commands
    told = [(r.fd, r.operator, r.target.value, r.span) for r in command.redirects]
    assert told == [
        (2, ">&", "1", (6, 10)),
        (None, "<", "in.txt", (11, 19)),
        (None, ">", "/dev/null", (20, 30)),
    ]
    assert command.span == (0, 30)
    (early,) = analyse("2>&1 crate").commands
    assert early.span == (0, 10)


def test_the_lexer_alone_agrees_where_both_understand() -> None:
    text = "crate 'a' | b && c # d"
    assert lex(text) == analyse(text)
    assert lex("crate { }").reason is None
