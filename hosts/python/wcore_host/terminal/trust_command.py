"""`/trust`: what the folder brings along, and whether it may do more than forbid."""

from typing import Final

import anyio

from wcore_host.decode import Fields
from wcore_host.errors import CommandFailedError
from wcore_host.events import JsonObject
from wcore_host.terminal.dialogs import ConfirmScreen, ListScreen
from wcore_host.terminal.pane import Pane

ANSWER_S: Final = 5.0  # its files are few, and read at once
TRUST: Final = "trust these files as they are now"
STOP: Final = "stop trusting these files"
RISK: Final = (
    "Its rules may then loosen yours, its agents may be started, and its MCP servers run programs."
    " Read the files first."
)


async def trust(pane: Pane, _rest: str) -> None:
    """List what the folder brings along; trust it after a second yes, or stop trusting it.

    Raises:
        CommandFailedError: the engine refuses, or a turn is running.
    """
    found = await _ask(pane, trusted=True)  # without a digest it only lists
    files = [f"{item.text('path')}  {item.text('digest')}" for item in found.objects("files")]
    if not files:
        pane.note("this folder brings no rules, agents or servers along")
        return
    trusted = found.flag("trusted")
    title = "you trust these files" if trusted else "these files can only forbid: not trusted"
    picked = await pane.ask(ListScreen(title, [STOP if trusted else TRUST, *files]))
    if picked is None or picked[1] != 0:
        return
    if trusted:
        await _ask(pane, trusted=False)
    elif await pane.ask(ConfirmScreen(f"Trust {len(files)} files? {RISK}", "Yes, trust them")):
        await _ask(pane, trusted=True, digest=found.text("digest"))
    else:
        return
    pane.note("the files are no longer trusted" if trusted else "the files are trusted")


async def _ask(pane: Pane, *, trusted: bool, digest: str = "") -> Fields:
    if pane.talk.engine is None:
        raise CommandFailedError("trust_workspace", "gone", "there is no engine")
    asked: JsonObject = {"type": "trust_workspace", "trusted": trusted}
    with anyio.fail_after(ANSWER_S):
        result = await pane.talk.engine.request({**asked, **({"digest": digest} if digest else {})})
    if not result.ok:
        raise CommandFailedError("trust_workspace", result.code, result.message)
    return Fields(result.raw)
