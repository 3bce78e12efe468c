"""What the documented command line knows and the wire does not: sessions, audit, policy."""

import json
from collections.abc import Sequence
from subprocess import DEVNULL
from typing import Final, cast

import anyio

from wcore_host.events import JsonObject
from wcore_host.visible import visible_line

ANSWER_S: Final = 10.0  # a database on a slow disk
OUTPUT_BYTES_MAX: Final = 4 * 1024 * 1024  # ten thousand rows of a list
PROBLEM_CHARS: Final = 400  # of what it said on stderr


class EngineCliError(Exception):
    """The command line did not answer; the message says what to do."""


async def ask(command: Sequence[str], *arguments: str, cwd: str) -> list[JsonObject]:
    """Run `COMMAND NOUN VERB --json …` and return the objects that it prints, one a line.

    Raises:
        EngineCliError: it cannot be run, does not answer, or says what is wrong.
    """
    named = [*command, *arguments[:2], "--json", *arguments[2:]]
    try:
        with anyio.fail_after(ANSWER_S):
            done = await anyio.run_process(named, cwd=cwd, stdin=DEVNULL, check=False)
    except TimeoutError:
        raise EngineCliError(f"`{arguments[0]}` has not answered for {ANSWER_S:g} s") from None
    except OSError as error:
        raise EngineCliError(f"cannot run {command[0]}: {error}") from error
    found = [json_object(line) for line in done.stdout[:OUTPUT_BYTES_MAX].splitlines()]
    known = [item for item in found if item is not None]
    if not known and done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise EngineCliError(visible_line(said, PROBLEM_CHARS) or f"exit code {done.returncode}")
    return known


def json_object(line: bytes) -> JsonObject | None:
    """Return the object on a line; `None` if it is none."""
    try:
        value = cast("object", json.loads(line))
    except (ValueError, RecursionError):
        return None
    return cast("JsonObject", value) if isinstance(value, dict) else None
