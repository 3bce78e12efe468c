"""A yes to one text, and to a set of prefixes: what they cover, for made texts and damaged ones."""

import unicodedata
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from wcore.policy import shell
from wcore.policy.covering_grants import find_covering_grant
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.exact_grants import EXACT_CHARS_MAX, UNTIED, ties_of, why_not
from wcore.policy.facts import Facts, gather
from wcore.policy.grants import (
    PREFIXES_MAX,
    Grant,
    GrantBook,
    ScopeRefused,
    grants_of,
    validate_scope,
)
from wcore.policy.inheritance import decide_for_subagent
from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.policy.suggestions import suggest
from wcore.vocabulary import (
    Always,
    AlwaysExact,
    AlwaysPath,
    AlwaysPrefix,
    AlwaysPrefixes,
    Category,
    Mode,
    Prepared,
    Row,
    Scope,
    Verdict,
)

PLACES = Places("/ws", "/home/me", own=("/home/me/.config/wcore",))
RULES = """
deny = ["Bash(curl)"]
[[rule]]
match = "Bash(git push)"
do = "deny"
"""
PIECES = st.sampled_from(
    "echo a|git log|git push|cat .env|cat ../x|sudo ls|curl u|./run.sh|for i in 1; do|done|$x|&&|;|"
    "|| |\n|é|é|\u200b|>o|rm -rf /|< /etc/hosts|'|\"|cat .git/config|tee .wcore/policy.toml".split(
        "|"
    )
)
TEXTS = st.lists(PIECES, min_size=1, max_size=5).map(" ".join)
TIES = st.sampled_from([None, "0" * 64, "1" * 64])


def called(text: str, ties: str | None = None) -> Facts:
    prepared = Prepared("Bash", Category.EXEC, {}, "", "", command=text)
    return gather(prepared, shell.lex(text), PLACES, ties)


def standing(grants: GrantBook, mode: Mode = Mode.DEFAULT) -> DecisionContext:
    policies = PolicySet([parse(RULES, "/p.toml", Level.USER, ParseContext(PLACES, {}))])
    return DecisionContext(mode, grants, frozenset({"Bash"}), policies)


def book(scope: Scope, facts: Facts) -> GrantBook:
    """Return what a yes with `scope` to the call leaves behind."""
    weighed = validate_scope(scope, facts, PLACES, GrantBook())
    if isinstance(weighed, ScopeRefused):
        return GrantBook()
    grants = enumerate(grants_of(scope, weighed, facts))
    return GrantBook(replace(grant, grant_id=f"g{n}") for n, grant in grants)


def damaged(text: str) -> list[str]:
    """Return texts that look or read much like `text`."""
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    around = [f"{text}{more}" for more in (" ", "\n", "\t", ";", "\0", "\u200b", "#", "\r")]
    return [text, *forms, *around, f" {text}", text.upper(), text.strip(), text[:-1], text * 2, ""]


@given(TEXTS, TIES, TIES)
@example("é", None, None)
def test_an_exact_grant_covers_the_same_text_with_the_same_ties_only(
    text: str, then: str | None, now: str | None
) -> None:
    given_on = called(text, then)
    grants = book(AlwaysExact(text), given_on)
    for other in damaged(text):
        facts = called(other, now)
        same = other.encode() == text.encode() and ties_of(facts) == ties_of(given_on)
        assert (find_covering_grant(facts, grants) is not None) == same
    same_paths = called(text, now).paths == given_on.paths
    assert (ties_of(called(text, now)) == ties_of(given_on)) == (now == then and same_paths)


@given(TEXTS, st.lists(st.sampled_from(["echo", "git log", "git", "cat", "eval", ""]), max_size=4))
def test_a_set_is_all_its_prefixes_or_none(text: str, prefixes: list[str]) -> None:
    facts = called(text)
    single = [shell.parse_grant(prefix) for prefix in prefixes]
    parsed = [each for each in single if isinstance(each, shell.PrefixGrant)]
    kept = book(AlwaysPrefixes(tuple(prefixes)), facts)
    if not kept:
        return
    assert len(parsed) == len(prefixes), "one that cannot be granted refuses all"
    assert {g.scope for g in kept} == {AlwaysPrefix(each.text) for each in parsed}
    assert facts.analysis is not None
    assert shell.matches(facts.analysis, parsed).covered
    for each in parsed:
        others = [other for other in parsed if other != each]
        needed = not shell.matches(facts.analysis, others).covered
        assert needed or any(
            shell.matches(shell.Analysis(text, (command,)), [each]).covered
            for command in facts.analysis.commands
        )


