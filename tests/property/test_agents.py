"""A sub-agent can never do what those it works for could not."""

from hypothesis import given
from hypothesis import strategies as st

from wcore.policy.decide import BINDING, Standing, decide
from wcore.policy.facts import Facts, PathFact
from wcore.policy.grants import Grant, GrantBook
from wcore.policy.inheritance import decide_below
from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_set import Policies
from wcore.policy.rules.rule import Level, Scene
from wcore.policy.rules.rule_index import Case
from wcore.policy.tiers import AgentPermissionSnapshot
from wcore.vocabulary import Access, Always, Category, Mode, Verdict

SCENE = Scene(Places("/ws", "/home/me"), {})
TOOLS = ("Read", "Write", "Bash")
CATEGORIES = {"Read": Category.INFO, "Write": Category.EDIT, "Bash": Category.EXEC}
AGENTS = ("main", "worker", "worker/helper")

rules = st.lists(
    st.tuples(st.sampled_from(TOOLS), st.sampled_from(("allow", "ask", "deny")),
              st.sampled_from((None, *AGENTS))),
    max_size=5,
)  # fmt: skip
names = st.frozensets(st.sampled_from(TOOLS))
tiers = st.builds(
    AgentPermissionSnapshot, always_allow=names, needs_approval=names, blocked=names,
    user_overrides=names,
)  # fmt: skip


@st.composite
def standings(draw: st.DrawFn) -> list[Standing]:
    """Draw three agents, each below the one before."""
    text = "".join(
        f'[[rule]]\nmatch = "{tool}"\ndo = "{do}"\n' + (f'agent = "{agent}"\n' if agent else "")
        for tool, do, agent in draw(rules)
    )
    policies = Policies([parse(text, "/p.toml", Level.USER, SCENE)])
    mode = draw(st.sampled_from(Mode))
    found: list[Standing] = []
    for agent in AGENTS:
        book = GrantBook(Grant(f"g-{t}", t, Always(), "", "c") for t in draw(names))
        found.append(Standing(mode, book, draw(names), policies, draw(tiers), agent))
    return found


@st.composite
def calls(draw: st.DrawFn) -> Facts:
    tool = draw(st.sampled_from(TOOLS))
    paths = (PathFact("/ws/a", Access.READ, inside=draw(st.booleans())),)
    return Facts(tool, CATEGORIES[tool], paths if tool != "Bash" else ())


def bare(standing: Standing) -> Standing:
    """Return what binds those below: without grants and overrides."""
    own = standing.tiers
    without = AgentPermissionSnapshot(own.always_allow, own.needs_approval, own.blocked)
    return Standing(
        standing.mode, GrantBook(), standing.offered, standing.policies, without, standing.agent
    )


@given(standings(), calls())
def test_what_binds_a_parent_binds_all_below_it(agents: list[Standing], facts: Facts) -> None:
    main, worker, helper = agents
    verdict = decide_below(facts, helper, [bare(worker), bare(main)]).verdict
    for above in (bare(main), bare(worker)):
        bound = [row(Case(facts, above.agent), above) for row in BINDING]
        if any(found and found.verdict is Verdict.DENY for found in bound):
            assert verdict is Verdict.DENY
        if any(bound):
            assert verdict is not Verdict.ALLOW


@given(standings(), calls())
def test_no_parent_makes_an_agent_freer(agents: list[Standing], facts: Facts) -> None:
    order = [Verdict.ALLOW, Verdict.ASK, Verdict.DENY]
    main, worker, _ = agents
    alone = decide(facts, worker).verdict
    below = decide_below(facts, worker, [bare(main)]).verdict
    assert order.index(below) >= order.index(alone)
