"""`accept_changes`: the host agrees to what others have loosened since its session began."""

from anyio import to_thread

from wcore.errors import DuringTurnError, RefusedError
from wcore.session.session import Session


async def accept(session: Session, digest: str, *, during_turn: bool) -> dict[str, object]:
    """Take over what waits, if it is still what `digest` stands for.

    Raises:
        WcoreError: it is not, or a turn runs: the rules of a turn never become looser.
    """
    require_no_turn(during_turn=during_turn)
    await _accept(session, digest)
    return {}


def require_no_turn(*, during_turn: bool) -> None:
    """Refuse to make rules count that may be looser than those of the running turn.

    Raises:
        DuringTurnError: a turn is running.
    """
    if during_turn:
        raise DuringTurnError("a turn is running: wait for its stream_end")


async def _accept(session: Session, digest: str) -> None:
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
