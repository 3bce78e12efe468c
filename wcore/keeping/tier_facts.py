"""Tiers and overrides of an agent as the journal keeps them, and back."""

from collections.abc import Mapping
from typing import Final

from wcore.keeping.records import listed
from wcore.policy.tiers import AgentPermissionSnapshot, Assigned, Tier
from wcore.vocabulary import Category, Json

SETS: Final = ("always_allow", "needs_approval", "blocked", "user_overrides", "defaulted")


def as_facts(
    snapshot: AgentPermissionSnapshot, assigned: Mapping[str, Assigned] | None
) -> dict[str, Json]:
    """Return tiers as the journal keeps them."""
    rows: list[Json] = [
        [each.name, each.category.value, each.tier and each.tier.value]
        for each in (assigned or {}).values()
    ]
    tools = rows if snapshot.has_rows else None
    return {**sets_of(snapshot), "tools": tools, "only": snapshot.is_assigned}


def sets_of(snapshot: AgentPermissionSnapshot) -> dict[str, Json]:
    """Return the sets of a snapshot by name, each sorted."""
    return {name: sorted(getattr(snapshot, name)) for name in SETS}


def held_in(facts: Mapping[str, Json]) -> AgentPermissionSnapshot | None:
    """Return what the session held instead of what was read, if the journal has that."""
    held = facts.get("held")
    if not isinstance(held, Mapping):
        return None
    sets = {name: frozenset(map(str, listed(held.get(name)))) for name in SETS}
    return AgentPermissionSnapshot(
        **sets, is_assigned=held.get("is_assigned") is True, unread=False
    )


def from_facts(
    facts: Mapping[str, Json],
) -> tuple[AgentPermissionSnapshot, dict[str, Assigned] | None]:
    """Return what `as_facts` was made of."""
    sets = {name: frozenset(map(str, listed(facts.get(name)))) for name in SETS}
    rows = facts.get("tools")
    only = facts.get("only", rows is not None)  # left out by earlier versions
    snapshot = AgentPermissionSnapshot(**sets, is_assigned=only is True, unread=False)
    if rows is None:
        return snapshot, None
    tools: dict[str, Assigned] = {}
    for each in listed(rows):
        name, category, tier = listed(each)
        known = Tier(str(tier)) if tier is not None else None
        tools[str(name)] = Assigned(str(name), Category(str(category)), known)
    return snapshot, tools
