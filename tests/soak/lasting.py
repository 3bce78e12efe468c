"""One long session: what it costs at rest must not grow with what has been done."""

import tempfile
from pathlib import Path
from random import Random
from typing import Final

from talking import Conversation, call, write_script

from soak import checks

WARM_TURNS: Final = 20  # caches and pools fill, the store opens
GROWTH_BYTES_MAX: Final = 24 * 1024 * 1024  # and what a history of this many turns weighs
TURN_BYTES_MAX: Final = 40 * 1024  # what a turn may add to the history, with its two results
DESCRIPTORS_MORE: Final = 2  # a connection of the store may be open or not
LEAVING: Final = "setsid sleep 64 >/dev/null 2>&1 & touch marker"  # it must not outlive the call


async def last(seed: int, turns: int) -> int:
    """Play so many turns in one process; return by how many bytes it grew.

    Raises:
        AssertionError: it grew beyond what is said above, or hung.
    """
    chance = Random(seed)
    replies: list[list[object]] = []
    for _ in range(WARM_TURNS + turns):
        calls = [call("Bash", command=LEAVING), call("Read", file_path="none")]
        replies.append([{"text": "so "}, *calls])
        replies.append([{"text": "done"}])
    with tempfile.TemporaryDirectory(prefix="wcore-soak-") as place:
        workspace = Path(place) / "workspace"
        workspace.mkdir()
        script = write_script(Path(place), tuple(replies))
        told = ["--model", f"script:{script}"]
        async with Conversation(workspace, told, {}, home=Path(place) / "home") as host:
            await host.ready()
            await _turns(host, chance, range(WARM_TURNS))
            before = (checks.descriptors(host.process.pid), checks.resident_bytes(host.process.pid))
            await _turns(host, chance, range(WARM_TURNS, WARM_TURNS + turns))
            number = checks.descriptors(host.process.pid)
            grown = checks.resident_bytes(host.process.pid) - before[1]
            await checks.nothing_left(workspace, but=host.process.pid)
        await checks.nothing_left(workspace)
    assert number <= before[0] + DESCRIPTORS_MORE, f"{before[0]} descriptors became {number}"
    most = GROWTH_BYTES_MAX + turns * TURN_BYTES_MAX
    assert grown <= most, f"{turns} turns took {grown} bytes more"
    return grown


async def _turns(host: Conversation, chance: Random, numbers: range) -> None:
    for number in numbers:
        await host.message(msg_id=f"m{number}")
        for _ in range(2):
            asked = await host.hear("tool_request")
            how = chance.choice((host.approve, host.approve, host.deny))
            await how(asked["call_id"])
        await host.hear("stream_end")
