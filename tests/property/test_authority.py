"""What others do while a session runs never lets anything run that the session did not hold."""

from itertools import product
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from wcore.persistence.held_grants import HeldGrants
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import Facts, PathFact
from wcore.policy.grants import Grant, GrantBook
from wcore.policy.inheritance import Situation, decide_for_subagent, decide_strictest, situations
from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_file import PolicyFile
from wcore.policy.rules.policy_set import STRICTNESS, PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.policy.tiers import AgentPermissionSnapshot
from wcore.policy_files.snapshot import PolicySnapshot, Rules
from wcore.store import LastingGrant, LoadedGrants
from wcore.vocabulary import Access, Always, Category, Mode, Persist, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

SCENE = ParseContext(Places("/ws", "/home/me"), {})
CATEGORIES = {"Read": Category.INFO, "Write": Category.EDIT, "Bash": Category.EXEC}
TOOLS = tuple(CATEGORIES)
CALLS = [
    Facts(
        tool, category, (PathFact("/ws/a", Access.READ, inside=inside),) if tool != "Bash" else ()
    )
    for (tool, category), inside in product(CATEGORIES.items(), (True, False))
]
LEVELS = (Level.MANAGED, Level.USER, Level.PROJECT)

names = st.frozensets(st.sampled_from(TOOLS))
tiers = st.builds(
    AgentPermissionSnapshot, always_allow=names, needs_approval=names, blocked=names,
    user_overrides=names, is_assigned=st.booleans(),
)  # fmt: skip


@st.composite
def files(draw: st.DrawFn, level: Level) -> PolicyFile:
    """Draw one policy file."""
    rules = st.tuples(st.sampled_from(TOOLS), st.sampled_from(("allow", "ask", "deny")))
    text = f"deny = {sorted(draw(names))}\n" if draw(st.booleans()) else ""
    default = draw(st.sampled_from((None, "allow", "ask", "deny")))
    text += f'default = "{default}"\n' if default else ""
    for tool, do in draw(st.lists(rules, max_size=4)):
        text += f'[[rule]]\nmatch = "{tool}"\ndo = "{do}"\n'
    return parse(text, f"/{level}.toml", level, SCENE)


@st.composite
def policies(draw: st.DrawFn) -> PolicySet:
    chosen = [level for level in LEVELS if draw(st.booleans())]
    return PolicySet([draw(files(level)) for level in chosen], trusted=draw(st.booleans()))


@st.composite
def standings(draw: st.DrawFn, mode: Mode | None = None) -> DecisionContext:
    book = GrantBook(Grant(f"g-{tool}", tool, Always(), "", "c") for tool in draw(names))
    chosen = mode or draw(st.sampled_from(Mode))
    return DecisionContext(chosen, book, draw(names), draw(policies()), draw(tiers))


calls = st.sampled_from(CALLS)


@given(standings(), standings(), calls)
def test_the_verdict_is_never_looser_than_either(
    one: DecisionContext, other: DecisionContext, call: Facts
) -> None:
    both = [Situation(one), Situation(other)]
    verdict = STRICTNESS[decide_strictest(call, both).verdict]
    assert verdict == max(STRICTNESS[decide(call, each).verdict] for each in (one, other))


@given(policies(), files(Level.USER), st.sampled_from(Mode))
def test_a_file_that_only_forbids_never_lets_more_run_than_none(
    bare: PolicySet, file: PolicyFile, mode: Mode
) -> None:
    without = [f for level, f in bare.files.items() if level is not Level.USER]
    more = [*without, replace(file, only_forbids=True)]
    before, after = (
        DecisionContext(mode, GrantBook(), frozenset(TOOLS), PolicySet(each, trusted=bare.trusted))
        for each in (without, more)
    )
    for call in CALLS:
        verdicts = [STRICTNESS[decide(call, each).verdict] for each in (before, after)]
        assert verdicts == sorted(verdicts)


