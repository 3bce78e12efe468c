"""A yes to all tools of a server is a yes to each of them as it was listed, and to nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from wcore.policy.covering_grants import find_covering_grant
from wcore.policy.facts import Facts
from wcore.policy.grants import (
    GRANTS_MAX,
    Grant,
    GrantBook,
    ScopeRefused,
    grants_of,
    validate_scope,
)
from wcore.policy.protected import Places
from wcore.vocabulary import Always, AlwaysServer, Category, ServerTools

PLACES = Places(workspace="/w", home="/home/u")
LISTS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("123"), min_size=1)
LAUNCHES = st.sampled_from(["l", "m"])


def listed(launch: str, tools: dict[str, str], server: str = "s") -> ServerTools:
    return ServerTools(server, launch, tuple(tools.items()))


def facts_of(tool: str, server: ServerTools) -> Facts:
    pin = (server.launch, dict(server.tools)[tool])
    return Facts(tool, Category.MCP, pin=pin, listed=server)


def granted(tool: str, server: ServerTools, book: GrantBook) -> GrantBook:
    scope, facts = AlwaysServer("s"), facts_of(tool, server)
    weighed = validate_scope(scope, facts, PLACES, book)
    assert not isinstance(weighed, ScopeRefused)
    for number, grant in enumerate(grants_of(scope, weighed, facts)):
        book.add(Grant(f"{number}", grant.tool, grant.scope, "", "", pin=grant.pin))
    return book


@given(LISTS, LISTS, LAUNCHES)
def test_a_tool_runs_if_and_only_if_it_was_listed_so(
    before: dict[str, str], after: dict[str, str], launch: str
) -> None:
    was, now = listed("l", before), listed(launch, after)
    book = granted(next(iter(before)), was, GrantBook())
    for tool, schema in after.items():
        covered = find_covering_grant(facts_of(tool, now), book) is not None
        assert covered == (launch == "l" and before.get(tool) == schema), tool


@given(LISTS)
def test_it_is_refused_for_another_server_and_for_what_is_listed_no_more(
    tools: dict[str, str],
) -> None:
    server, tool = listed("l", tools), next(iter(tools))
    for facts in (
        Facts("Bash", Category.EXEC),
        facts_of(tool, listed("l", tools, "t")),
        Facts(tool, Category.MCP, pin=("l", "another"), listed=server),
        Facts(tool, Category.MCP, pin=("another", tools[tool]), listed=server),
        Facts("new", Category.MCP, pin=("l", tools[tool]), listed=server),
    ):
        refused = validate_scope(AlwaysServer("s"), facts, PLACES, GrantBook())
        assert isinstance(refused, ScopeRefused), facts


def test_each_tool_counts_among_the_grants_there_may_be() -> None:
    server = listed("l", {"a": "1", "b": "1"})
    full = GrantBook(Grant(f"g{n}", f"t{n}", Always(), "", "") for n in range(GRANTS_MAX - 1))
    assert isinstance(
        validate_scope(AlwaysServer("s"), facts_of("a", server), PLACES, full), ScopeRefused
    )
