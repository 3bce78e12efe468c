"""What is made of another engine's rules is never more permissive than they were."""

from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from property import importing as theirs

from wcore.policy import shell
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import Facts, PathFact
from wcore.policy.grants import Grant, GrantBook
from wcore.policy.importers import OBJECTS, TEXTS, Difference, Draft, ForeignError, as_toml
from wcore.policy.importers.gemini import NO_REDIRECTION
from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.vocabulary import Access, Always, Category, Mode, Verdict

SCENE: Final = ParseContext(Places("/ws", "/home/me"), {})
TRIES: Final = settings(max_examples=100)

WORDS: Final = st.sampled_from("git log push rm -rf x lx time FOO=1".split())
COMMANDS: Final = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
TEXTS_RUN: Final = st.lists(COMMANDS, min_size=1, max_size=3).map(" && ".join)
ENDS: Final = st.sampled_from(["", "*", " *", ":*", " * x", "* -rf*"])
PATTERNS: Final = st.tuples(COMMANDS, ENDS).map("".join) | st.sampled_from(["*", "*x", "* push"])
VERDICTS: Final = st.sampled_from(["allow", "ask", "deny"])


def policy_of(draft: Draft) -> PolicySet:
    return PolicySet([parse(as_toml(draft, "there"), "/p.toml", Level.USER, SCENE)])


def decided(facts: Facts, policies: PolicySet, agent: str = "main") -> Verdict:
    context = DecisionContext(
        Mode.DEFAULT, GrantBook(), frozenset({facts.tool}), policies, agent=agent
    )
    return decide(facts, context).verdict


def whatever_is_granted(facts: Facts, policies: PolicySet, mode: Mode) -> Verdict:
    """Decide where the person lets the tool run unasked."""
    grants = GrantBook([Grant("g", facts.tool, Always(), "2026-01-01T00:00:00Z", "c")])
    return decide(facts, DecisionContext(mode, grants, frozenset({facts.tool}), policies)).verdict


def run(text: str, policies: PolicySet, agent: str = "main") -> Verdict:
    return decided(Facts("Bash", Category.EXEC, (), shell.analyse(text)), policies, agent)


def on_file(tool: str, path: str) -> Facts:
    category = Category.INFO if tool == "Read" else Category.EDIT
    access = Access.READ if tool == "Read" else Access.WRITE
    fact = PathFact(path, access, inside=path.startswith("/ws/"))
    return Facts(tool, category, (fact,))


def touch(tool: str, path: str, policies: PolicySet, agent: str = "main") -> Verdict:
    return decided(on_file(tool, path), policies, agent)


def is_looser(draft: Draft) -> bool:
    """Whether the report says that something is lost, but for what every allow loses."""
    always = ("decision = allow", NO_REDIRECTION)
    return any(n.kind is Difference.LOOSER and n.said not in always for n in draft.notes)


def at_least(ours: Verdict, source: Verdict, draft: Draft) -> None:
    """Assert that ours is as strict; asking instead of denying must be in the report."""
    if ours is Verdict.ASK and source is Verdict.DENY and is_looser(draft):
        return
    assert theirs.STRICT[ours] >= theirs.STRICT[source]


# --- Claude Code ------------------------------------------------------------------------------


def lists(patterns: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, list[Any]]]:
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


CLAUDE_PATHS: Final = st.sampled_from(["./src/**", ".env", "//ws/a/*", "src/*.md", "**", "a"])
CLAUDE_RULES: Final = st.one_of(
    st.tuples(st.just("Bash"), st.none() | st.sampled_from(["cat:*", "sed *", "cat * x", "git *"])),
    st.tuples(
        st.sampled_from(["Read", "Edit", "Write", "MultiEdit", "Glob"]), st.none() | CLAUDE_PATHS
    ),
    st.tuples(
        st.sampled_from(["mcp__a", "mcp__a__*", "mcp__*", "mcp__a__get*", "mcp__*__get", "mcp__b"]),
        st.none(),
    ),
)
CLAUDE_FILES: Final = st.sampled_from(["src/x.md", "src/d/x", ".env", "a/b", "b/.env", "c"])
CLAUDE_CALLS: Final = st.one_of(
    st.tuples(st.sampled_from(["Read", *theirs.CLAUDE_EDITS]), CLAUDE_FILES),
    st.tuples(st.sampled_from(["cat", "sed"]), CLAUDE_FILES),
    st.tuples(st.sampled_from(["mcp__a__get", "mcp__a__put", "mcp__b__get"]), st.just("")),
)


