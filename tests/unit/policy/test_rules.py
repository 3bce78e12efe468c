"""Rules with arguments: paths, commands, groups, agents; what untrusted files can do with them."""

import re
from collections.abc import Callable
from typing import Final

import pytest
from msgspec.structs import replace
from tables import rows

from wcore.policy import shell
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import Facts, PathFact
from wcore.policy.grants import Grant, GrantBook
from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_file import PolicyError
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.views import NONE, WORKSPACE, SandboxView
from wcore.vocabulary import Access, Always, Category, Decision, Mode, Row, Verdict

PLACES: Final = Places("/ws", "/home/me")
CATEGORY: Final = {
    **dict.fromkeys(("Read", "LS", "Glob", "Grep"), Category.INFO),
    **dict.fromkeys(("Write", "Edit", "MultiEdit", "Delete"), Category.EDIT),
}
Resolve = Callable[[str], str]


def policies(
    text: str, level: Level = Level.USER, *, trusted: bool = False, resolve: Resolve | None = None
) -> PolicySet:
    scene = ParseContext(PLACES, {}, resolve or (lambda path: path))
    return PolicySet([parse(text, f"/{level}.toml", level, scene)], trusted=trusted)


def rules(*pairs: tuple[str, str], extra: str = "") -> str:
    return extra + "".join(f"[[rule]]\nmatch = '{m}'\ndo = '{d}'\n" for m, d in pairs)


def file_call(tool: str, *paths: str) -> Facts:
    category = CATEGORY[tool]
    access = Access.READ if category is Category.INFO else Access.WRITE
    facts = (PathFact(path, access, inside=path.startswith("/ws/")) for path in paths)
    return Facts(tool, category, tuple(facts))


def bash(text: str) -> Facts:
    return Facts("Bash", Category.EXEC, (), shell.analyse(text))


def outcome(
    facts: Facts,
    found: PolicySet,
    mode: Mode = Mode.DEFAULT,
    grants: GrantBook | None = None,
    agent: str = "main",
) -> Decision:
    offered = frozenset({facts.tool})
    context = DecisionContext(mode, grants or GrantBook(), offered, found, agent=agent)
    return decide(facts, context)


def verdict(facts: Facts, found: PolicySet, mode: Mode = Mode.DEFAULT) -> str:
    return outcome(facts, found, mode).verdict.value


# --- paths ----------------------------------------------------------------------------------------


def test_a_path_rule_is_relative_to_the_workspace() -> None:
    found = policies(rules(("Write(src/**)", "allow")))
    assert verdict(file_call("Write", "/ws/src/a/b.py"), found) == "allow"
    assert verdict(file_call("Write", "/ws/other/b.py"), found) == "ask"
    assert verdict(file_call("Edit", "/ws/src/b.py"), found) == "ask"


def test_home_and_absolute_paths() -> None:
    found = policies(rules(("Read(~/notes/**)", "deny"), ("Read(/etc/passwd)", "deny")))
    assert verdict(file_call("Read", "/home/me/notes/x"), found) == "deny"
    assert verdict(file_call("Read", "/etc/passwd"), found) == "deny"
    assert verdict(file_call("Read", "/etc/hosts"), found) == "ask"


def test_only_an_absolute_path_rule_lifts_the_border_of_the_workspace() -> None:
    for text in ("Read(**)", "Read(src/**)", "Write(/**)"):
        outside = outcome(file_call("Read", "/etc/hosts"), policies(rules((text, "allow"))))
        assert (outside.verdict, outside.why.row) == (Verdict.ASK, Row.OUTSIDE)
    for spec in ("/etc/**", "/etc/hosts"):
        found = policies(rules((f"Read({spec})", "allow")))
        assert outcome(file_call("Read", "/etc/hosts"), found).why.row is Row.RULE


def test_a_path_rule_never_lifts_protection() -> None:
    found = policies(rules(("Read(/**)", "allow")))
    key = Facts("Read", Category.INFO, (PathFact("/ws/.env", Access.READ, True, "keys"),))
    assert outcome(key, found).why.row is Row.PROTECTED


def test_an_allow_needs_all_paths_and_a_deny_only_one() -> None:
    call = file_call("Write", "/ws/src/a", "/ws/b")
    assert verdict(call, policies(rules(("Write(src/**)", "allow")))) == "ask"
    assert verdict(call, policies(rules(("Write(src/**)", "deny")))) == "deny"


