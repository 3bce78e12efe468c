"""Every form of a lasting yes, and one that no host knows yet, on the card of every Python host."""

import pytest
from wcore_host import Tool, always_exact, always_prefixes
from wcore_host.acp import permission_options
from wcore_host.events import Grant, JsonObject, Preview, Scope, ToolRequest
from wcore_host.headless.answer_menu import AnswerMenu, ChoiceAction
from wcore_host.headless.card_queue import Card
from wcore_host.headless.grants import NOT_DESCRIBED, covered, is_known
from wcore_host.permission import Allow
from wcore_host.plain.call_dialog import CallDialog
from wcore_host.plain.dialog import Again, Done
from wcore_host.plain.style import Style

EXACT = always_exact("git add a && git commit \u202e")
SET = always_prefixes("git add", "git commit")
NOTE = "It runs the project's own code. \u202e"
PREFIX: Scope = {"always_prefix": {"prefix": "git", "note": NOTE}}
FOLDER: Scope = {"always_path": {"root": "/data"}}
SERVER: Scope = {"always_server": {"server": "数据库"}}
KNOWN = [EXACT, SET, PREFIX, FOLDER, SERVER]
UNKNOWN: list[Scope] = [
    {"always_moon": {"phase": "full"}},
    {"always_exact": {"words": "x"}},
    {"always_exact": {"command": "x"}, "always_moon": {}},
    {"always_prefixes": {"prefixes": []}},
    {"always_prefixes": {"prefixes": ["git", 7]}},
    {"always_prefixes": {"prefixes": ["git", "x\u202e"]}},
    {"always_prefix": {"prefix": "x\u202e"}},
    {"always_prefix": {}},
    {"always_server": {}},
    {"always_server": {"server": 7}},
    {"always_server": {"server": "x\u202e"}},
    {"always_host": {"server": "x"}},
    {"always_host": {"host": "x\u202e"}},
    {},
    "always_everything",
]
WORDS = {
    "exact": "this exact command",
    "set": "begins with `git add` or `git commit`",
    "prefix": "starts with",
    "folder": "reading below",
    "server": "any tool of the MCP server `数据库`, as its tools are now",
}


def request(*scopes: Scope) -> ToolRequest:
    tool = Tool("Bash", "exec", {"command": "git add a && git commit"})
    return ToolRequest("m", "c", tool, suggestions=scopes, preview=Preview("command", "git"))


def approved(done: object) -> JsonObject:
    assert isinstance(done, Done)
    assert isinstance(done.command, dict)
    return done.command


def test_what_the_engine_says_of_a_prefix_stands_on_the_offer_of_every_host() -> None:
    offered: Scope = {"always_prefixes": {"prefixes": ["git add", "make"], "note": NOTE}}
    for scope in (PREFIX, offered):
        terminal = AnswerMenu(Card(request(scope)), persists=True)
        options = permission_options.choices(request(scope), frozenset({"persist"}), forms=False)
        chat = " ".join(CallDialog(request(scope), can_keep=True).rows(Style(width=400)))
        shown = (
            chat,
            " ".join(choice.label for choice in terminal.choices),
            " ".join(each.option.name for each in options),
        )
        for text in shown:
            assert "It runs the project's own code. ⟨U+202E⟩" in text, scope


@pytest.mark.parametrize("scope", UNKNOWN)
def test_a_form_that_is_not_known_is_not_described_as_another(scope: Scope) -> None:
    assert not is_known(scope)
    chat = CallDialog(request(scope), can_keep=True)
    rows = " ".join(" ".join(chat.rows(Style(width=200))).split())
    assert NOT_DESCRIBED in rows
    assert "p yes, and every" not in rows
    assert isinstance(chat.answer("p", Style(width=200)), Again), "and is no answer"
    terminal = AnswerMenu(Card(request(scope)), persists=True)
    (unknown,) = [n for n, each in enumerate(terminal.choices) if each.act is ChoiceAction.UNKNOWN]
    assert NOT_DESCRIBED in terminal.choices[unknown].label
    terminal.move(unknown)
    assert terminal.enter() is None
    options = permission_options.choices(request(scope), frozenset({"persist"}), forms=False)
    assert [each.option.option_id for each in options] == [
        "allow_once", "allow_always", "reject_once", "reject_stop",
    ]  # fmt: skip


@pytest.mark.parametrize(("words", "scope"), list(zip(WORDS.values(), KNOWN, strict=True)))
def test_each_known_form_is_said_in_words_and_sent_back_as_it_came(
    words: str, scope: Scope
) -> None:
    style = Style(width=200)
    chat = CallDialog(request(scope), can_keep=True)
    assert words in " ".join(chat.rows(style))
    step = chat.answer("p", style)
    assert isinstance(step, Again)
    if scope in (PREFIX, FOLDER):
        chat.answer(step.prefill, style)
    done = approved(chat.answer("p", style))
    assert done["persist"] == "project"
    if scope in (EXACT, SET):
        assert done["scope"] == scope
    terminal = AnswerMenu(Card(request(scope)), persists=True)
    (at,) = [n for n, c in enumerate(terminal.choices) if c.scope == scope]
    assert words in terminal.choices[at].label
    terminal.move(at)
    terminal.enter()
    assert terminal.enter(terminal.choices[at].text) == Allow(scope=scope)
    options = permission_options.choices(request(scope), frozenset({"persist"}), forms=False)
    named = {o.option.option_id: o for o in options}
    assert words in named["grant-1"].option.name
    assert named["grant-1"].verdict == Allow(scope=scope)
    assert ("grant-1-user" in named) == (scope is not EXACT), "a text is of one project"


def test_an_exact_yes_is_not_kept_everywhere_by_a_stray_letter() -> None:
    chat = CallDialog(request(EXACT), can_keep=True)
    chat.answer("p", Style(width=80))
    assert "everywhere" not in chat.prompt
    assert isinstance(chat.answer("u", Style(width=80)), Again)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("name", "every call"),
        ("prefix", "begin with 'x'"),
        ("path", "below 'x'"),
        ("exact", "exact command 'x'"),
        ("host", "every command reaches 'x'"),
        ("moon", "cannot describe"),
    ],
)
def test_a_listed_grant_of_any_kind_is_said_in_words(kind: str, words: str) -> None:
    assert words in covered(Grant("g", kind, "Bash", "x"))
