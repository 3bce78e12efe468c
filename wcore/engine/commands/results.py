"""`command_result`: the one answer to each command that has a `request_id`."""

from collections.abc import Mapping

from wcore.errors import Code, WcoreError
from wcore.policy.rules.policy_file import PolicyError
from wcore.protocol import commands, events


def done(command: commands.Introspection, found: Mapping[str, object]) -> events.CommandResult:
    """Return the answer to a command that was obeyed: `found` are the fields that it asked for."""
    return events.CommandResult.model_validate(
        {"request_id": command.request_id, "command": _name(command), "ok": True, **found}
    )


def refused(command: commands.Introspection, error: WcoreError) -> events.CommandResult:
    """Return the answer to a command that was not obeyed."""
    code = Code.CONFIG if isinstance(error, PolicyError) else error.code
    problem = events.CommandProblem(code=code, message=str(error))
    return events.CommandResult(
        request_id=command.request_id, command=_name(command), ok=False, error=problem
    )


def _name(command: commands.Introspection) -> str:
    return str(command.model_dump()["type"])
