"""What a sub-agent says, as the host is told. Pure."""

from collections.abc import Sequence
from typing import Final

from wcore.protocol import events

#: Goes out inside of a `sub_agent_event`; calls of a sub-agent are told like all calls.
INNER: Final = (
    events.StreamStart,
    events.TextDelta,
    events.Thinking,
    events.StreamEnd,
    events.Info,
    events.Error,
)


def nested(event: events.Event, agent: Sequence[str], call_id: str) -> events.Event:
    """Return what to send for an event of the agent that works for `call_id`."""
    if not isinstance(event, INNER):
        return event
    return events.SubAgentEvent(
        parent_call_id=call_id,
        agent_name="/".join(agent),
        inner=event.model_dump(mode="json", exclude_none=True),
    )
