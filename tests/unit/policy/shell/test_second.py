"""The second analysis alone: what it must catch, should the lexer be wrong."""

import pytest
from msgspec.structs import replace
from tables import rows

from wcore.policy.shell import Reason, lex
from wcore.policy.shell.bashlex_check import find_doubt
from wcore.policy.shell.model import SimpleCommand, Word


def commands(text: str) -> tuple[SimpleCommand, ...]:
    return lex(text).commands


def one(text: str) -> tuple[SimpleCommand, ...]:
    """Return what a lexer that sees only one long word would say."""
    return (SimpleCommand((Word((0, len(text)), text, text),)),)


@pytest.mark.parametrize(
    "text", ["a", "a b | c && d; e\nf", "a 2>&1 <b >/dev/null", "A=1 a $x ~ ~/b"]
)
def test_it_confirms_what_it_sees_too(text: str) -> None:
    assert find_doubt(text, commands(text)) is None


def test_a_moved_border_is_seen() -> None:
    (command,) = commands("crate test x")
    first, second, third = command.words
    longer = replace(second, span=(6, 12))
    for words in ((first, second), (first, longer), (first, second, third, third), (first,)):
        doubt = find_doubt("crate test x", (SimpleCommand(words),))
        assert doubt
        assert doubt.reason == Reason.PARSER_DISAGREES
        assert doubt.span == SimpleCommand(words).span


def test_a_missing_or_additional_command_is_seen() -> None:
    both = commands("a; b")
    for claimed in (both[:1], both[1:], (*both, both[0]), both[::-1]):
        doubt = find_doubt("a; b", claimed)
        assert doubt
        assert doubt.reason == Reason.PARSER_DISAGREES


def test_a_missing_or_different_redirection_is_seen() -> None:
    (command,) = commands("a 2>&1 <b")
    first, second = command.redirects
    for redirects in ((), (first,), (second, first), (replace(first, fd=None), second)):
        doubt = find_doubt("a 2>&1 <b", (replace(command, redirects=redirects),))
        assert doubt
        assert doubt.reason == Reason.PARSER_DISAGREES
    assert find_doubt("a >&2", commands("a >&1"))
    assert find_doubt("a >&1", commands("a >&1")) is None


@rows(
    "text",
    [
        *("a &", "a |& b", "! a", "(a)", "{ a; }", "a() { b; }", "if a; then b; fi"),
        *("for i in a; do b; done",),
        *("a $(b)", "a `b`", "a <(b)", "a $1", "a $@", "a <<E\nb\nE", "a $((1))", "time a"),
        *("[[ a ]]",),
        *("case a in b) c;; esac", "a ~$x", "", "#", "a 'b", "a $", "coproc a"),
        *("select i in a; do b; done",),
    ],
)  # fmt: skip
def test_what_it_does_not_know_is_a_failure(text: str) -> None:
    doubt = find_doubt(text, one(text))
    assert doubt
    assert doubt.reason in (Reason.PARSER_FAILED, Reason.PARSER_DISAGREES)


@pytest.mark.parametrize(
    "text", ["rg -e'${'", "git commit -m='use ${'", "x'${y'", "a'$\\\n{'", "a ${x:-y}"]
)
def test_it_is_never_asked_about_a_brace_that_it_may_loop_on(text: str) -> None:
    doubt = find_doubt(text, one(text))
    assert doubt
    assert doubt.reason == Reason.EXPANSION
