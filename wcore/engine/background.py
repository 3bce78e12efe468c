"""What an engine does while it has nothing to do."""

import gc
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from anyio import to_thread
from anyio.lowlevel import checkpoint

from wcore.protocol import codec
from wcore.session.session import Session

IDLE_S: Final = 0.5  # the host's first commands come before idle work


async def recall(session: Session) -> None:
    """Restore the conversation of a resumed session; whatever acts waits for it.

    Raises:
        WcoreError: a record makes no sense: nothing is continued from there.
    """
    gc.disable()  # all that is made here stays: looking through it takes as long as making it
    try:
        restored = await to_thread.run_sync(session.journal.recall)
    finally:
        gc.enable()
    if restored is not None:
        session.restore(restored)
        gc.freeze()  # nor need the collector look through it during each turn


async def warm_up(session: Session) -> None:
    """Do what the first turn would otherwise wait for."""
    for _ in codec.warm():
        await checkpoint()
    await anyio.sleep(IDLE_S)
    await to_thread.run_sync(session.persistence.warm)


async def purge_old_sessions(session: Session, idle: Callable[[], Awaitable[None]]) -> None:
    """Forget old sessions, when the first turn is over and nothing else is to be done."""
    await session.journal.opened.wait()
    await idle()
    await anyio.sleep(IDLE_S)
    if session.settings.keep_sessions_days:
        await session.persistence.purge_older(session.settings.keep_sessions_days)
