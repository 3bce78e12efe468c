"""What an analysis tells of words and redirections."""

from wcore.policy.shell import analyse, lex


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
