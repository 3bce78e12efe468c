"""The question before a call: the options an editor shows, and what a choice means. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, cast

from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    DeniedOutcome,
    ElicitationFormSessionMode,
    PermissionOption,
)

from wcore_host.acp.tool_call_content import META
from wcore_host.events import Json, Scope, ToolRequest
from wcore_host.headless.grants import grant_shown, is_known, keeps
from wcore_host.permission import Allow, Deny
from wcore_host.visible import visible_line

REJECTED: Final = ""  # the engine has words of its own for a plain no
UNKNOWN_CHOICE: Final = "the editor answered with an option that was not offered"
UNKNOWN_ANSWER: Final = "the editor answered with something that is no answer to this card"
ONLY_ONCE: Final = frozenset({"question", "protected", "outside", "safety", "unreadable"})
KEPT: Final = {  # how long a yes lasts, and how a button says it
    "session": "in this session",
    "project": "in this project, also later",
    "user": "everywhere, also later",
}
REJECT, REJECT_WHY, REJECT_STOP = "reject_once", "reject_why", "reject_stop"
WHY_FIELD: Final = "reason"
WHY_TITLE: Final = "What should it do instead?"


@dataclass(frozen=True)
class Choice:
    """One button of the card."""

    option: PermissionOption
    verdict: Allow | Deny


def choices(request: ToolRequest, flags: frozenset[str], *, forms: bool) -> list[Choice]:
    """Return the buttons of a card, in the order in which they are shown.

    Clients that answer by themselves take the first one of a kind: the narrowest.
    """
    offered = [_choice("allow_once", "Allow once", "allow_once", Allow())]
    suggested = request.suggestions or ()
    longer = [scope for scope in suggested if len(keeps(scope)) > 1 and "persist" in flags]
    for number, scope in enumerate(suggested, 1):
        lasting = scope in longer[-1:]  # of all: too many buttons
        offered += _grants(f"grant-{number}", scope, request, lasting=lasting)
    if request.why.row not in ONLY_ONCE:  # no grant would lift these rows
        label = f"Allow, and every {visible_line(request.tool.name, 60)} call in this session"
        offered.append(_choice("allow_always", label, "allow_always", Allow(scope="always")))
    offered.append(_choice(REJECT, "Reject", "reject_once", Deny(REJECTED)))
    if forms:
        offered.append(_choice(REJECT_WHY, "Reject, and say why…", "reject_once", Deny(REJECTED)))
    else:
        stop = Deny(REJECTED, stop=True)
        offered.append(_choice(REJECT_STOP, "Reject, and stop to say why", "reject_once", stop))
    return offered


def _grants(key: str, scope: Scope, request: ToolRequest, *, lasting: bool) -> Iterator[Choice]:
    if not is_known(scope):
        return
    label = f"Allow, and {grant_shown(scope)}"
    here = f" {KEPT['session']}" if len(keeps(scope)) > 1 else ""
    yield _choice(key, f"{label}{here}", "allow_always", Allow(scope=scope))
    for kept in keeps(scope)[1:] if lasting else ():
        if kept == "project" or not request.agent:  # a sub-agent is this project's
            yes = Allow(scope=scope, persist=kept)
            yield _choice(f"{key}-{kept}", f"{label} {KEPT[kept]}", "allow_always", yes)


def verdict(
    request: ToolRequest, offered: list[Choice], outcome: AllowedOutcome | DeniedOutcome
) -> Allow | Deny:
    """Return what the person's answer means. A cancelled card ends the turn, as ACP has it."""
    if isinstance(outcome, DeniedOutcome):
        return Deny(REJECTED, stop=True)
    for choice in offered:
        if choice.option.option_id == outcome.option_id:
            return _with_more(request, choice.verdict, outcome)
    return Deny(UNKNOWN_CHOICE)


def _with_more(
    request: ToolRequest, verdict: Allow | Deny, outcome: AllowedOutcome
) -> Allow | Deny:
    """Add what an editor that knows us may say in `_meta`: a reason, or changed arguments."""
    more = (outcome.field_meta or {}).get(META)
    if more is None:
        return verdict
    said: dict[str, Json] = cast("dict[str, Json]", more) if isinstance(more, dict) else {}
    match verdict, said:
        case Deny(), {"reason": str(reason)}:
            return replace(verdict, message=reason)
        case Allow(), {"args": dict(args), "digest": request.digest}:
            return replace(verdict, args=args)
        case Allow(), {"args": _}:  # for another card, or nothing that can be run
            return Deny(UNKNOWN_ANSWER)
        case _:
            return verdict


def reason_form(session_id: str, call_id: str) -> ElicitationFormSessionMode:
    """Return the form that asks for the reason of a no."""
    field = {"type": "string", "title": WHY_TITLE}
    schema = {"type": "object", "properties": {WHY_FIELD: field}}
    return ElicitationFormSessionMode.model_validate(
        {"sessionId": session_id, "toolCallId": call_id, "requestedSchema": schema}
    )


def reason(response: object) -> Deny:
    """Return the no with the reason that was written, if one was."""
    content = response.content if isinstance(response, AcceptElicitationResponse) else None
    written = (content or {}).get(WHY_FIELD)
    return Deny(written if isinstance(written, str) else REJECTED)


def _choice(option_id: str, name: str, kind: str, verdict: Allow | Deny) -> Choice:
    fields = {"optionId": option_id, "name": name, "kind": kind}
    return Choice(PermissionOption.model_validate(fields), verdict)
