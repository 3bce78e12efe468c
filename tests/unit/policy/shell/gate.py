"""Shorthands of these tests: what the gate says about a text under some grants."""

from functools import cache

from wcore.policy.shell import PrefixGrant, Reason, covers, lex, matches, parse_grant
from wcore.policy.shell.model import Coverage


@cache
def grant(text: str) -> PrefixGrant:
    parsed = parse_grant(text)
    assert isinstance(parsed, PrefixGrant), parsed
    return parsed


def cover(text: str, *grants: str) -> Coverage:
    return covers(text, [grant(each) for each in grants or ("crate",)])


def why(text: str, *grants: str) -> Reason | None:
    """Return why `text` is not covered by `grants` (by `crate`, where none are given)."""
    coverage = cover(text, *grants)
    assert coverage.covered == (coverage.reason is None)
    return coverage.reason


def why_lexed(text: str, granted: str) -> Reason | None:
    """Return what the lexer alone says, in a third of the time: for long tables of what asks.

    What it does not cover is not covered, whatever the second opinion: that can but ask as well.
    """
    return matches(lex(text), [grant(granted)]).reason


def where(text: str, *grants: str) -> str:
    """Return the part of `text` that the answer points at."""
    span = cover(text, *grants).span
    assert span is not None
    return text.encode()[slice(*span)].decode()
