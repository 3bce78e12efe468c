"""Tiers and overrides of an agent as the journal keeps them, and back."""

from collections.abc import Mapping
from typing import Final

from wcore.persistence.records import as_list
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
    """Return the sets of a snapshot by name, each sorted, and the times of its overrides."""
    sets = {name: sorted(getattr(snapshot, name)) for name in SETS}
    return {**sets, "overridden_at": dict(snapshot.overridden_at)}


def _from_sets(facts: Mapping[str, Json], *, is_assigned: bool) -> AgentPermissionSnapshot:
    sets = {name: frozenset(map(str, as_list(facts.get(name)))) for name in SETS}
    times = facts.get("overridden_at")
    at = {k: str(v) for k, v in times.items()} if isinstance(times, Mapping) else {}
    return AgentPermissionSnapshot(**sets, is_assigned=is_assigned, overridden_at=at, unread=False)


def held_in(facts: Mapping[str, Json]) -> AgentPermissionSnapshot | None:
    """Return what the session held instead of what was read, if the journal has that."""
    held = facts.get("held")
    if not isinstance(held, Mapping):
        return None
    return _from_sets(held, is_assigned=held.get("is_assigned") is True)


def from_facts(
    facts: Mapping[str, Json],
) -> tuple[AgentPermissionSnapshot, dict[str, Assigned] | None]:
    """Return what `as_facts` was made of."""
    rows = facts.get("tools")
    only = facts.get("only", rows is not None)  # left out by earlier versions
    snapshot = _from_sets(facts, is_assigned=only is True)
    if rows is None:
        return snapshot, None
    tools: dict[str, Assigned] = {}
    for each in as_list(rows):
        name, category, tier = as_list(each)
        known = Tier(str(tier)) if tier is not None else None
        tools[str(name)] = Assigned(str(name), Category(str(category)), known)
    return snapshot, tools
