from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st
from unit.policy.shell.gate import grant
from unit.policy.shell.test_texts import FORBIDDEN

from wcore.policy.shell import (
    PrefixGrant,
    PrefixGrantRefused,
    Reason,
    analyse,
    covers,
    lex,
    matches,
    parse_grant,
    rough_words,
    suggest,
)
from wcore.policy.shell.analysis import COMMANDS_MAX

FRAGMENTS = [
    *(
        "crate",
        "tool run",
        "rm",
        "echo",
        "printf",
        "test",
        "[ ",
        " ]",
        "cd",
        "./x",
        "A=1",
        "FOO=1 tool",
        "a",
    ),
    *(
        " ",
        "  ",
        "\t",
        "\n",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "|&",
        ";;",
        ">",
        ">>",
        "<",
        "<<",
        "2>&1",
        ">/dev/null",
    ),
    *(
        "<in.txt",
        "'",
        '"',
        "'a b'",
        '"$A"',
        "\\",
        "\\\n",
        "`",
        "$",
        "$(",
        ")",
        "(",
        "$A",
        "${A}",
        "${",
        "}",
    ),
    *(
        "{",
        "{a,b}",
        "{Z..a}",
        "~",
        "~/",
        "~root",
        "*",
        "?",
        "[",
        "]",
        "!",
        "#",
        "%n",
        "-v",
        "=",
        ":",
        "1",
        "2",
    ),
    *(
        "\u00e9",
        "\u4e2d",
        "\0",
        "\r",
        "\u200b",
        "\ud800",
        "time",
        "if",
        "exit",
        "$?",
        "$'",
        "\u0663",
        ",",
    ),
]
GRANTS = [
    "crate",
    "tool run",
    "echo",
    "printf",
    "test",
    "[",
    "cd",
    "./x",
    "FOO=1 tool",
    "exit",
    "a",
]


def command(head: str, words: list[str]) -> str:
    return " ".join([head, *words])


text = st.one_of(
    st.text(max_size=60),
    st.text(st.characters(codec=None, exclude_categories=()), max_size=60),
    st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join),
)
plain = st.sampled_from(
    ["a", "b'c d'", '"$A"', "{a,b}", "~/x", "\\;", "$A", "x=1", "2>&1", "\u00e9"]
)
simple = st.builds(
    command,
    st.sampled_from(["crate", "tool run", "echo", "FOO=1 tool", "exit"]),
    st.lists(plain, max_size=4),
)
covered = st.lists(simple, min_size=1, max_size=4).map(" && ".join)
grants = st.lists(st.sampled_from(GRANTS), max_size=5).map(lambda names: list(map(grant, names)))

ALL = [grant(name) for name in GRANTS]


@given(text, grants)
@settings(max_examples=400)
def test_every_text_gets_an_answer(text: str, grants: list[PrefixGrant]) -> None:
    coverage = covers(text, grants)
    assert coverage.covered == (coverage.reason is None)
    if coverage.span is not None:
        start, end = coverage.span
        assert 0 <= start <= end <= len(text.encode("utf-8", "surrogatepass"))
    for suggestion in suggest(text):
        assert isinstance(parse_grant(suggestion), PrefixGrant)
    assert all(rough_words(text))


@given(text)
@settings(max_examples=400)
def test_every_text_is_a_grant_or_refused(text: str) -> None:
    parsed = parse_grant(text)
    if isinstance(parsed, PrefixGrantRefused):
        assert parsed.reason
    else:
        assert parsed.alternatives
        assert all(parsed.alternatives)
        assert parse_grant(parsed.text) == parsed


@given(text)
@settings(max_examples=300)
def test_spans_are_where_the_words_are(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    for command in lex(text).commands:
        for word in (*command.words, *(redirect.target for redirect in command.redirects)):
            assert data[slice(*word.span)].decode() == word.source
        starts = [word.span for word in command.words]
        assert starts == sorted(starts)


@given(covered, st.sampled_from(FORBIDDEN), st.data())
def test_no_forbidden_character_can_be_slipped_in(
    text: str, character: str, data: st.DataObject
) -> None:
    assert covers(text, ALL).covered
    at = data.draw(st.integers(0, len(text)))
    assert covers(text[:at] + character + text[at:], ALL).reason == Reason.FORBIDDEN_CHARACTER


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=10).map("".join), grants, grants)
def test_more_grants_never_cover_less(
    text: str, some: list[PrefixGrant], more: list[PrefixGrant]
) -> None:
    analysis = analyse(text)
    if matches(analysis, some).covered:
        assert matches(analysis, some + more).covered
        assert matches(analysis, more + some).covered


@given(covered, covered, st.sampled_from(["\n", " && ", "; ", " || ", " | ", "\n\n", " &&\n"]))
def test_covered_texts_can_be_joined(one: str, other: str, joint: str) -> None:
    assert covers(one + joint + other, ALL).covered


@given(covered)
def test_an_uncovered_command_spoils_any_text(text: str) -> None:
    for spoiled in (f"{text}; rm x", f"rm x; {text}", f"{text}\nrm", f"{text} | rm", f"{text} & "):
        assert not covers(spoiled, ALL).covered


@given(simple)
def test_a_suggested_grant_covers_the_command_it_was_made_for(text: str) -> None:
    for suggestion in suggest(text):
        assert covers(text, [grant(suggestion)]).covered
        assert covers(f"{text}\n{text}", [grant(suggestion)]).covered


def test_pairs_of_fragments_never_hide_what_follows() -> None:
    open_ended = {"'", '"', "\\", "\\\n", "#"}  # these may rightly swallow a separator
    for one, other in permutations(set(FRAGMENTS) - open_ended, 2):
        for text in (f"crate {one}{other}\nrm x", f"crate {one} {other};rm x"):
            assert not covers(text, ALL).covered, text


def test_the_limit_of_commands_holds_for_joined_texts() -> None:
    half = "crate;" * (COMMANDS_MAX // 2)
    assert covers(half + half, ALL).covered
    assert covers(half + half + "crate", ALL).reason == Reason.TOO_MANY_COMMANDS
