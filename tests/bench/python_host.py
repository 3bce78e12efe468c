"""A host on `wcore_host` that measures itself: `python_host.py MESSAGES ENGINE [FLAGS...]`.

The first message warms up; the rest are measured. Every card is denied. Prints one JSON object.
"""

import gc
import json
import os
import sys
import time

import anyio
import psutil
from wcore_host import Deny, StreamStart, connect


async def deny(*_call: object) -> Deny:
    return Deny("no")


def mib() -> float:
    return psutil.Process(os.getpid()).memory_info().rss / 2**20


async def main() -> None:
    messages, command = int(sys.argv[1]), sys.argv[2:]
    accepted, events, spawned = 0.0, 0, time.perf_counter()
    async with connect(command, can_use_tool=deny) as engine:
        async for event in engine.run_turn("warm"):
            if isinstance(event, StreamStart):
                accepted = (time.perf_counter() - spawned) * 1000
        gc.collect()
        before, used, began = mib(), time.process_time(), time.perf_counter()
        for _ in range(1, messages):
            async for _event in engine.run_turn("go"):
                events += 1
        took = (time.perf_counter() - began) * 1000
        cpu = (time.process_time() - used) * 1000
        gc.collect()
        grown = mib() - before
    found = {"accepted": accepted, "took": took, "cpu": cpu, "events": events, "grown": grown}
    print(json.dumps(found))


if __name__ == "__main__":
    anyio.run(main)
