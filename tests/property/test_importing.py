"""What is made of another engine's rules is never more permissive than they were."""

from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from property import importing as theirs

from wcore.policy import shell
from wcore.policy.decide import Standing, decide
from wcore.policy.facts import Facts, PathFact
from wcore.policy.grants import GrantBook
from wcore.policy.importing import OBJECTS, TEXTS, Draft, ForeignError, Kind, as_toml
from wcore.policy.policies import Policies
from wcore.policy.policyparse import parse
from wcore.policy.protected import Places
from wcore.policy.rules import Level, Scene
from wcore.vocabulary import Access, Category, Mode, Verdict

SCENE: Final = Scene(Places("/ws", "/home/me"), {})
TRIES: Final = settings(max_examples=100)

WORDS: Final = st.sampled_from("git log push rm -rf x lx time FOO=1".split())
COMMANDS: Final = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
TEXTS_RUN: Final = st.lists(COMMANDS, min_size=1, max_size=3).map(" && ".join)
ENDS: Final = st.sampled_from(["", "*", " *", ":*", " * x", "* -rf*"])
PATTERNS: Final = st.tuples(COMMANDS, ENDS).map("".join) | st.sampled_from(["*", "*x", "* push"])
VERDICTS: Final = st.sampled_from(["allow", "ask", "deny"])


def policy_of(draft: Draft) -> Policies:
    return Policies([parse(as_toml(draft, "there"), "/p.toml", Level.USER, SCENE)])


def decided(facts: Facts, policies: Policies) -> Verdict:
    standing = Standing(Mode.DEFAULT, GrantBook(), frozenset({facts.tool}), policies)
    return decide(facts, standing).verdict


def run(text: str, policies: Policies) -> Verdict:
    return decided(Facts("Bash", Category.EXEC, (), shell.analyse(text)), policies)


def touch(tool: str, path: str, policies: Policies) -> Verdict:
    category = Category.INFO if tool == "Read" else Category.EDIT
    access = Access.READ if tool == "Read" else Access.WRITE
    fact = PathFact(path, access, inside=path.startswith("/ws/"))
    return decided(Facts(tool, category, (fact,)), policies)


def is_looser(draft: Draft) -> bool:
    return any(note.kind is Kind.LOOSER for note in draft.notes)


def at_least(ours: Verdict, source: Verdict, draft: Draft) -> None:
    """Assert that ours is as strict; asking instead of denying must be in the report."""
    if ours is Verdict.ASK and source is Verdict.DENY and is_looser(draft):
        return
    assert theirs.STRICT[ours] >= theirs.STRICT[source]


# --- Claude Code ------------------------------------------------------------------------------


def lists(patterns: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, list[str]]]:
    some = st.lists(patterns, max_size=3)
    return st.fixed_dictionaries({"allow": some, "ask": some, "deny": some})


@TRIES
@given(lists(PATTERNS), TEXTS_RUN)
def test_commands_of_claude_code(rules: dict[str, list[str]], text: str) -> None:
    written = {name: [f"Bash({p})" for p in found] for name, found in rules.items()}
    draft = OBJECTS["claude"]({"permissions": written}, SCENE)
    judge = theirs.by_strictest_list(rules, theirs.claude_command_fits)
    ours = run(text, policy_of(draft))
    assert not is_looser(draft)
    at_least(ours, theirs.text_judge(judge)(text), draft)


PARTS: Final = st.sampled_from(["src", "a", "*", "**", ".env", "*.md", "a*b**c", "x.md"])
PLACES: Final = st.sampled_from(["", "./", "/", "//", "//ws/", "~/", "**/"])
GLOBS: Final = st.tuples(
    PLACES,
    st.lists(PARTS, min_size=1, max_size=3).map("/".join),
    st.sampled_from(["", "/", "/**"]),
).map("".join)
FOLDERS: Final = st.sampled_from(["/ws", "/ws/src", "/ws/src/a", "/home/me", "/src", "/ws/.env"])
NAMES: Final = st.sampled_from(["src", "a", "x.md", ".env", "abc"])
PATHS: Final = st.tuples(FOLDERS, st.lists(NAMES, min_size=1, max_size=3).map("/".join)).map(
    "/".join
)


@TRIES
@given(lists(GLOBS), PATHS, st.sampled_from(["Read", "Edit"]))
def test_paths_of_claude_code(rules: dict[str, list[str]], path: str, tool: str) -> None:
    written = {name: [f"{tool}({p})" for p in found] for name, found in rules.items()}
    draft = OBJECTS["claude"]({"permissions": written}, SCENE)
    policies = policy_of(draft)
    for base in ("/ws", "/home/me/.claude"):
        judge = theirs.by_strictest_list(rules, theirs.gitignore_below(base, "/home/me"))
        for ours in ("Read",) if tool == "Read" else ("Edit", "Write", "MultiEdit"):
            at_least(touch(ours, path, policies), judge(path), draft)


# --- Codex ------------------------------------------------------------------------------------

CHOICES: Final = st.lists(WORDS, min_size=1, max_size=2)
PREFIX_RULES: Final = st.lists(
    st.tuples(
        st.lists(CHOICES, min_size=1, max_size=3),
        st.sampled_from(["allow", "prompt", "forbidden"]),
    ),
    max_size=5,
)