@given(*([standings()] * 4), calls)
def test_nor_below_another_agent(
    own: DecisionContext,
    held: DecisionContext,
    above: DecisionContext,
    above_held: DecisionContext,
    call: Facts,
) -> None:
    verdict = STRICTNESS[
        decide_strictest(call, situations([(own, held), (above, above_held)])).verdict
    ]
    for mine, theirs in ((own, above), (held, above_held)):
        assert verdict >= STRICTNESS[decide_for_subagent(call, mine, [theirs]).verdict]


# --- sequences of acts ----------------------------------------------------------------------------


def snapshot(policies: PolicySet) -> PolicySnapshot:
    """Return what a reading found; its texts only tell one apart from another."""
    texts = {level: (file.path, repr(id(file))) for level, file in policies.files.items()}
    return PolicySnapshot(policies, texts, agents={})


def unasked(rules: Rules, mode: Mode) -> set[int]:
    """Return the numbers of the calls that run unasked."""
    found: set[int] = set()
    for number, call in enumerate(CALLS):
        both = [
            Situation(DecisionContext(mode, GrantBook(), frozenset(TOOLS), each.policies))
            for each in rules.both
        ]
        if decide_strictest(call, both).verdict is Verdict.ALLOW:
            found.add(number)
    return found


def alone(snapshot: PolicySnapshot, mode: Mode) -> set[int]:
    return unasked(Rules.of(snapshot), mode)


@given(policies(), st.lists(st.tuples(st.sampled_from(("other", "accept", "trust")), policies()),
                            max_size=6), st.sampled_from(Mode))  # fmt: skip
def test_what_others_write_never_lets_more_run_than_is_held(
    start: PolicySet, acts: list[tuple[str, PolicySet]], mode: Mode
) -> None:
    rules = Rules.of(snapshot(start))
    for act, written in acts:
        held = rules.held
        if act == "accept":
            rules.accept()
            continue
        if act == "trust":  # what the host saw of the project, and nothing else that was written
            rules.trust(snapshot(PolicySet(written.files.values(), trusted=True)))
            others = {level: rules.held.policies.files.get(level) for level in LEVELS[:2]}
            assert others == {level: held.policies.files.get(level) for level in LEVELS[:2]}
            continue
        rules.read(snapshot(written))
        assert alone(rules.held, mode) == alone(held, mode), "a foreign act changes nothing held"
        now = unasked(rules, mode)
        assert now <= alone(held, mode)
        assert now <= alone(rules.present, mode), "what is stricter now counts at once"


ACTS = ("give", "revoke", "forge", "delete", "unreadable", "accept")


def lasting(tool: str) -> LastingGrant:
    return LastingGrant(f"g-{tool}", tool, Always(), Persist.PROJECT, "c", "2026-01-01T00:00:00Z")


def test_grants_that_count_grow_by_own_acts_only() -> None:
    """All sequences of five acts on one grant, from a store with and without it."""
    grant = lasting("Bash")
    steps: dict[str, Callable[[HeldGrants, set[LastingGrant]], object]] = {
        "give": lambda held, stored: (stored.add(grant), held.hold(grant)),
        "revoke": lambda held, stored: (stored.discard(grant), held.drop(grant.grant_id)),
        "forge": lambda _, stored: stored.add(replace(grant, grant_id="g-forged")),
        "delete": lambda _, stored: stored.clear(),
        "unreadable": lambda _held, _stored: None,
        "accept": lambda held, _: held.accept(),
    }
    for start, acts in product((set[LastingGrant](), {grant}), product(ACTS, repeat=5)):
        held, stored = HeldGrants(), set(start)
        before = len(held.read(LoadedGrants(tuple(stored))))
        for act in acts:
            steps[act](held, stored)
            problem = "cannot be read" if act == "unreadable" else None
            now = len(held.read(LoadedGrants(() if problem else tuple(stored), problem)))
            if act in ("forge", "delete", "unreadable"):
                assert now <= before, (start, acts)
            if act in ("delete", "unreadable"):
                assert now == 0
            before = now if not problem else before
