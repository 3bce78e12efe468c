"""`accept_changes`: the host agrees to what others have loosened since its session began."""

from anyio import to_thread

from wcore.errors import RefusedError
from wcore.session.session import Session


async def accept(session: Session, digest: str) -> dict[str, object]:
    """Read everything again, and hold exactly that, if it is what the host was told of.

    Raises:
        WcoreError: it is not.
    """
    rules = session.policy.rules
    rules.read(await to_thread.run_sync(session.policy.files.look))
    await session.persistence.look()
    waiting = session.persistence.waiting(rules)
    if waiting is None:
        raise RefusedError("nothing has changed that waits to be accepted")
    if waiting.digest != digest:
        raise RefusedError("this is not what waits now: the next turn says what does")
    rules.accept()
    session.persistence.accept()
    return {}
