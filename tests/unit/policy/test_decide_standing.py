"""Rules that ask and that nothing lifts, compared with a literal model of the design's table.

The model knows nothing of the code. Files hold up to two rules about the one call that is decided;
each combination of files, trust, mode and of what may lift a question is tried.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from typing import Final

import pytest
from msgspec.structs import replace

from wcore.policy import shell
from wcore.policy.decide import DecisionContext, decide, decide_by_row
from wcore.policy.facts import Facts, PathFact
from wcore.policy.grants import Grant, GrantBook
from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_file import PolicyError
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.policy.suggestions import suggest
from wcore.policy.tiers import AgentPermissionSnapshot
from wcore.vocabulary import Access, Always, AlwaysPrefix, Category, Mode, Verdict

ALLOW, DENY, ASK = Verdict.ALLOW, Verdict.DENY, Verdict.ASK
STRICT: Final = {ALLOW: 0, ASK: 1, DENY: 2}
PLACES: Final = Places("/ws", "/home/me")
SCENE: Final = ParseContext(PLACES, {})
OLDER: Final = "2025-12-31T23:59:59.999999Z"
YES_AT: Final = "2026-01-01T00:00:00.000000Z"
YOUNGER: Final = "2026-01-01T00:00:00.000001Z"

CALLS: Final = {
    "Bash": Facts("Bash", Category.EXEC, (), shell.analyse("git push --force origin main")),
    "Write": Facts("Write", Category.EDIT, (PathFact("/ws/a", Access.WRITE, inside=True),)),
}
SPECS: Final = {"Bash": "(git push)", "Write": "(a)"}
OTHERS: Final = {"Bash": "(cargo)", "Write": "(b)"}
KINDS: Final = {  # of a rule: what it says, whether it fits the call, and whether it stands
    "allow": (ALLOW, True, False),
    "allow other": (ALLOW, False, False),
    "ask": (ASK, True, False),
    "ask spec": (ASK, True, True),
    "ask other": (ASK, False, True),
    "ask always": (ASK, True, True),
    "deny": (DENY, True, False),
    "deny always": (DENY, True, True),
}
LIFTS: Final = ("nothing", "grant", "override", "tier", "prefix")
NO_RULES: Final[tuple[str, ...]] = ()
ONE: Final = [NO_RULES, *((kind,) for kind in KINDS)]
TWO: Final = [
    *ONE,
    *(("allow", "ask spec"), ("ask spec", "allow"), ("ask", "ask spec"), ("deny", "ask spec")),
    *(("allow other", "ask spec"), ("ask other", "ask always"), ("ask spec", "deny")),
    *(("deny", "allow"), ("ask", "allow"), ("ask", "deny always")),
]


@dataclass(frozen=True, slots=True)
class Written:
    managed: tuple[str, ...]
    user: tuple[str, ...]
    project: tuple[str, ...]
    trusted: bool

    def of(self, level: Level) -> tuple[str, ...]:
        return getattr(self, level.value)


FILES: Final = [
    *(Written(*each) for each in product(ONE, ONE, ONE, (False, True))),
    *(Written(m, u, NO_RULES, trusted=False) for m, u in product(TWO, TWO)),
    *(Written(NO_RULES, u, p, trusted=True) for u, p in product(TWO, TWO)),
]

# --- the model ------------------------------------------------------------------------------------


def model(w: Written, mode: Mode, lift: str) -> tuple[str, Verdict]:
    """Return the number of the row that decides, and its verdict."""
    yes_to_name = lift in ("grant", "override")
    counting = _counting(w)
    for level, kind in counting:
        stands = KINDS[kind][2] or level is Level.MANAGED
        if KINDS[kind][0] is DENY and (stands or not yes_to_name):
            return "3", DENY
    for level in Level:
        if _asks_whatever_is_granted(w, level) and (mode is not Mode.FORCE or level == "managed"):
            return "4c", ASK
    if lift in ("grant", "override", "prefix"):
        return "7", ALLOW
    if lift == "tier":
        return "8", ALLOW
    rest = [KINDS[kind][0] for _, kind in counting if KINDS[kind][0] is not DENY]
    if rest:
        return "9", ALLOW if mode is Mode.FORCE else rest[0]
    return ("10", ALLOW) if mode is Mode.FORCE else ("12", ASK)


def _first(w: Written, level: Level) -> str | None:
    return next((kind for kind in w.of(level) if KINDS[kind][1]), None)


def _asks_whatever_is_granted(w: Written, level: Level) -> bool:
    for kind in w.of(level):
        says, fits, stands = KINDS[kind]
        if fits and says is ALLOW:
            return False
        if fits and says is ASK and (stands or level is Level.MANAGED):
            return True
    return False


def _counting(w: Written) -> list[tuple[Level, str]]:
    """Return the first rules that fit and that count, the strictest first."""
    managed, user, project = (_first(w, level) for level in Level)
    base = (Level.MANAGED, managed) if managed else (Level.USER, user) if user else None
    if project is None:
        return [base] if base else []
    own = (Level.PROJECT, project)
    if base is None:
        return [own] if w.trusted or KINDS[project][0] is not ALLOW else []
    if w.trusted and managed is None:
        return [own]
    found = [base, own] if STRICT[KINDS[project][0]] >= STRICT[KINDS[base[1]][0]] else [base]
    return sorted(found, key=lambda each: -STRICT[KINDS[each[1]][0]])


# --- the code under test --------------------------------------------------------------------------


@lru_cache(maxsize=8192)
def policies(w: Written, tool: str) -> PolicySet:
    files = [parse(_text(w.of(level), tool), f"/{level}", level, SCENE) for level in Level]
    return PolicySet(files, trusted=w.trusted)


def _text(kinds: tuple[str, ...], tool: str) -> str:
    return "".join(_rule(kind, tool) for kind in kinds)


def _rule(kind: str, tool: str) -> str:
    do, _, more = kind.partition(" ")
    spec = {"spec": SPECS[tool], "other": OTHERS[tool]}.get(more, "")
    always = "always = true\n" if more == "always" else ""
    return f'[[rule]]\nmatch = "{tool}{spec}"\ndo = "{do}"\n{always}'


def standing(tool: str, lift: str, mode: Mode, found: PolicySet) -> DecisionContext:
    nobody, named = frozenset[str](), frozenset({tool})
    tiers = AgentPermissionSnapshot(
        named if lift == "tier" else nobody,
        user_overrides=named if lift == "override" else nobody,
        overridden_at={tool: YES_AT} if lift == "override" else {},
        is_assigned=lift == "tier",
    )
    grants: list[Grant] = []
    if lift == "grant":
        grants.append(Grant("g", tool, Always(), YES_AT, "c"))
    if lift == "prefix":
        prefix = shell.parse_grant("git push")
        assert isinstance(prefix, shell.PrefixGrant)
        scope = AlwaysPrefix("git push")
        grants.append(Grant("g", tool, scope, YES_AT, "c", prefix=prefix))
    return DecisionContext(mode, GrantBook(grants), named, found, tiers)


@pytest.mark.parametrize("lift", LIFTS)
@pytest.mark.parametrize("tool", CALLS)
def test_every_combination_of_files_is_decided_as_the_table_says(tool: str, lift: str) -> None:
    if (tool, lift) == ("Write", "prefix"):
        return  # a prefix is about commands
    count = 0
    for w, mode in product(FILES, (Mode.DEFAULT, Mode.FORCE)):
        number, decision = decide_by_row(CALLS[tool], standing(tool, lift, mode, policies(w, tool)))
        expected = model(w, mode, lift)
        assert (number, decision.verdict) == expected, (w, mode, expected)
        count += number == "4c"
    assert count > 500


def _always(since: str, level: Level, rule: str) -> str:
    del level, rule
    return since


@pytest.mark.parametrize("lift", ["grant", "override"])
@pytest.mark.parametrize("tool", CALLS)
def test_a_yes_lifts_no_deny_that_is_younger(tool: str, lift: str) -> None:
    for level, since in product((Level.USER, Level.PROJECT), (OLDER, YES_AT, YOUNGER)):
        scene = replace(SCENE, since=partial(_always, since))
        text = _text(("deny",), tool)
        found = PolicySet([parse(text, "/p", level, scene)], trusted=True)
        decision = decide_by_row(CALLS[tool], standing(tool, lift, Mode.DEFAULT, found))[1]
        assert (decision.verdict is ALLOW) == (since == OLDER), (level, since)


@pytest.mark.parametrize("tool", CALLS)
def test_whatever_lifts_a_question_lifts_none_that_stands(tool: str) -> None:
    for w, mode in product(FILES, (Mode.DEFAULT, Mode.AUTO_EDIT, Mode.FORCE)):
        found = policies(w, tool)
        number, decision = decide_by_row(CALLS[tool], standing(tool, "nothing", mode, found))
        if number == "4c":
            for lift in LIFTS:
                assert decide(CALLS[tool], standing(tool, lift, mode, found)) == decision, w


def test_a_card_offers_nothing_that_would_not_have_spared_the_question() -> None:
    for w in FILES:
        found = policies(w, "Bash")
        given = standing("Bash", "nothing", Mode.DEFAULT, found)
        number, _ = decide_by_row(CALLS["Bash"], given)
        if number == "4c":
            assert suggest(CALLS["Bash"], given, PLACES) == [], w


# --- shell texts ----------------------------------------------------------------------------------


def asked(text: str, policy: str, *paths: PathFact, mode: Mode = Mode.DEFAULT) -> str:
    """Return the row that decides about a text of a tool that the user lets run unasked."""
    facts = Facts("Bash", Category.EXEC, paths, shell.analyse(text))
    found = PolicySet([parse(policy, "/u.toml", Level.USER, SCENE)])
    return decide_by_row(facts, standing("Bash", "grant", mode, found))[0]


PUSH: Final = '[[rule]]\nmatch = "Bash(git push)"\ndo = "ask"\n'


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("git push", "4c"),
        ("git pull", "7"),
        ("ls && env git push -f", "4c"),
        ("ls; sh -c 'git push'", "4c"),
        ("eval $(x); git push", "4c"),  # in doubt, and names the program
        ("$(x) GIT pu'sh'", "4c"),
        ("eval $(x)", "7"),  # in doubt, but names none
        ("$X push", "7"),
    ],
)
def test_a_text_in_doubt_asks_where_it_names_the_program(text: str, row: str) -> None:
    assert asked(text, PUSH) == row
    assert asked(text, PUSH, mode=Mode.FORCE) == "7"


def test_an_allow_for_part_of_a_text_does_not_go_before_a_rule_that_asks() -> None:
    rules = '[[rule]]\nmatch = "Bash(git)"\ndo = "allow"\n' + PUSH
    assert asked("git push", rules) == "7"
    assert asked("git status && make && git push", rules) == "4c"


def test_allow_rules_around_a_rule_that_is_passed_over_are_not_one_set() -> None:
    rules = (
        '[[rule]]\nmatch = "Bash(git)"\ndo = "allow"\n'
        '[[rule]]\nmatch = "Bash(make clean)"\ndo = "deny"\n'
        '[[rule]]\nmatch = "Bash(make)"\ndo = "allow"\n'
    ) + PUSH
    assert asked("git push && make all", rules) == "4c"


READ: Final = '[[rule]]\nmatch = "Read(secret/**)"\ndo = "ask"\n'
WRITE: Final = '[[rule]]\nmatch = "Edit(gen/**)"\ndo = "ask"\n'


@pytest.mark.parametrize(
    ("rules", "path", "access", "row"),
    [
        (READ, "/ws/secret/x", Access.READ, "4c"),
        (READ, "/ws/secret/x", Access.WRITE, "7"),
        (READ, "/ws/open/x", Access.READ, "7"),
        (WRITE, "/ws/gen/x", Access.WRITE, "4c"),
        (WRITE, "/ws/gen/x", Access.READ, "7"),
        ('[[rule]]\nmatch = "@info(secret/**)"\ndo = "ask"\n', "/ws/secret/x", Access.READ, "4c"),
        ('[[rule]]\nmatch = "Read"\ndo = "ask"\nalways = true\n', "/ws/a", Access.READ, "7"),
        (
            '[[rule]]\nmatch = "Read(secret/open/**)"\ndo = "allow"\n' + READ,
            *("/ws/secret/open/x", Access.READ, "7"),
        ),
        ('[[rule]]\nmatch = "Bash"\ndo = "allow"\n' + READ, "/ws/secret/x", Access.READ, "4c"),
    ],
)
def test_rules_about_paths_ask_about_what_a_text_reads_or_writes(
    rules: str, path: str, access: Access, row: str
) -> None:
    assert asked("tool x", rules, PathFact(path, access, inside=True)) == row


def test_always_is_for_rules_that_stop() -> None:
    with pytest.raises(PolicyError, match=r"/u:4: `always` is for rules that ask or deny"):
        parse('[[rule]]\nmatch = "Bash"\ndo = "allow"\nalways = true\n', "/u", Level.USER, SCENE)
    with pytest.raises(PolicyError, match=r"/u:4: `always` must be true or false"):
        parse('[[rule]]\nmatch = "Bash"\ndo = "ask"\nalways = "yes"\n', "/u", Level.USER, SCENE)
