"""The stored sessions, asked of the engine's own command line, and what was said in one."""

import json
import subprocess
from collections.abc import Sequence
from typing import Final, cast

import anyio
from acp import RequestError
from acp.schema import SessionInfo

from wcore_host.engine import Engine
from wcore_host.events import JsonObject

PATIENCE_S: Final = 15.0  # a short program that reads one database
SESSIONS_MAX: Final = 500  # nobody scrolls further; the one used last comes first
MESSAGES_MAX: Final = 2_000  # what an editor shows again; older ones are kept, not sent
MESSAGES_PAGE: Final = 100  # a request, so that an answer fits into a line
EXPLAINED_CHARS: Final = 400  # the last lines of a log say what went wrong


async def sessions(
    engine: Sequence[str], place: Sequence[str], cwd: str | None
) -> list[SessionInfo]:
    """Return the stored sessions, the one used last first; of one workspace if `cwd` is given.

    Raises:
        RequestError: the engine's command line could not say.
    """
    command = [*engine, "sessions", "list", "--json", *place]
    try:
        with anyio.fail_after(PATIENCE_S):
            done = await anyio.run_process(command, check=False, stdin=subprocess.DEVNULL)
    except (OSError, TimeoutError) as error:
        raise _failed(str(error) or f"no answer within {PATIENCE_S:g} s") from None
    if done.returncode:
        raise _failed(done.stderr.decode(errors="replace")[-EXPLAINED_CHARS:])
    found: list[SessionInfo] = []
    for line in done.stdout.splitlines():
        try:
            row = cast("dict[str, object]", json.loads(line))
            info = {"sessionId": row["session_id"], "cwd": row["workspace"]}
            more = {"updatedAt": row.get("last_at"), "title": row.get("title")}
            session = SessionInfo.model_validate({**info, **more})
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # a row of a newer kind
        if cwd is None or session.cwd == cwd:
            found.append(session)
    return found[:SESSIONS_MAX]


async def messages(engine: Engine) -> tuple[list[JsonObject], bool]:
    """Return what was said in the session of `engine`, and whether its beginning is left out.

    Raises:
        EngineExitedError: the engine is gone.
    """
    found: list[JsonObject] = []
    more = True
    while more and len(found) < MESSAGES_MAX:
        before = found[0].get("seq") if found else None
        oldest = before if isinstance(before, int) else None
        page, more = await engine.get_history(limit=MESSAGES_PAGE, before=oldest)
        found[:0] = page
        more = more and bool(page)
    return found, more


def _failed(problem: str) -> RequestError:
    return RequestError(-32603, f"the stored sessions cannot be listed: {problem.strip()}")
