"""The question before a call: the options an editor shows, and what a choice means. Pure."""

from dataclasses import dataclass
from typing import Final

from acp.schema import AllowedOutcome, DeniedOutcome, PermissionOption

from wcore_host.events import ToolRequest
from wcore_host.grants import GRANT_CHARS_SHOWN, grant_label, grant_text
from wcore_host.permission import Allow, Deny
from wcore_host.visible import visible_line

REJECTED: Final = ""  # the engine has words of its own for a plain no
UNKNOWN_CHOICE: Final = "the editor answered with an option that was not offered"
ONLY_ONCE: Final = frozenset({"question", "protected", "outside", "safety", "unreadable"})


@dataclass(frozen=True)
class Choice:
    """One button of the card."""

    option: PermissionOption
    verdict: Allow | Deny


def choices(request: ToolRequest, *, can_persist: bool) -> list[Choice]:
    """Return the buttons of a card, in the order in which they are shown."""
    name = visible_line(request.tool.name, 60)
    offered = [_choice("allow_once", "Allow once", "allow_once", Allow())]
    for number, scope in enumerate(request.suggestions or (), 1):
        if granted := grant_text(scope):
            label = f"Allow every {grant_label(scope)} “{visible_line(granted, GRANT_CHARS_SHOWN)}”"
            for kept, where in (("session", "session"), ("project", "project, also later")):
                if kept == "session" or (number == 1 and can_persist):
                    yes = Allow(scope=scope, persist=None if kept == "session" else kept)
                    key = f"grant-{number}" if kept == "session" else f"grant-{number}-{kept}"
                    offered.append(_choice(key, f"{label} in this {where}", "allow_always", yes))
    if request.why.row not in ONLY_ONCE:  # no grant would lift these rows
        label = f"Allow every {name} call in this session"
        offered.append(_choice("allow_always", label, "allow_always", Allow(scope="always")))
    offered.append(_choice("reject_once", "Reject", "reject_once", Deny(REJECTED)))
    return offered


def verdict(offered: list[Choice], outcome: AllowedOutcome | DeniedOutcome) -> Allow | Deny:
    """Return what the person's answer means. A cancelled card ends the turn, as ACP has it."""
    if isinstance(outcome, DeniedOutcome):
        return Deny(REJECTED, stop=True)
    for choice in offered:
        if choice.option.option_id == outcome.option_id:
            return choice.verdict
    return Deny(UNKNOWN_CHOICE)


def _choice(option_id: str, name: str, kind: str, verdict: Allow | Deny) -> Choice:
    fields = {"optionId": option_id, "name": name, "kind": kind}
    return Choice(PermissionOption.model_validate(fields), verdict)
