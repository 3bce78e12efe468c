"""What this engine can do, as `ready` and `config_changed` announce it."""

from wcore.models.factory import has_prices
from wcore.protocol import events
from wcore.protocol.parts import SandboxInfo
from wcore.session.session import Session


def capabilities(session: Session) -> events.Capabilities:
    """Return what `ready` and `config_changed` announce."""
    return events.Capabilities(
        thinking=session.model.thinks,
        effort=bool(session.model.effort_levels),
        effort_levels=session.model.effort_levels,
        modes=session.mode_names,
        current_mode=session.mode_name,
        mcp=session.settings.has_mcp,
        hitl_suspend=session.settings.hitl_suspend or None,
        streaming_tools=True,
        sub_agent_traces=True,
        cost_attribution=has_prices(session.model) or None,
        call_announced=True,
        call_settled=True,
        edit_args=True,
        persist=True,
        introspection=True,
        grant_control=True,
        prompts=session.settings.prompts or None,
        sandbox=SandboxInfo() if session.settings.is_sandboxed else None,
        store=None if session.persistence.is_kept else "memory",
        current_model=session.model.name,
        context_limit=session.model.window_tokens,
    )