def test_a_deny_ignores_case_and_an_allow_does_not() -> None:
    call = file_call("Read", "/ws/SECRETS/key")
    assert verdict(call, policies(rules(("Read(secrets/**)", "deny")))) == "deny"
    assert verdict(call, policies(rules(("Read(secrets/**)", "allow")))) == "ask"


def test_a_deny_follows_a_link_in_its_folder_and_an_allow_does_not() -> None:
    def resolve(path: str) -> str:
        return path.replace("/ws/link", "/ws/real")

    call = file_call("Write", "/ws/real/a")
    deny = policies(rules(("Write(link/**)", "deny")), resolve=resolve)
    assert verdict(call, deny) == "deny"
    allow = policies(rules(("Write(link/**)", "allow")), resolve=resolve)
    assert verdict(call, allow) == "ask"


@pytest.mark.parametrize("pattern", ["[x", "a//b", "../up/**", "a**b", "a/./b"])
def test_an_invalid_path_pattern_is_a_load_error(pattern: str) -> None:
    with pytest.raises(PolicyError, match="is no path pattern") as caught:
        policies(f"\n\n[[rule]]\ndo = 'deny'\nmatch = 'Read({pattern})'\n")
    assert caught.value.line == 5


# --- commands -------------------------------------------------------------------------------------


def test_adjacent_allow_rules_for_commands_are_one_set() -> None:
    found = policies(
        rules(("Bash(cargo *)", "allow"), ("Read", "allow"), ("Bash(git log:*)", "allow"))
    )
    assert verdict(bash("cargo build && git log | cargo fmt"), found) == "allow"
    assert verdict(bash("cargo build; curl x"), found) == "ask"


def test_allow_rules_with_another_command_rule_between_are_two_sets() -> None:
    found = policies(
        rules(("Bash(cargo)", "allow"), ("Bash(curl)", "deny"), ("Bash(git)", "allow"))
    )
    assert verdict(bash("cargo build"), found) == "allow"
    assert verdict(bash("git log"), found) == "allow"
    assert verdict(bash("cargo build; git log"), found) == "ask"


def test_ask_and_deny_need_only_one_command() -> None:
    found = policies(rules(("Bash(git push *)", "ask"), ("Bash(curl)", "deny"), ("Bash", "allow")))
    assert verdict(bash("git status"), found) == "allow"
    pushed = outcome(bash("git status && git push -f"), found)
    assert (pushed.verdict, pushed.why.row) == (Verdict.ASK, Row.RULE)
    assert pushed.why.span == (14, 25)
    assert pushed.why.source == "/user.toml:1"
    assert verdict(bash("git status | curl x"), found) == "deny"


@rows(
    "text",
    [
        "'curl' x",
        "c\\url x",
        "/usr/bin/curl x",
        "A=1 curl x",
        "env A=1 curl x",
        "xargs -n1 curl",
        "bash -c 'echo; curl x'",
        "nohup timeout 5 curl x",
        "find . -exec curl {} +",
        "$(curl x)",
        "if true; then curl x; fi",
        "{ curl x; }",
        "eval curl x",
        "sudo curl x",
    ],
)
def test_a_denied_command_is_found_in_every_dress(text: str) -> None:
    for found in (policies("deny = ['Bash(curl *)']"), policies(rules(("Bash(curl)", "deny")))):
        for mode in Mode:
            assert verdict(bash(text), found, mode) == "deny", (text, mode)


@pytest.mark.parametrize("text", ["ls curl.txt", "curlew x", "git log", "echo $(ls)"])
def test_other_commands_are_not_denied(text: str) -> None:
    found = policies("deny = ['Bash(curl *)']")
    assert verdict(bash(text), found, Mode.FORCE) == "allow"


def test_what_cannot_be_read_is_never_allowed_beside_a_command_deny() -> None:
    found = policies("deny = ['Bash(curl)']")
    grants = GrantBook()
    grants.add(Grant("g", "Bash", Always(), "2026-01-01T00:00:00Z", "c"))
    for text in ("$X y", "echo curl", "env $X y", "eval $X", "sh < f", "ls \0"):
        told = outcome(bash(text), found, Mode.FORCE, grants)
        assert (told.verdict, told.why.row) == (Verdict.ASK, Row.UNREADABLE), text
        assert told.why.code
        assert told.why.source == "/user.toml:1"
    assert verdict(bash("for i in a; do curl $i; done"), found, Mode.FORCE) == "deny"


