"""The stored sessions, asked of the engine's own command line."""

from collections.abc import Sequence
from typing import Final

from acp import RequestError
from acp.schema import SessionInfo

from wcore_host.headless import engine_cli
from wcore_host.headless.engine_cli import EngineCliError

SESSIONS_MAX: Final = 500  # nobody scrolls further; the one used last comes first


async def sessions(
    engine: Sequence[str], place: Sequence[str], cwd: str | None
) -> list[SessionInfo]:
    """Return the stored sessions, the one used last first; of one workspace if `cwd` is given.

    Raises:
        RequestError: the engine's command line could not say.
    """
    try:
        rows = await engine_cli.ask(engine, "sessions", "list", *place, cwd=".")
    except EngineCliError as error:
        problem = f"the stored sessions cannot be listed: {error}"
        raise RequestError(-32603, problem) from None
    found: list[SessionInfo] = []
    for row in rows:
        try:
            info = {"sessionId": row["session_id"], "cwd": row["workspace"]}
            more = {"updatedAt": row.get("last_at"), "title": row.get("title")}
            session = SessionInfo.model_validate({**info, **more})
        except (ValueError, KeyError):
            continue  # a row of a newer kind
        if cwd is None or session.cwd == cwd:
            found.append(session)
    return found[:SESSIONS_MAX]
