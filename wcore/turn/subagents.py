"""Sub-agents: a turn within a turn, in a session of its own below that of its parent.

The child's calls pass the same gate, with the same manager, and what its parent could not do it
cannot do. Told to end, the parent ends its children first; only then is its own call over.
"""

import copy
from typing import Final

import anyio
from anyio.lowlevel import checkpoint
from msgspec.structs import replace

from wcore.agents import AgentDefinition, Assignment
from wcore.errors import ConfigError
from wcore.models.factory import for_subagent
from wcore.models.model import Model
from wcore.session.history import History
from wcore.session.known_files import KnownFiles
from wcore.session.session import Session
from wcore.tools.builtin.spawn import NAME
from wcore.turn.call import ToolCall
from wcore.visible import visible_line
from wcore.vocabulary import (
    AssistantMessage,
    Status,
    ToolOutput,
    Usage,
    UserMessage,
)

DEPTH_MAX: Final = 3  # agents below agents: deeper, nobody can follow who asks for what
SPAWNS_MAX: Final = 32  # a turn, at all depths: a model that spawns for ever must come to an end

TASK_CHARS_MAX: Final = 120  # of a task, on cards and calls: enough to tell agents apart

_END: Final = {
    "length": "[the agent's last reply was cut off by its limit]",
    "max_turns": "[the agent was ended: it had taken its number of rounds]",
}


async def spawn(call: ToolCall, assignment: Assignment) -> ToolOutput:
    """Let a sub-agent work on its assignment; return its report.

    When cancelled, the agent and everything it started have ended before this leaves.
    """
    control = call.control
    control.tally.spawns += 1
    if control.tally.spawns > SPAWNS_MAX:
        return ToolOutput.failed(f"no more than {SPAWNS_MAX} agents can be started in a turn")
    report = ToolOutput.failed("the agent was ended")
    await control.subagent_slots.acquire()
    try:
        with anyio.CancelScope(shield=True):  # it is ended with its parent, never torn off
            report = await _work(call, assignment)
    finally:
        control.subagent_slots.release()
    await checkpoint()  # told to end meanwhile, the call is over without a result
    return report


async def _work(call: ToolCall, assignment: Assignment) -> ToolOutput:
    session = call.session
    try:
        model = for_subagent(session.model, assignment.agent.model)
    except ConfigError as error:
        return ToolOutput.failed(f"agent {assignment.agent.name}: {error}")
    below = _session_of(assignment, call, model)
    try:
        end = await call.control.run_child(below, UserMessage(assignment.task))
    finally:
        session.usage += below.usage
    below.emit_nowait(end)
    said = [m for m in below.history.messages if isinstance(m, AssistantMessage)]
    report = next((message.text for message in reversed(said) if message.text), "")
    if end.finish_reason == "error":
        problem = below.last_error or "it failed"
        return ToolOutput(Status.ERROR, f"{report}\n[the agent failed: {problem}]".strip())
    note = _END.get(end.finish_reason, "")
    return ToolOutput(Status.SUCCESS, f"{report}\n{note}".strip() or "[no report]")


def _session_of(assignment: Assignment, call: ToolCall, model: Model) -> Session:
    """Return a session below the caller's: shared but for what makes an agent."""
    above, agent = call.session, assignment.agent
    below = copy.copy(above)
    below.task = visible_line(assignment.task, TASK_CHARS_MAX)
    below.parent, below.parent_call_id, below.last_error = above, call.call_id, ""
    below.agent, below.agent_digest = (*above.agent, agent.name), agent.digest
    name = "/".join(below.agent)
    below.history, below.usage, below.model, below.interrupted = History(), Usage(), model, None
    below.context_tokens, below.known_files = 0, KnownFiles()
    below.policy = above.policy.for_subagent(name, agent)
    below.persistence = above.persistence.for_subagent(name, call.call_id)
    below.journal = below.persistence.journal
    below.tool_allowlist = _allowed(agent, above, is_last=len(below.agent) >= DEPTH_MAX)
    prompt = "\n\n".join(text for text in (above.settings.system_prompt, agent.prompt) if text)
    below.settings = replace(above.settings, system_prompt=prompt)
    return below


def _allowed(agent: AgentDefinition, above: Session, *, is_last: bool) -> frozenset[str]:
    """Return the tools that an agent may be offered at most."""
    named = above.available_tools if agent.tools is None else above.available_tools & agent.tools
    return named - {NAME} if is_last else named
