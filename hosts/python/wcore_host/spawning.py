"""How a host gets an engine."""

import sys
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Final

from wcore_host.engine import Engine
from wcore_host.permission import CanUseTool, deny_all

READY_TIMEOUT_S: Final = 30.0  # what existing hosts grant

# -P: a folder named `wcore` in the workspace must not be imported in place of the engine.
DEFAULT_COMMAND: Final = (sys.executable, "-P", "-m", "wcore")


def connect(
    command: Sequence[str] = DEFAULT_COMMAND,
    *,
    cwd: str | PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    can_use_tool: CanUseTool | None = None,
    attended: bool = False,
    ready_timeout_s: float = READY_TIMEOUT_S,
) -> Engine:
    """Return an engine that runs while it is entered, as in `async with … as engine`.

    Args:
        command: program and arguments; `[*DEFAULT_COMMAND, "--model", …]` adds flags.
        cwd: the workspace.
        env: the whole environment; by default ours.
        can_use_tool: decides about every call that waits.
        attended: a person (or your code) answers `ToolRequest` events. With neither this nor
            `can_use_tool`, every call that waits is denied.
        ready_timeout_s: how long the engine may take to start.

    Entering raises `EngineStartError` if the engine does not get as far as `ready`.
    """
    callback = can_use_tool or (None if attended else deny_all)
    where = None if cwd is None else fspath(cwd)
    return Engine(tuple(command), where, env, callback, ready_timeout_s)
