"""Kinds of sub-agents and their work, as values."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field


class AgentDefinition(Struct, frozen=True):
    """A kind of sub-agent. `digest` is that of everything here, so that a yes to one is no other's.

    `tools` are all that it is offered, of what its parent is; `None` is no limit. `tiers` are
    statuses by tool name. `model` is another one of the same provider.
    """

    name: str
    description: str = ""
    prompt: str = ""
    digest: str = ""
    tools: frozenset[str] | None = None
    tiers: Mapping[str, str] = field(default_factory=dict[str, str])
    model: str | None = None


class Assignment(Struct, frozen=True):
    """Work for a sub-agent."""

    agent: AgentDefinition
    task: str


#: An agent of no special kind: all tools of its parent, no instructions of its own.
GENERAL: Final = AgentDefinition("general", "an agent of no special kind", digest="general")
