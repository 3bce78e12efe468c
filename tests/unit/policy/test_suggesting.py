"""What a card offers to keep: only what would have spared this very question."""

import pytest
from msgspec.structs import replace
from tables import rows

from wcore.policy import shell
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import Facts, gather
from wcore.policy.grants import GrantBook, ScopeRefused, grants_of, validate_scope
from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.policy.suggestions import note_of, offered_by_all, suggest
from wcore.views import WORKSPACE, SandboxView
from wcore.vocabulary import (
    Access,
    AlwaysExact,
    AlwaysHost,
    AlwaysPath,
    AlwaysPrefix,
    AlwaysPrefixes,
    Category,
    Mode,
    PathAccess,
    Prepared,
    Scope,
    Verdict,
)

PLACES = Places("/ws", "/home/me", own=("/home/me/.config/wcore",))
NO_RULES = ""
ASK_RULE = '[[rule]]\nmatch = "Bash(git push)"\ndo = "ask"\n'
ASK_TOOL = '[[rule]]\nmatch = "Bash"\ndo = "ask"\n'
DENY_RULE = 'deny = ["Bash(curl)"]\n'


def standing(tool: str, rules: str) -> DecisionContext:
    policies = PolicySet([parse(rules, "/p.toml", Level.USER, ParseContext(PLACES, {}))])
    return DecisionContext(Mode.DEFAULT, GrantBook(), frozenset({tool}), policies)


def offered(prepared: Prepared, rules: str = NO_RULES) -> list[Scope]:
    """Return the suggestions; each must be grantable and make the call run unasked."""
    analysis = None if prepared.command is None else shell.analyse(prepared.command)
    facts = gather(prepared, analysis, PLACES)
    before = standing(prepared.tool, rules)
    assert decide(facts, before).verdict is Verdict.ASK
    found = suggest(facts, before, PLACES)
    for scope in found:
        weighed = validate_scope(scope, facts, PLACES, GrantBook())
        assert not isinstance(weighed, ScopeRefused)
        after = standing(prepared.tool, rules)
        for number, grant in enumerate(grants_of(scope, weighed, facts)):
            after.grants.add(replace(grant, grant_id=f"g{number}"))
        assert decide(facts, after).verdict is Verdict.ALLOW
    return found


def bash(command: str) -> Prepared:
    return Prepared("Bash", Category.EXEC, {}, "", "", command=command)


def read(path: str) -> Prepared:
    return Prepared("Read", Category.INFO, {}, "", "", (PathAccess(path, Access.READ),))


def test_a_command_and_a_file_outside_have_suggestions() -> None:
    assert offered(bash("git log -3")) == [AlwaysExact("git log -3"), AlwaysPrefix("git log")]
    assert offered(bash("git push origin"), ASK_TOOL)
    assert offered(read("/data/a")) == [AlwaysPath("/data")]


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("grep x < /etc/hosts", NO_RULES),  # the shell reads outside
        ("ls $(pwd)", NO_RULES),
        ("$x ls", DENY_RULE),  # what denies cannot be held against
        ("for f in *; do wc $f; done", DENY_RULE),
        ("./build.sh && make", NO_RULES),
    ],
)
def test_what_no_prefix_may_cover_has_the_text_alone(text: str, rules: str) -> None:
    assert offered(bash(text), rules) == [AlwaysExact(text)]


def test_a_compound_text_has_the_set_that_covers_it() -> None:
    text = "git status --short && git log -3; git status"
    both = AlwaysPrefixes(("git status", "git log"))
    assert offered(bash(text)) == [AlwaysExact(text), both]


def test_a_text_that_nobody_reads_to_its_end_has_no_suggestion_of_its_own() -> None:
    text = "git log " + "x" * 4096
    assert offered(bash(text)) == [AlwaysPrefix("git log")]


@pytest.mark.parametrize(
    ("prepared", "rules"),
    [
        (bash("cat .env"), NO_RULES),  # a protected path asks whatever was granted
        (bash("git -C /ws/.git log"), NO_RULES),
        (read("/ws/.env"), NO_RULES),
        (read("/data/.ssh/id_rsa"), NO_RULES),
        (bash("sudo ls"), NO_RULES),  # only a person can answer
        (bash("shutdown -h now"), NO_RULES),
        (bash("git push origin"), ASK_RULE),  # a rule with a spec asks whatever was granted
        (bash("git push origin"), ASK_TOOL + "always = true"),
        (read("/home/a"), NO_RULES),  # the folder holds the home folder
    ],
)
def test_what_no_grant_can_spare_has_none(prepared: Prepared, rules: str) -> None:
    assert offered(prepared, rules) == []


def test_a_suggestion_says_what_it_runs_and_what_it_leaves_out() -> None:
    assert note_of(AlwaysPrefix("npm run build")) is not None
    for prefix in ("make test", "npm run build", "pytest", "cargo test"):
        assert "It runs the project's own code, in any folder" in str(
            note_of(AlwaysPrefix(prefix))
        ), prefix
    assert "It does not cover -o" in str(note_of(AlwaysPrefix("sort")))
    assert note_of(AlwaysPrefix("echo")) == "It holds in any folder of the workspace."
    for scope in (AlwaysExact("make test"), AlwaysPath("/data")):
        assert note_of(scope) is None, scope
    both = str(note_of(AlwaysPrefixes(("make test", "sort", "echo"))))
    assert both.startswith("`make test`: It runs the project's own code, in any folder")
    assert "`sort`: It does not cover" in both


@rows(
    ("text", "why"),
    [
        ("git add -A && git commit -m x", "`git add` may do more than read or run a task."),
        ("find . -name x | xargs wc -l", "`xargs wc` may do more than read or run a task."),
        ("npx tsc --noEmit", "`npx tsc` may do more than read or run a task."),
        ("rm -rf dist", "`rm` may do more than read or run a task."),
        ("$X a", "a command of it may do more than read or run a task."),
        ("for i in 1; do ls; done", "not all of it can be read before it runs."),
    ],
)
def test_an_exact_text_says_why_there_is_no_prefix(text: str, why: str) -> None:
    exact = AlwaysExact(text)
    assert offered_by_all([[exact]], facts_of(text)) == [(exact, f"No prefix is offered: {why}")]


def test_where_there_is_a_prefix_the_exact_text_says_nothing() -> None:
    offered = (AlwaysExact("npm test"), AlwaysPrefix("npm test"))
    notes = [note for _, note in offered_by_all([offered], facts_of("npm test"))]
    assert notes[0] is None
    assert notes[1] is not None


def facts_of(text: str, view: SandboxView | None = None) -> Facts:
    return Facts("Bash", Category.EXEC, (), shell.lex(text), command=text, view=view)


@pytest.mark.parametrize("count", [1, 2, 8])
def test_the_hosts_that_a_call_asks_for_are_among_at_most_three(count: int) -> None:
    asked = tuple(f"{number}.example" for number in range(count))
    facts = facts_of("npm ci", SandboxView(WORKSPACE, asked, asked))
    exact, prefix = AlwaysExact("npm ci"), AlwaysPrefix("npm ci")
    found = [scope for scope, _ in offered_by_all([[exact, prefix]], facts)]
    assert found == [prefix, *map(AlwaysHost, asked)][:3]
    assert [scope for scope, _ in offered_by_all([[]], facts)] == [*map(AlwaysHost, asked)][:3]