def test_without_a_command_deny_what_cannot_be_read_is_decided_by_the_other_rows() -> None:
    assert verdict(bash("echo $(ls)"), policies(rules(("Bash", "allow")))) == "allow"
    assert verdict(bash("echo $(ls)"), policies(rules(("Bash(echo)", "allow")))) == "ask"


def test_a_command_that_cannot_be_read_meets_every_ask_rule() -> None:
    found = policies(rules(("Bash(git push)", "ask"), ("Bash", "allow")))
    for text in ("$(ls) x", ". <(ls)", "echo 'git push'"):
        assert verdict(bash(text), found) == "ask"
    assert verdict(bash("echo $(ls)"), found) == "allow"


@pytest.mark.parametrize("spec", ["bash *", "eval *", "*", "a|b", "sudo *"])
def test_what_no_grant_can_be_cannot_be_allowed(spec: str) -> None:
    with pytest.raises(PolicyError, match="cannot be allowed"):
        policies(rules((f"Bash({spec})", "allow")))


def test_anything_can_be_denied_but_nothing_is_no_command() -> None:
    policies("deny = ['Bash(bash *)', 'Bash(sudo)', 'Bash(* --force)', 'Bash(git {push,pull})']")
    for spec in ("*", ":*"):
        with pytest.raises(PolicyError, match="names no command"):
            policies(f"deny = ['Bash({spec})']")


# --- tools, groups, agents ------------------------------------------------------------------


def test_groups_of_categories_and_of_the_file() -> None:
    found = policies(
        "groups = {net = ['Bash(curl)', 'mcp__web__*'], mine = ['@net', 'Delete']}\n"
        + rules(("@info", "allow"), ("@mine", "deny"), ("@file(docs/**)", "allow"))
    )
    assert verdict(file_call("Grep", "/ws/a"), found) == "allow"
    assert verdict(bash("curl x"), found) == "deny"
    assert verdict(Facts("mcp__web__get", Category.MCP), found) == "deny"
    assert verdict(file_call("Delete", "/ws/docs/a"), found) == "deny"
    assert verdict(file_call("Write", "/ws/docs/a"), found) == "allow"
    assert verdict(file_call("Write", "/ws/a"), found) == "ask"


def test_the_git_group_knows_the_command_too() -> None:
    found = policies(rules(("@git", "ask"), ("*", "allow")))
    assert verdict(bash("ls; git push"), found) == "ask"
    assert verdict(bash("ls"), found) == "allow"
    assert verdict(Facts("mcp__git__push", Category.MCP), found) == "ask"


def test_a_rule_for_an_agent_is_for_no_other() -> None:
    found = policies("[[rule]]\nmatch = 'Bash'\ndo = 'deny'\nagent = 'review*'\n")
    assert outcome(bash("ls"), found, agent="reviewer").verdict is Verdict.DENY
    assert outcome(bash("ls"), found, agent="main").verdict is Verdict.ASK


def test_a_grant_of_the_name_lifts_a_bare_deny_of_the_user_only() -> None:
    grants = GrantBook()
    grants.add(Grant("g", "Write", Always(), "2026-01-01T00:00:00Z", "c"))
    call = file_call("Write", "/ws/a")
    for level, text, expected in (
        (Level.USER, rules(("Write", "deny")), "allow"),
        (Level.USER, rules(("Write(a)", "deny")), "deny"),
        (Level.MANAGED, rules(("Write", "deny")), "deny"),
        (Level.USER, "deny = ['Write']", "deny"),
    ):
        told = outcome(call, policies(text, level), Mode.FORCE, grants)
        assert told.verdict.value == expected, text


def test_the_default_permission_comes_last() -> None:
    call = file_call("Write", "/ws/a")
    for level, value, expected in (
        (Level.USER, "allow", "allow"),
        (Level.USER, "deny", "deny"),
        (Level.PROJECT, "allow", "ask"),
        (Level.PROJECT, "deny", "deny"),
    ):
        assert verdict(call, policies(f"default = '{value}'", level)) == expected
    told = outcome(call, policies("\ndefault = 'deny'"))
    assert (told.why.row, told.why.source) == (Row.DEFAULT, "/user.toml:2")
    assert verdict(call, policies("default = 'deny'"), Mode.FORCE) == "allow"


# --- files that are wrong -------------------------------------------------------------------


