"""The connection with the editor: begins, lives, and takes every engine with it when it ends."""

import signal
import sys
from typing import TYPE_CHECKING, Final, cast

import anyio
from acp import run_agent
from anyio.abc import TaskStatus

from wcore_host.acp.bridge import Bridge
from wcore_host.acp.cancellation import Cancellations
from wcore_host.acp.options import AcpOptions

if TYPE_CHECKING:
    from acp import Agent

EXIT_FAILED: Final = 1
SIGNAL_BASE: Final = 128  # a shell's way to say which signal ended a program


def run(chosen: AcpOptions) -> int:
    """Serve until the editor closes our stdin, or a signal comes; return the exit code."""
    try:
        return anyio.run(_serve, chosen)
    except ValueError as error:  # asyncio: stdin or stdout is a plain file
        print(f"wcore-acp: stdin and stdout must be pipes: {error}", file=sys.stderr)  # noqa: T201
        return EXIT_FAILED


async def _serve(chosen: AcpOptions) -> int:
    ended_by: list[int] = []
    async with anyio.create_task_group() as tasks:
        await tasks.start(_end_on_signal, tasks.cancel_scope, ended_by)
        bridge = Bridge(chosen, tasks)
        await run_agent(
            cast("Agent", bridge),
            use_unstable_protocol=True,  # session/close, session/resume
            observers=[Cancellations(bridge.cancel)],
        )
        tasks.cancel_scope.cancel()  # the editor is gone: so are its engines
    return SIGNAL_BASE + ended_by[0] if ended_by else 0


async def _end_on_signal(
    scope: anyio.CancelScope, ended_by: list[int], *, task_status: TaskStatus[None]
) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        task_status.started()
        async for number in signals:
            ended_by.append(number)
            scope.cancel()