STOPS = (Row.BLOCKED, Row.DENY, Row.SAFETY, Row.RULE, Row.QUESTION, Row.PROTECTED)


@given(TEXTS, st.sampled_from([Mode.DEFAULT, Mode.READ_ONLY, Mode.AUTO_EDIT]))
def test_no_scope_offered_or_typed_lifts_what_rows_one_to_five_stop(text: str, mode: Mode) -> None:
    facts = called(text)
    bare = decide(facts, standing(GrantBook(), mode))
    unreadable = bare.why.row is Row.UNREADABLE and bare.verdict is Verdict.DENY
    if bare.verdict is Verdict.ALLOW or not (bare.why.row in STOPS or unreadable):
        return
    assert suggest(facts, standing(GrantBook(), mode), PLACES) == []
    typed = ["echo", "git", "cat", "git push", "curl", "tee"]
    scopes: list[Scope] = [AlwaysExact(text), Always(), AlwaysPath("/etc")]
    scopes += [AlwaysPrefix(prefix) for prefix in typed]
    scopes += [AlwaysPrefixes(pair) for pair in product(typed, typed)]
    for scope in scopes:
        after = decide(facts, standing(book(scope, facts), mode))
        assert after.verdict is not Verdict.ALLOW, scope
        assert (after.verdict, after.why.row) == (bare.verdict, bare.why.row)


@given(TEXTS)
def test_what_a_card_offers_would_have_spared_it(text: str) -> None:
    facts, before = called(text), standing(GrantBook())
    for scope in suggest(facts, before, PLACES):
        assert decide(facts, standing(book(scope, facts))).verdict is Verdict.ALLOW


def test_the_doubt_about_a_text_is_lifted_for_a_sub_agent_by_its_own_card_only() -> None:
    facts = called("for i in 1; do date; done")
    exact = book(AlwaysExact("for i in 1; do date; done"), facts)
    own, bare = standing(exact), standing(GrantBook())
    assert decide_for_subagent(facts, bare, [own]).verdict is Verdict.ASK
    assert decide_for_subagent(facts, own, [bare]).verdict is Verdict.ALLOW
    denied = called("for i in 1; do curl; done")
    exact = book(AlwaysExact("for i in 1; do curl; done"), denied)
    assert decide_for_subagent(denied, standing(exact), [bare]).verdict is Verdict.DENY


@pytest.mark.parametrize(
    ("command", "facts", "why"),
    [
        ("a", Facts("Bash", Category.EXEC, command="b"), "not the command"),
        ("a", Facts("Spawn", Category.EXEC), "Spawn"),
        ("a", Facts("Write", Category.EDIT, command="a"), "Write"),
        ("a", Facts("mcp__x__sh", Category.MCP, command="a"), "mcp__x__sh"),
        ("a", Facts("Bash", Category.EXEC, command="a", ties=UNTIED), "more files"),
        ("a" * 4097, Facts("Bash", Category.EXEC, command="a" * 4097), "4096"),
    ],
)
def test_what_cannot_be_granted_to_the_letter(command: str, facts: Facts, why: str) -> None:
    assert why in (why_not(command, facts) or "")
    assert EXACT_CHARS_MAX == 4096


@pytest.mark.parametrize("prefixes", [(), ("git log",) * (PREFIXES_MAX + 1)])
def test_a_set_has_one_to_sixteen(prefixes: tuple[str, ...]) -> None:
    refused = validate_scope(AlwaysPrefixes(prefixes), called("git log"), PLACES, GrantBook())
    assert isinstance(refused, ScopeRefused)
    assert "16" in refused.reason


def test_an_exact_grant_of_one_tool_or_agent_is_not_anothers() -> None:
    grants = GrantBook([Grant("g", "Bash", AlwaysExact("a"), "", "c", agent="helper")])
    assert find_covering_grant(called("a"), grants.of_agent("main", None)) is None
    assert find_covering_grant(called("a"), grants.of_agent("helper", None)) is not None
    other = Facts("Sh", Category.EXEC, command="a")
    assert find_covering_grant(other, grants.of_agent("helper", None)) is None
