"""The commands that begin with a slash. Those that show a list wait until it is closed."""

import json
import shlex
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from wcore_host.decode import Fields
from wcore_host.errors import CommandFailedError, EngineExitedError
from wcore_host.events import Grant, JsonObject
from wcore_host.headless.engine_cli import EngineCliError
from wcore_host.headless.grants import covered
from wcore_host.headless.modes import MODES, is_raise
from wcore_host.terminal.dialogs import ConfirmScreen, ListScreen
from wcore_host.terminal.pane import Pane
from wcore_host.terminal.status import mode_of
from wcore_host.terminal.trust_command import trust

ANSWER_S: Final = 5.0  # introspection is answered at once, also during a turn
_NOW: Final = {"allow": "runs unasked", "ask": "asks", "deny": "is denied"}
AUDIT_ROWS: Final = "1000"  # what a person looks through
UNTITLED: Final = "(without words)"  # a session whose first message was only files
HELP: Final = {
    "/mode": "[NAME]  what runs unasked; raising it asks once more",
    "/grants": "lasting yeses; Delete takes one back, also during a turn",
    "/sessions": "stored conversations; Enter continues one beside this one",
    "/resume": "[ID]  continue a stored session, or this one after its engine has ended",
    "/policy": "[COMMAND]  rules and tools in force, or why a command would ask",
    "/trust": "what the folder brings along, and whether it counts",
    "/accept": "let count what others have loosened since this session began",
    "/audit": "what was decided, by whom; whether the record is whole",
    "/mcp": "[add NAME COMMAND… | remove NAME]  MCP servers",
    "/model": "[NAME]  the language model",
    "/new": "another session beside this one",
    "/side": "sessions side by side, or one at a time",
    "/close": "end this session",
    "/find": "TEXT  search the conversation (Ctrl+F)",
    "/open": "all of the newest call, or of the one under the cursor (Ctrl+O)",
    "/copy": "copy the last answer (mouse: select, Ctrl+C)",
    "/stop": "end the turn (Esc)",
    "/help": "this list",
    "/quit": "leave (Ctrl+Q)",
}
COMMANDS: Final = tuple(HELP)
KEYS: Final = (
    "Enter sends · Alt+Enter or Ctrl+J: new line · ↑↓ history · @ files · / commands",
    "Tab: prompt, card, conversation · in the conversation ↑↓ Enter fold, Ctrl+O shows all",
    "a card: ↑↓ choose, Enter answers, Esc says no, PgUp PgDn scroll; letters never answer",
    "Ctrl+PgUp Ctrl+PgDn: other sessions · PgUp PgDn: scroll · Ctrl+C: copy, stop, leave",
    "Ctrl+_ undoes · Ctrl+Z: to the shell until `fg`; the engine goes on, cards run out",
)


async def run_slash_command(pane: Pane, line: str) -> None:
    """Do what `line` says; what goes wrong becomes a note."""
    name, _, rest = line.partition(" ")
    try:
        await _obey(pane, name, rest.strip())
    except (CommandFailedError, EngineCliError) as error:
        pane.note(f"{name}: {error}")
    except TimeoutError:
        pane.note(f"{name}: the engine has not answered for {ANSWER_S:g} s")
    except EngineExitedError:
        pane.note(f"{name}: the engine is gone")


async def _obey(pane: Pane, name: str, rest: str) -> None:
    if name in _WITH_TEXT:
        await _WITH_TEXT[name](pane, rest)
        return
    match name:
        case "/new":
            pane.post_message(pane.OpenSession(pane.talk.options.fresh()))
        case "/side" | "/close" | "/quit":
            pane.post_message(pane.SessionAction(name[1:]))
        case "/find":
            pane.search(rest)
        case "/open":
            pane.open_block()
        case "/copy":
            pane.copy_last()
        case "/stop":
            await pane.talk.stop()
        case "/accept":
            await _accept(pane)
        case "/help":
            pane.note("\n".join([*KEYS, *(f"{key:10} {text}" for key, text in HELP.items())]))
        case _:
            pane.note(f"no command {name}; /help lists them. A message with a slash: write two")


