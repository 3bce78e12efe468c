"""How a host gets an engine."""

import os
import sys
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Final

from wcore_host.engine import Engine, Start
from wcore_host.hardening import close_to_others, keys_in, take_keys
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
        env: the whole environment; by default ours. Keys of providers in it reach `wcore` by a
            descriptor instead, where no other program can read them.
        can_use_tool: decides about every call that waits.
        attended: a person (or your code) answers `ToolRequest` events. With neither this nor
            `can_use_tool`, every call that waits is denied.
        ready_timeout_s: how long the engine may take to start.

    Entering raises `EngineStartError` if the engine does not get as far as `ready`.
    """
    callback = can_use_tool or (None if attended else deny_all)
    start = _start(tuple(command), None if cwd is None else fspath(cwd), env)
    return Engine(start, callback, ready_timeout_s)


def close_host() -> Mapping[str, str]:
    """Close this process to other programs; return what `env` of its engines is to be.

    For programs that are hosts and nothing else, before anything is started: the keys leave our
    own environment, and so every child's that is no engine.
    """
    close_to_others()
    env = dict(os.environ)
    take_keys(os.environ)
    return env


def takes_keys(command: Sequence[str]) -> bool:
    """Whether this is our own engine, which has `--keys-fd`."""
    ours = tuple(command[: len(DEFAULT_COMMAND)]) == DEFAULT_COMMAND
    return ours or os.path.basename(command[0]) == "wcore"


def _start(command: tuple[str, ...], cwd: str | None, env: Mapping[str, str] | None) -> Start:
    """Keep keys out of the environment of an engine that can be given them otherwise."""
    around = os.environ if env is None else env
    keys = keys_in(around)
    if not keys or not takes_keys(command):
        return Start(command, cwd, env)
    rest = {name: value for name, value in around.items() if name not in keys}
    return Start(command, cwd, rest, keys)