def facts_of_call(tool: str, name: str) -> list[Facts]:
    """Return the call; of a command also the calls of tools for files that do the same to it."""
    if tool.startswith("mcp__"):
        return [Facts(tool, Category.MCP)]
    if tool not in ("cat", "sed"):
        return [on_file(tool, f"/ws/{name}")]
    text = f"cat {name}" if tool == "cat" else f"sed -i s/a/b/ {name}"
    command = Facts("Bash", Category.EXEC, (), shell.analyse(text))
    return [
        command,
        *(on_file(t, f"/ws/{name}") for t in (["Read"] if tool == "cat" else ["Edit"])),
    ]


@TRIES
@given(lists(CLAUDE_RULES), CLAUDE_CALLS)
def test_settings_of_claude_code(rules: dict[str, Any], call: tuple[str, str]) -> None:
    tool, name = call
    written = {
        key: [t if spec is None else f"{t}({spec})" for t, spec in found]
        for key, found in rules.items()
    }
    draft = OBJECTS["claude"]({"permissions": written}, SCENE)
    policies = policy_of(draft)
    judge = theirs.claude_judge(rules, theirs.gitignore_below("/ws", "/home/me"))
    if tool in ("cat", "sed"):
        text = f"cat {name}" if tool == "cat" else f"sed -i s/a/b/ {name}"
        does = f"{'reads' if tool == 'cat' else 'writes'} /ws/{name}"
        source = judge("Bash", text, does)
    else:
        source = judge(tool, f"/ws/{name}", "")
    calls = facts_of_call(tool, name)
    if source is None:
        assert decided(calls[0], policies) is not Verdict.ALLOW
    elif source is Verdict.ALLOW:
        return
    elif not is_looser(draft):
        modes = (Mode.DEFAULT, Mode.AUTO_EDIT, *([Mode.FORCE] if source is Verdict.DENY else []))
        for mode in modes:
            ours = [whatever_is_granted(each, policies, mode) for each in calls]
            assert theirs.STRICT[theirs.strictest(ours)] >= theirs.STRICT[source]


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


AGENTS: Final = st.sampled_from(["build", "plan", "review"])
SAID: Final = st.dictionaries(
    st.sampled_from(["bash", "edit", "*"]),
    VERDICTS | st.dictionaries(st.sampled_from(["*", "git *", "src/*"]), VERDICTS, max_size=2),
    max_size=3,
)


def spelled_out(key: str, said: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the entries about one key, in order, with a `*` key and a lone verdict written out."""
    found: list[tuple[str, str]] = []
    for name, value in said.items():
        if name in (key, "*"):
            found += [("*", value)] if isinstance(value, str) else list(value.items())
    return found


@TRIES
@given(
    SAID, st.dictionaries(AGENTS, SAID, max_size=3), st.none() | AGENTS, st.none() | AGENTS,
    st.sampled_from([("bash", "git log"), ("bash", "rm x"), ("edit", "src/a"), ("edit", "b")]),
)  # fmt: skip
def test_agents_of_opencode(
    said: dict[str, Any],
    agents: dict[str, dict[str, Any]],
    default: str | None,
    other: str | None,
    call: tuple[str, str],
) -> None:
    config: dict[str, Any] = {"permission": said}
    config["agent"] = {name: {"permission": told} for name, told in agents.items()}
    if default is not None:
        config["default_agent"] = default
    draft = OBJECTS["opencode"](config, SCENE)
    policies = policy_of(draft)
    there = other or default or "build"
    key, what = call
    plans = {"edit": "deny", "bash": "ask"} if there == "plan" else {}
    if there == "plan" and "plan" not in agents and default != "plan":
        plans = {}  # nothing says that there is such an agent
    entries = [("*", plans[key])] if key in plans else []
    entries += [*spelled_out(key, said), *spelled_out(key, agents.get(there, {}))]
    source = theirs.opencode_judge(entries)(what)
    if not entries:
        return  # what is allowed there without a rule
    names = [there, "main"] if there == (default or "build") else [there]
    for agent in names:
        if key == "bash":
            at_least(run(what, policies, agent), source, draft)
        else:
            for tool in ("Edit", "Write", "MultiEdit"):
                at_least(touch(tool, f"/ws/{what}", policies, agent), source, draft)


def test_reading_is_denied_only_where_opencode_denies_it() -> None:
    policies = policy_of(OBJECTS["opencode"]({"permission": {"bash": {"git *": "allow"}}}, SCENE))
    for path, expected in {
        "/ws/a.md": Verdict.ASK,
        "/ws/src/environment.ts": Verdict.ASK,
        "/ws/.env": Verdict.DENY,
        "/ws/a/.env.local": Verdict.DENY,
        "/ws/a/.env.local/b": Verdict.DENY,
        "/home/me/x/.env.local": Verdict.DENY,
    }.items():
        assert touch("Read", path, policies) is expected, path


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
