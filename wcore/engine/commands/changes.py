"""`accept_changes`: the host agrees to what others have loosened since its session began."""

from collections.abc import Awaitable, Callable
from functools import partial

from anyio import to_thread

from wcore.errors import Code, DuringTurnError, RefusedError, WcoreError
from wcore.persistence import records
from wcore.policy.rules.policy_file import PolicyError
from wcore.session.session import Session
from wcore.vocabulary import Json

ACCEPTED = "accepted"


async def accept(session: Session, digest: str, *, during_turn: bool) -> dict[str, object]:
    """Take over what waits, if it is still what `digest` stands for.

    Raises:
        WcoreError: it is not, or a turn runs: the rules of a turn never become looser.
    """
    await changing(session, ACCEPTED, partial(_accept, session, digest), during_turn=during_turn)
    return {}


async def changing(
    session: Session,
    what: str,
    change: Callable[[], Awaitable[dict[str, Json]]],
    *,
    during_turn: bool,
) -> dict[str, Json]:
    """Let `change` make rules count, and note what came of it under the name `what`.

    Raises:
        DuringTurnError: a turn is running.
        WcoreError: nothing was changed.
    """
    if during_turn:
        raise DuringTurnError("a turn is running: wait for its stream_end")
    try:
        found = await session.runtime.change_rules(what, change)
    except WcoreError as error:
        code = Code.CONFIG if isinstance(error, PolicyError) else error.code
        await session.journal.record_sync_point(
            what, **records.failure(error) | {"code": code.value}
        )
        raise
    await session.journal.record_sync_point(what, **found)
    return found


async def _accept(session: Session, digest: str) -> dict[str, Json]:
    """Read everything again, and hold exactly that, if it is what the host was told of."""
    rules, files = session.policy.rules, session.policy.files
    if files is not None:
        rules.read(await to_thread.run_sync(files.look))
    await session.persistence.look()
    waiting = session.persistence.waiting(rules)
    if waiting is None:
        raise RefusedError("nothing has changed that waits to be accepted")
    if waiting.digest != digest:
        raise RefusedError("this is not what waits now: the next turn says what does")
    rules.accept()
    session.persistence.accept()
    return {"accepted": True}
