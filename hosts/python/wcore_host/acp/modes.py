"""The engine's modes as the session modes of ACP; a raise takes a second yes."""

from typing import Final

import anyio
from acp import RequestError, update_tool_call
from acp.interfaces import Client
from acp.schema import AllowedOutcome, PermissionOption, SessionModeState

from wcore_host.events import Capabilities
from wcore_host.headless.modes import MODES, is_raise

CONFIRM_S: Final = 120.0  # an editor that cannot ask now must not hang its mode menu
HARMLESS: Final = ("plan", "read_only")  # a raise up to here lets nothing change
NAMES: Final = {
    "plan": "Plan",
    "default": "Ask always",
    "read_only": "Read only",
    "auto_edit": "Edit freely",
    "auto_run": "Edit, and run in the sandbox",
    "force": "Everything, unasked",
}
OPTIONS: Final = (("raise", "Yes, change the mode", "allow_once"), ("keep", "No", "reject_once"))


def state(capabilities: Capabilities) -> SessionModeState | None:
    """Return the modes as ACP shows them; `None` for an engine without modes."""
    if capabilities.current_mode not in capabilities.modes:
        return None
    offered = [
        {"id": mode, "name": NAMES.get(mode, mode), "description": MODES.get(mode, "")}
        for mode in capabilities.modes
    ]
    return SessionModeState.model_validate(
        {"currentModeId": capabilities.current_mode, "availableModes": offered}
    )


async def confirmed(editor: Client, session_id: str, current: str, wanted: str) -> bool:
    """Whether the person wants this raise: a mode menu is easily cycled by one key too many."""
    if not is_raise(current, wanted) or wanted in HARMLESS:
        return True
    card = update_tool_call(
        f"mode-{wanted}",
        title=f"Change the mode to {NAMES.get(wanted, wanted)}: {MODES.get(wanted, wanted)}",
        kind="switch_mode",
        status="pending",
    )
    options = [
        PermissionOption.model_validate({"optionId": key, "name": name, "kind": kind})
        for key, name, kind in OPTIONS
    ]
    try:
        with anyio.fail_after(CONFIRM_S):
            answer = await editor.request_permission(session_id, card, options)
    except (TimeoutError, RequestError):
        return False
    outcome = answer.outcome
    return isinstance(outcome, AllowedOutcome) and outcome.option_id == OPTIONS[0][0]