async def mode(pane: Pane, wanted: str) -> None:
    """Change the mode; more freedom takes a second yes."""
    engine = pane.talk.engine
    if engine is None:
        pane.note("there is no engine; /resume starts one")
        return
    now = engine.capabilities
    if wanted not in now.modes:
        rows = [f"{name:10} {MODES.get(name, '')}" for name in now.modes]
        title = f"the mode is {mode_of(pane.talk)}; Enter changes it"
        picked = await pane.ask(ListScreen(title, rows))
        if picked is None:
            return
        wanted = now.modes[picked[1]]
    if is_raise(now.current_mode, wanted):
        meaning = MODES.get(wanted, "a mode of this engine")
        question = f"Change the mode to {wanted}? From then on: {meaning}."
        if not await pane.ask(ConfirmScreen(question, f"Yes, {wanted}")):
            pane.note(f"the mode stays {now.current_mode}")
            return
    await engine.set_mode(wanted)


async def _accept(pane: Pane) -> None:
    """Let what waits count, after a second yes."""
    engine = pane.talk.engine
    waiting = engine.waiting_changes if engine is not None else None
    if engine is None or waiting is None:
        pane.note("nothing waits to be accepted")
    elif await pane.ask(ConfirmScreen(waiting.message, "Yes, let it count now")):
        with anyio.fail_after(ANSWER_S):
            await engine.accept_changes(waiting.digest)
        pane.note("accepted: it counts from now on")


async def _grants(pane: Pane, _rest: str) -> None:
    while (engine := pane.talk.engine) is not None:
        with anyio.fail_after(ANSWER_S):
            grants = await engine.list_grants()
        hint = "Delete takes a yes back at once · type to filter · Esc closes"
        screen = ListScreen(
            f"what you have allowed for longer: {len(grants)}",
            [_grant(g) for g in grants],
            hint,
            frozenset({"delete"}),
        )
        picked = await pane.ask(screen)
        if picked is None:
            return
        if picked[0] == "delete":
            with anyio.fail_after(ANSWER_S):
                taken = await engine.revoke_grant(grants[picked[1]].grant_id)
            pane.note(
                f"taken back: {_grant(grants[picked[1]])}" if taken else "it was gone already"
            )


def _grant(grant: Grant) -> str:
    agent = f" · only {grant.agent}" if grant.agent and grant.agent != "main" else ""
    return f"{covered(grant)} · {grant.persist} · used {grant.uses} times{agent}"


async def _sessions(pane: Pane, _rest: str = "") -> None:
    found = await pane.outside(
        "sessions", "list", *pane.talk.options.values("--store", "--user-id")
    )
    rows = [
        f"{s.text('last_at')[:16].replace('T', ' ')}  {s.text('title', UNTITLED)}  "
        f"{s.text('state')}  {s.text('workspace')}  {s.text('session_id')}"
        for s in map(Fields, found)
    ]
    hint = "Enter continues it beside this one · type to filter · Esc closes"
    picked = await pane.ask(ListScreen(f"{len(rows)} sessions", rows, hint))
    if picked is not None:
        session_id = Fields(found[picked[1]]).text("session_id")
        pane.post_message(pane.OpenSession(pane.talk.options.resuming(session_id)))


async def _resume(pane: Pane, session_id: str) -> None:
    if session_id:
        pane.post_message(pane.OpenSession(pane.talk.options.resuming(session_id)))
    elif pane.talk.engine is None and pane.talk.session_id:
        pane.restart(pane.talk.options.resuming(pane.talk.session_id))
    elif pane.talk.interrupted is not None:
        await offer_interrupted(pane)
    else:
        await _sessions(pane)


async def offer_interrupted(pane: Pane) -> None:
    """Ask what shall become of a turn that an earlier engine left unfinished."""
    talk = pane.talk
    if talk.interrupted is None or talk.engine is None:
        return
    turn = Fields(talk.interrupted)
    waits, unknown = len(turn.items("pending")), len(turn.items("unknown"))
    calls = "call" if waits == 1 else "calls"
    title = f"a turn was interrupted: {waits} {calls} had not run"
    title += f", {unknown} may have run" if unknown else ""
    rows = [
        "continue it: calls that wait are asked again",
        "end it: nothing more of it runs",
        "decide later (/resume asks again)",
    ]
    picked = await pane.ask(ListScreen(title, rows))
    if picked is None or picked[1] == 2:
        return
    action = "continue" if picked[1] == 0 else "cancel"
    result = await talk.engine.request({"type": "resume_turn", "action": action})
    talk.interrupted = None if result.ok else talk.interrupted
    pane.note(f"{action}: done" if result.ok else f"{action}: {result.message}")