@rows(
    ("text", "line", "reason"),
    [
        ("a = ", 1, "not TOML"),
        ("\n\nx = [1,\n", 4, "not TOML"),
        ("\nallow = ['x']", 2, "unknown key 'allow'"),
        ("[[rule]]\nmatch = 'a'\ndo = 'ask'\nif = 'b'", 4, "unknown key 'if'"),
        ("[[rule]]\nmatch = 'a'", 1, "`do` is missing"),
        ("[[rule]]\ndo = 'ask'", 1, "`match` is missing"),
        ("[[rule]]\nmatch = 'a'\ndo = 'perhaps'", 3, "not 'perhaps'"),
        ("[[rule]]\nmatch = 'a('\ndo = 'ask'", 2, "not closed"),
        ("[[rule]]\nmatch = 'a()'\ndo = 'ask'", 2, "nothing stands between"),
        ("[[rule]]\nmatch = '[a'\ndo = 'ask'", 2, "no tool pattern"),
        ("[[rule]]\nmatch = 'mcp__a__b(x)'\ndo = 'ask'", 2, "neither paths nor commands"),
        ("[[rule]]\nmatch = '*(x)'\ndo = 'ask'", 2, "both paths and commands"),
        ("[[rule]]\nmatch = '@none'\ndo = 'ask'", 2, "there is no group '@none'"),
        ("[[rule]]\nmatch = 'a'\ndo = 'ask'\nagent = '['", 4, "agent"),
        ("deny = [\n 'a',\n 3]", 3, "must be a text"),
        ("deny = 'Bash'", 1, "must be a list"),
        ("rule = 3", 1, "must be a list"),
        ("rule = [3]", 1, "must be a table"),
        ("groups = 3", 1, "must be a table"),
        ("[groups]\nfile = ['a']", 2, "built in"),
        ("[groups]\na = ['@b']\nb = ['@a']\n[[rule]]\nmatch = '@a'\ndo = 'ask'", 5, "itself"),
        ("[groups]\na = []", 2, "list of tools"),
        ("[limits]\nmax_mode = 'high'", 2, "unknown mode"),
        ("[limits]\ngrants = -1", 2, "`grants`"),
        ("[limits]\nttl = 0", 2, "`ttl`"),
        ("[limits]\nttl = nan", 2, "`ttl`"),
        ("[limits]\nttl = true", 2, "`ttl`"),
        ("[limits]\nmax = 1", 2, "unknown key 'max'"),
        ("[sandbox]\nhosts = ['a.example',\n'b c']", 3, "'b c' names no host: write"),
        ("[sandbox]\nhosts = 'a.example'", 2, "must be a list"),
        ("[sandbox]\nhost = []", 2, "unknown key 'host'"),
        (f"[sandbox]\nhosts = {['a.example'] * 257}", 2, "hosts"),
        ("default = 'yes'", 1, "not 'yes'"),
        ("a = " + "[" * 100_000, 1, "not TOML|nested"),
        ("# " + "x" * 300_000, 1, "longer than"),
    ],
)
def test_a_wrong_file_is_refused_with_line_and_reason(text: str, line: int, reason: str) -> None:
    with pytest.raises(PolicyError, match=reason) as caught:
        policies(text)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"/user.toml:{line}: ")


def test_groups_that_multiply_are_refused_quickly() -> None:
    lines = [f"g{n} = ['@g{n + 1}', '@g{n + 1}', 'x{n}']" for n in range(200)]
    text = "[groups]\n" + "\n".join(lines) + "\ng200 = ['y']\n"
    found = policies(text + "[[rule]]\nmatch = '@g0'\ndo = 'deny'\n")
    assert verdict(Facts("y", Category.EXEC), found) == "deny"


@rows(
    ("managed", "user", "hosts"),
    [
        (None, None, ()),
        (None, "['a.example']", ("a.example",)),
        ("['b.example']", None, ("b.example",)),
        ("['b.example']", "['a.example']", ("b.example",)),
        ("[]", "['a.example']", ()),
    ],
)
def test_hosts_are_the_persons_unless_an_administrator_names_some(
    managed: str | None, user: str | None, hosts: tuple[str, ...]
) -> None:
    said = {Level.MANAGED: managed, Level.USER: user}
    texts = {level: f"[sandbox]\nhosts = {each}" if each else "" for level, each in said.items()}
    scene = ParseContext(PLACES, {})
    files = [parse(text, "/x", level, scene) for level, text in texts.items()]
    assert PolicySet(files).hosts == hosts
    if user and not managed:
        unvouched = PolicySet([replace(each, only_forbids=True) for each in files])
        assert unvouched.hosts == ()


def test_a_project_says_nothing_of_hosts() -> None:
    with pytest.raises(PolicyError, match="belongs into your own file") as caught:
        policies("\n[sandbox]\nhosts = ['a.example']", Level.PROJECT)
    assert caught.value.line == 3


