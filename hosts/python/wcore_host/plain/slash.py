"""The commands that a person types with a slash."""

from dataclasses import dataclass
from typing import Final

import anyio

from wcore_host.decode import Fields
from wcore_host.engine import Engine
from wcore_host.errors import CommandFailedError
from wcore_host.events import JsonObject
from wcore_host.headless.card_content import title
from wcore_host.headless.grants import covered
from wcore_host.headless.modes import MODES, is_raise
from wcore_host.plain.mode_dialog import ModeDialog
from wcore_host.plain.transcript_printer import TranscriptPrinter

ANSWER_S: Final = 5.0  # introspection is answered at once, also during a turn
HISTORY_SHOWN: Final = 20
TEXT_SHOWN: Final = 300

HELP: Final = """\
Write what you want and press Enter. A call that may change something asks first:
  y  yes                 a  yes, and every later call of this tool
  n  no                  p  yes, and every command that starts like this one
  s  no, and stop        t  no, and tell it what to do instead
Esc or Ctrl-C refuses a card, stops a running turn; Ctrl-C twice or Ctrl-D leaves.
  /mode NAME    what runs unasked: plan, default, read_only, auto_edit, auto_run, force
  /grants       what you have allowed for longer; /revoke ID takes it back
  /pending      the calls that wait for an answer
  /accept       let count what others have loosened since this session began
  /continue     go on with a turn that was interrupted; /cancel gives it up
  /history      what has been said; /last the whole last output
  /quit         leave. A message that begins with a slash: write two."""


@dataclass(frozen=True)
class Quit:
    """The person wants to leave."""


@dataclass(frozen=True)
class Continue:
    """The turn `msg_id`, which another engine left unfinished, shall go on."""

    msg_id: str


def is_command(text: str) -> bool:
    """Whether `text` is no message; two slashes begin one."""
    return text.startswith("/") and not text.startswith("//")


def interrupted(engine: Engine) -> JsonObject:
    """Return the turn that an earlier engine left unfinished, empty if none."""
    return Fields(engine.ready.raw).part("interrupted_turn").raw


async def obey(
    line: str, engine: Engine, out: TranscriptPrinter
) -> ModeDialog | Quit | Continue | None:
    """Do what `line` says; return a question or a wish, if it comes to that."""
    name, _, rest = line.partition(" ")
    rest = rest.strip()
    try:
        with anyio.fail_after(ANSWER_S):
            match name:
                case "/quit" | "/exit":
                    return Quit()
                case "/continue":
                    return Continue(str(interrupted(engine).get("msg_id", "")))
                case "/cancel":
                    await engine.resume_turn("cancel")
                    out.note("the turn is given up: nothing more of it runs")
                case "/mode":
                    return await _mode(rest, engine, out)
                case "/last":
                    out.show_last()
                case "/help":
                    out.note(HELP)
                case _:
                    await _introspect(name, rest, engine, out)
    except CommandFailedError as error:
        out.note(f"{name}: {error}")
    except TimeoutError:
        out.note(f"{name}: the engine has not answered for {ANSWER_S:g} s")
    return None


async def _mode(wanted: str, engine: Engine, out: TranscriptPrinter) -> ModeDialog | None:
    now = engine.capabilities
    if wanted not in now.modes:
        offered = "\n".join(f"  {mode:10} {MODES.get(mode, '')}" for mode in now.modes)
        out.note(f"the mode is {now.current_mode}; /mode NAME changes it:\n{offered}")
        return None
    if is_raise(now.current_mode, wanted):
        return ModeDialog(wanted)
    await engine.set_mode(wanted)
    return None


async def _accept(engine: Engine) -> str:
    if engine.waiting_changes is None:
        return "nothing waits to be accepted"
    await engine.accept_changes(engine.waiting_changes.digest)
    return "accepted: it counts from now on"


async def _introspect(name: str, rest: str, engine: Engine, out: TranscriptPrinter) -> None:
    match name:
        case "/accept":
            out.note(await _accept(engine))
        case "/grants":
            for grant in await engine.list_grants():
                kept = f"{grant.persist}, used {grant.uses} times"
                out.note(f"{grant.grant_id}  {covered(grant)} ({kept})")
            out.note("/revoke ID takes one back")
        case "/revoke":
            taken = rest and await engine.revoke_grant(rest)
            out.note("taken back" if taken else "there is no grant of that id; see /grants")
        case "/pending":
            calls = await engine.list_pending()
            for call in calls:
                out.note(f"{title(call)}: {call.tool.description}")
            out.note(f"{len(calls)} calls wait for an answer")
        case "/history":
            messages, more = await engine.get_history(limit=HISTORY_SHOWN)
            if more:
                out.note("(older messages are not shown)")
            for message in messages:
                out.note(f"{message.get('role')}: {_gist(message)}")
        case _:
            out.note(f"no command {name}; /help lists them. A message with a slash: write two")


def _gist(message: JsonObject) -> str:
    text = message.get("text") or message.get("output") or message.get("calls") or ""
    text = str(text).strip().replace("\n", " ⏎ ")
    return text if len(text) <= TEXT_SHOWN else text[:TEXT_SHOWN] + "…"
