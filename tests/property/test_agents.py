"""A sub-agent can never do what those it works for could not."""

from hypothesis import given
from hypothesis import strategies as st

from wcore.policy.decide import BINDING, DecisionContext, decide
from wcore.policy.facts import Facts, PathFact
from wcore.policy.grants import Grant, GrantBook
from wcore.policy.inheritance import decide_for_subagent
from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.policy.rules.rule_index import DecisionInput
from wcore.policy.tiers import AgentPermissionSnapshot
from wcore.vocabulary import Access, Always, Category, Mode, Verdict

SCENE = ParseContext(Places("/ws", "/home/me"), {})
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
def standings(draw: st.DrawFn) -> list[DecisionContext]:
    """Draw three agents, each below the one before."""
    text = "".join(
        f'[[rule]]\nmatch = "{tool}"\ndo = "{do}"\n' + (f'agent = "{agent}"\n' if agent else "")
        for tool, do, agent in draw(rules)
    )
    policies = PolicySet([parse(text, "/p.toml", Level.USER, SCENE)])
    mode = draw(st.sampled_from(Mode))
    found: list[DecisionContext] = []
    for agent in AGENTS:
        book = GrantBook(Grant(f"g-{t}", t, Always(), "", "c") for t in draw(names))
        found.append(DecisionContext(mode, book, draw(names), policies, draw(tiers), agent))
    return found


@st.composite
def calls(draw: st.DrawFn) -> Facts:
    tool = draw(st.sampled_from(TOOLS))
    paths = (PathFact("/ws/a", Access.READ, inside=draw(st.booleans())),)
    return Facts(tool, CATEGORIES[tool], paths if tool != "Bash" else ())


def bare(context: DecisionContext) -> DecisionContext:
    """Return what binds those below: without grants and overrides."""
    own = context.tiers
    without = AgentPermissionSnapshot(own.always_allow, own.needs_approval, own.blocked)
    return DecisionContext(
        context.mode, GrantBook(), context.offered, context.policies, without, context.agent
    )


@given(standings(), calls())
def test_what_binds_a_parent_binds_all_below_it(
    agents: list[DecisionContext], facts: Facts
) -> None:
    main, worker, helper = agents
    verdict = decide_for_subagent(facts, helper, [bare(worker), bare(main)]).verdict
    for above in (bare(main), bare(worker)):
        bound = [row(DecisionInput(facts, above.agent), above) for row in BINDING]
        if any(found and found.verdict is Verdict.DENY for found in bound):
            assert verdict is Verdict.DENY
        if any(bound):
            assert verdict is not Verdict.ALLOW


@given(standings(), calls())
def test_no_parent_makes_an_agent_freer(agents: list[DecisionContext], facts: Facts) -> None:
    order = [Verdict.ALLOW, Verdict.ASK, Verdict.DENY]
    main, worker, _ = agents
    alone = decide(facts, worker).verdict
    below = decide_for_subagent(facts, worker, [bare(main)]).verdict
    assert order.index(below) >= order.index(alone)