REACH = """
[[rule]]
match = "Bash(ls *)"
do = "allow"

[[rule]]
match = "Bash(touch *)"
do = "allow"
outside_sandbox = true

[[rule]]
match = "Bash(npm *)"
do = "allow"
hosts = ["a.example"]

[[rule]]
match = "Bash(pip *)"
do = "allow"
hosts = ["b.example", "A.example"]
"""
A, B = "a.example", "b.example"


@pytest.mark.parametrize(
    ("text", "view", "verdict_"),
    [
        ("ls x && touch x && npm ci && pip list", SandboxView(WORKSPACE), "allow"),
        ("touch x", SandboxView(NONE), "allow"),
        ("touch x && touch y", SandboxView(NONE), "allow"),
        ("touch x && ls x", SandboxView(NONE), "ask"),
        ("ls x && touch x", SandboxView(NONE), "ask"),
        ("npm ci", SandboxView(NONE), "ask"),
        ("npm ci", SandboxView(WORKSPACE, (A,), (A,)), "allow"),
        ("npm ci && pip list && touch x", SandboxView(WORKSPACE, (A,), (A,)), "allow"),
        ("npm ci && pip list", SandboxView(WORKSPACE, (A, B), (A, B)), "ask"),
        ("pip list && npm ci", SandboxView(WORKSPACE, (A, B), (B,)), "ask"),
        ("pip list", SandboxView(WORKSPACE, (A, B), (A, B)), "allow"),
        ("ls x", SandboxView(WORKSPACE, (A,), (A,)), "ask"),
        ("ls x", SandboxView(WORKSPACE, (A,)), "allow"),  # which was agreed to before
        ("ls x && touch x", None, "allow"),
        ("npm ci", None, "ask"),  # it says what it may reach, and nothing would hold it to that
    ],
)
@pytest.mark.parametrize("mode", [Mode.DEFAULT, Mode.FORCE])
def test_every_command_of_a_text_reaches_no_more_than_its_rule_says(
    text: str, view: SandboxView | None, verdict_: str, mode: Mode
) -> None:
    if mode is Mode.FORCE and (view is None or not (view.proposed or view.view == NONE)):
        verdict_ = "allow"  # it asks nothing but about leaving and hosts
    for level in (Level.MANAGED, Level.USER):
        assert verdict(replace(bash(text), view=view), policies(REACH, level), mode) == verdict_


LS, MINE = "Bash(ls)", "of your own that allow a command"


@pytest.mark.parametrize(
    ("level", "match", "do", "wish", "told"),
    [
        (Level.PROJECT, LS, "allow", "hosts = ['a.example']", MINE),
        (Level.PROJECT, LS, "allow", "outside_sandbox = true", MINE),
        (Level.USER, LS, "deny", "outside_sandbox = true", MINE),
        (Level.USER, LS, "ask", "hosts = ['a.example']", MINE),
        (Level.USER, "Bash", "allow", "outside_sandbox = true", MINE),
        (Level.USER, "Read(x)", "allow", "outside_sandbox = true", MINE),
        (Level.USER, "@exec", "allow", "hosts = ['a.example']", MINE),
        (Level.USER, LS, "allow", "hosts = ['*.example']", "is not one host"),
        (Level.USER, LS, "allow", "hosts = ['10.0.0.0/8']", "is not one host"),
        (Level.USER, LS, "allow", f"hosts = {['a.example'] * 9}", "hosts"),
    ],
)
def test_what_no_rule_may_reach_is_a_load_error(
    level: Level, match: str, do: str, wish: str, told: str
) -> None:
    with pytest.raises(PolicyError, match=re.escape(told)):
        policies(f"[[rule]]\nmatch = '{match}'\ndo = '{do}'\n{wish}", level)


def test_limits_combine_as_the_strictest() -> None:
    scene = ParseContext(PLACES, {})
    texts = {
        Level.MANAGED: "[limits]\nmax_mode = 'auto_edit'\nttl = 100",
        Level.USER: "[limits]\nmax_mode = 'force'\ngrants = 5\nttl = 50",
        Level.PROJECT: "[limits]\nmax_mode = 'read_only'\ngrants = false",
    }
    found = PolicySet([parse(text, "/x", level, scene) for level, text in texts.items()])
    assert found.limits.max_mode is Mode.READ_ONLY
    assert (found.limits.grants, found.limits.ttl_s) == (0, 50.0)