async def _policy(pane: Pane, command: str) -> None:
    where = pane.talk.options.values("--cwd")
    if command:
        modes = () if pane.talk.engine is None else (f"--mode={mode_of(pane.talk)}",)
        told = await pane.outside("policy", "explain", *where, *modes, "--", command)
        for item in map(Fields, told):
            facts = " · ".join(filter(None, (item.text("row"), item.text("source"))))
            pane.note(f"{command}: {item.text('verdict')}: {item.text('detail')} [{facts}]")
        return
    rows: list[str] = []
    for item in map(Fields, await pane.outside("policy", "check", *where)):
        trust = "trusted" if item.flag("trusted") else "not trusted: can only forbid"
        rows.append(f"the folder's own policy is {trust}")
        for file in item.objects("files"):
            counts = f"{file.number('deny') or 0} deny, {file.number('rules') or 0} rules"
            rows.append(f"file  {file.text('level'):8} {file.text('path')}: {counts}")
    if (engine := pane.talk.engine) is not None:
        with anyio.fail_after(ANSWER_S):
            result = await engine.request({"type": "list_permissions"})
        for agent in Fields(result.raw).objects("agents"):
            for tool in agent.objects("tools"):
                over = " · always (yours)" if tool.flag("override") else ""
                source, now = tool.text("status_source"), _NOW.get(tool.text("verdict"), "")
                chosen = "" if source == "none" else f"{tool.text('status')} ({source}), "
                status = f"{chosen}{now or source}{over}"
                rows.append(f"tool  {agent.text('agent'):8} {tool.text('name'):18} {status}")
    await pane.ask(ListScreen("Policy in force (read-only)", rows))


async def _audit(pane: Pane, _rest: str) -> None:
    store = pane.talk.options.values("--store")
    found = await pane.outside("audit", "list", f"--limit={AUDIT_ROWS}", *store)
    verdicts = await pane.outside("audit", "verify", *store)
    whole = all(Fields(item).flag("intact") for item in verdicts)
    title = f"{len(found)} decisions, newest first; the record is " + (
        "whole" if whole else "NOT WHOLE: see `wcore audit verify`"
    )
    rows = [_decision(Fields(item)) for item in found]
    while (picked := await pane.ask(ListScreen(title, rows))) is not None:
        text = json.dumps(found[picked[1]], indent=2, ensure_ascii=False)
        await pane.view(rows[picked[1]], text)


def _decision(row: Fields) -> str:
    when = row.text("created_at")[:19].replace("T", " ")
    rule = "".join(f" {row.text(name)}" for name in ("rule_id", "rule_source") if row.text(name))
    reason = f" · {row.text('reason')}" if row.text("reason") else ""
    decision, source = row.text("decision"), row.text("source")
    return f"{when}  {decision:18} {row.text('tool_name'):16} {source}{rule}{reason}"


async def _mcp(pane: Pane, rest: str) -> None:
    engine = pane.talk.engine
    try:
        words = shlex.split(rest)
    except ValueError as error:
        pane.note(f"/mcp: {error}")
        return
    match words:
        case ["add", name, command, *arguments] if engine is not None:
            added: JsonObject = {"type": "add_mcp_server", "name": name, "transport": "stdio"}
            await engine.send({**added, "command": command, "args": list(arguments)})
        case ["remove", name] if engine is not None:
            with anyio.fail_after(ANSWER_S):
                result = await engine.request({"type": "remove_mcp_server", "name": name})
            pane.note(f"{name}: removed" if result.ok else f"{name}: {result.message}")
            if result.ok:
                pane.talk.servers.pop(name, None)
        case []:
            known = [f"{name}: {state}" for name, state in pane.talk.servers.items()]
            pane.note("\n".join(known) or "no MCP servers; /mcp add NAME COMMAND… starts one")
        case _:
            pane.note("/mcp, /mcp add NAME COMMAND ARGUMENTS…, /mcp remove NAME")


async def _model(pane: Pane, name: str) -> None:
    engine = pane.talk.engine
    if engine is None or not name:
        now = engine.capabilities.current_model if engine else ""
        pane.note(f"the model is {now or 'unknown'}; /model NAME changes it")
        return
    await engine.send({"type": "set_config", "model": name})


_WITH_TEXT: Final[dict[str, Callable[[Pane, str], Awaitable[None]]]] = {
    "/mode": mode,
    "/grants": _grants,
    "/sessions": _sessions,
    "/resume": _resume,
    "/policy": _policy,
    "/trust": trust,
    "/audit": _audit,
    "/mcp": _mcp,
    "/model": _model,
}