@TRIES
@given(PREFIX_RULES, TEXTS_RUN)
def test_commands_of_codex(rules: list[tuple[list[list[str]], str]], text: str) -> None:
    source = "".join(f"prefix_rule(pattern={p!r}, decision={d!r})\n" for p, d in rules)
    draft = TEXTS["codex"](source, SCENE)
    assert not is_looser(draft)
    judge = theirs.text_judge(theirs.codex_judge(rules))
    at_least(run(text, policy_of(draft)), judge(text), draft)


# --- Gemini CLI -------------------------------------------------------------------------------

REGEXES: Final = ["git (log|push)", "git|rm", "gi?t", "rm.*-rf", "l+x"]
CONDITIONS: Final = st.one_of(
    st.sampled_from([("toolName", "run_shell_command"), ("toolName", "*")]),
    COMMANDS.map(lambda text: ("commandPrefix", text)),
    COMMANDS.map(lambda text: ("commandPrefix", text + " ")),
    st.sampled_from([("commandRegex", regex) for regex in REGEXES]),
)


def gemini_rule(parts: tuple[tuple[str, str], str, int, bool]) -> dict[str, Any]:
    (key, value), decision, priority, redirects = parts
    more = {"decision": decision, "priority": priority, "allowRedirection": redirects}
    return {key: value, **more}


def priority_of(rule: dict[str, Any]) -> int:
    return rule["priority"]


GEMINI_RULES: Final = st.lists(
    st.tuples(
        CONDITIONS,
        st.sampled_from(["allow", "ask_user", "deny"]),
        st.integers(0, 5),
        st.booleans(),
    ).map(gemini_rule),
    max_size=5,
    unique_by=priority_of,
)


def as_tables(rules: list[dict[str, Any]]) -> str:
    def value(given: object) -> str:
        return str(given).lower() if isinstance(given, bool | int) else f"'{given}'"

    tables = ("".join(f"{k} = {value(v)}\n" for k, v in rule.items()) for rule in rules)
    return "".join(f"[[rule]]\n{table}" for table in tables)


@TRIES
@given(GEMINI_RULES, TEXTS_RUN, st.sampled_from(["", " > out", " 2>&1"]))
def test_commands_of_gemini(rules: list[dict[str, Any]], text: str, end: str) -> None:
    draft = TEXTS["gemini"](as_tables(rules), SCENE)
    policies = policy_of(draft)
    for whole_words in (False, True):
        judge = theirs.text_judge(theirs.gemini_judge(rules, whole_words=whole_words))
        at_least(run(text + end, policies), judge(text + end), draft)


# --- opencode ---------------------------------------------------------------------------------


@TRIES
@given(st.dictionaries(PATTERNS, VERDICTS, max_size=5), TEXTS_RUN, st.booleans())
def test_commands_of_opencode(entries: dict[str, str], text: str, of_agent: bool) -> None:
    permission = {"permission": {"bash": entries}}
    draft = OBJECTS["opencode"]({"agent": {"build": permission}} if of_agent else permission, SCENE)
    judge = theirs.text_judge(theirs.opencode_judge(list(entries.items())))
    at_least(run(text, policy_of(draft)), judge(text), draft)


WILDCARDS: Final = st.lists(
    st.sampled_from(["src", "/", "*", "a", ".env", ".md", "?", "~/", "$HOME/"]),
    min_size=1,
    max_size=5,
).map("".join)


@TRIES
@given(st.dictionaries(WILDCARDS, VERDICTS, max_size=4), PATHS, st.sampled_from(["read", "edit"]))
def test_paths_of_opencode(entries: dict[str, str], path: str, key: str) -> None:
    draft = OBJECTS["opencode"]({"permission": {key: entries}}, SCENE)
    policies = policy_of(draft)
    built_in = {"*.env": "deny", "*.env.*": "deny", "*.env.example": "allow"}
    spelled = [*built_in.items()] if key == "read" else []
    for pattern, action in entries.items():
        begins = next((b for b in ("~/", "$HOME/") if pattern.startswith(b)), None)
        spelled.append(("/home/me/" + pattern.removeprefix(begins) if begins else pattern, action))
    seen = path.removeprefix("/ws/") if path.startswith("/ws/") else path
    judge = theirs.opencode_judge(spelled)
    for tool in ("Read",) if key == "read" else ("Edit", "Write", "MultiEdit"):
        at_least(touch(tool, path, policies), judge(seen), draft)


# --- all --------------------------------------------------------------------------------------

LEAVES: Final[st.SearchStrategy[object]] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=20), VERDICTS
)
KEYS: Final = st.one_of(
    st.sampled_from("permissions permission allow deny bash * agent rule".split()),
    st.text(max_size=8),
)


def nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3))


VALUES: Final = st.recursive(LEAVES, nested, max_leaves=12)


def is_understood_or_refused(make: Callable[[], Draft]) -> None:
    try:
        draft = make()
    except ForeignError:
        return
    policy_of(draft)


@pytest.mark.parametrize("name", sorted(OBJECTS))
@given(value=VALUES)
def test_whatever_the_file_holds_there_is_a_policy_or_one_error(name: str, value: object) -> None:
    is_understood_or_refused(lambda: OBJECTS[name](value, SCENE))


@pytest.mark.parametrize("name", sorted(TEXTS))
@given(text=st.text(max_size=60) | st.text("prefix_rule(=)[]'\"a,\n{}*", max_size=60))
def test_whatever_the_text_is_there_is_a_policy_or_one_error(name: str, text: str) -> None:
    is_understood_or_refused(lambda: TEXTS[name](text, SCENE))
