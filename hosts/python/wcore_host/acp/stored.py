"""The stored sessions, asked of the engine's own command line."""

import json
import subprocess
from collections.abc import Sequence
from typing import Final, cast

import anyio
from acp import RequestError
from acp.schema import SessionInfo

PATIENCE_S: Final = 15.0  # a short program that reads one database
SESSIONS_MAX: Final = 500  # nobody scrolls further; the one used last comes first
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
            session = SessionInfo.model_validate({**info, "updatedAt": row.get("last_at")})
        except (ValueError, KeyError, TypeError):
            continue  # a row of a newer kind
        if cwd is None or session.cwd == cwd:
            found.append(session)
    return found[:SESSIONS_MAX]


def _failed(problem: str) -> RequestError:
    return RequestError(-32603, f"the stored sessions cannot be listed: {problem.strip()}")
