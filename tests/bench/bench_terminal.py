"""What the full screen costs: start, latency, a flood of text, a long session.

    python tests/bench/bench_terminal.py

Drives the app in this process (the terminal itself is not counted) against real engines.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median, quantiles
from time import monotonic, perf_counter

import psutil
from talking import write_script
from textual.pilot import Pilot
from wcore_host import events
from wcore_host.headless import chat_options
from wcore_host.headless.transcript_blocks import AssistantBlock
from wcore_host.terminal.app import ChatApp
from wcore_host.terminal.transcript_view import TranscriptView

DELTAS = 20_000
CALLS = (1_000, 10_000)
ROUNDS = 30
POLL_S = 0.001
SIZE = (120, 40)


@asynccontextmanager
async def app(*flags: str) -> AsyncGenerator[tuple[ChatApp, Pilot[int]]]:
    chat = ChatApp(chat_options.read(flags))
    async with chat.run_test(size=SIZE) as pilot:
        await holds(lambda: bool(chat.panes) and chat.panes[0].talk.engine is not None)
        yield chat, pilot


def screen_text(chat: ChatApp) -> str:
    rows = chat.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    return "\n".join(row.text for row in rows)


async def until(chat: ChatApp, text: str) -> None:
    await holds(lambda: text in screen_text(chat))


async def holds(check: Callable[[], bool]) -> None:
    while not check():  # noqa: ASYNC110 - somebody else's state
        await asyncio.sleep(POLL_S)


async def start() -> None:
    began = perf_counter()
    async with app() as (chat, _):
        print(f"app + engine ready: {1000 * (perf_counter() - began):.0f} ms")
        await chat.panes[0].talk.say("hello")
        await holds(lambda: chat.panes[0].talk.is_started)
        print(f"spawn -> first prompt accepted: {1000 * (perf_counter() - began):.0f} ms")


async def latency() -> None:
    async with app() as (chat, _):
        talk = chat.panes[0].talk
        waits: list[float] = []
        for number in range(ROUNDS):
            await asyncio.sleep(0.1)
            began = perf_counter()
            talk.take(events.TextDelta("m", f"mark{number}."), monotonic())
            chat.panes[0].note("")
            await until(chat, f"mark{number}.")
            waits.append(1000 * (perf_counter() - began))
        worst = quantiles(waits, n=20)[-1]
        print(f"event -> on the screen: median {median(waits):.1f} ms, p95 {worst:.1f} ms")


async def flood(folder: Path) -> None:
    path = write_script(folder, ([{"text": "word {n} ", "repeat": DELTAS}],))
    async with app("--model", f"script:{path}") as (chat, _):
        pane = chat.panes[0]
        gaps: list[float] = []
        began = last = perf_counter()
        await pane.talk.say("go")
        while pane.talk.turn:
            await asyncio.sleep(POLL_S)
            gaps.append(perf_counter() - last)
            last = perf_counter()
        took = perf_counter() - began
        said = "".join(b.text for b in pane.talk.story.blocks if isinstance(b, AssistantBlock))
        assert said == "".join(f"word {n} " for n in range(1, DELTAS + 1)), "every one of them"
        longest = 1000 * max(gaps)
        print(f"{DELTAS:,} deltas: {took:.1f} s, the screen stood still {longest:.0f} ms at most")


async def memory() -> None:
    async with app() as (chat, _):
        process, talk = psutil.Process(), chat.panes[0].talk
        before = process.memory_info().rss
        done = 0
        for wanted in CALLS:
            while done < wanted:
                call_id, tool = f"c{done}", events.Tool("Bash", "exec", {}, f"echo {done}")
                talk.take(events.CallAnnounced("m", call_id, tool), monotonic())
                output = f"line of {done}\n" * 50
                talk.take(events.ToolResult("m", call_id, "Bash", "success", output), monotonic())
                done += 1
            chat.panes[0].note(f"after {wanted}")
            await until(chat, f"after {wanted}")
            grown = (process.memory_info().rss - before) / 1e6
            print(f"memory after {wanted:,} calls of 50 lines: +{grown:.1f} MB")
        view, frames = chat.panes[0].query_one(TranscriptView), list[float]()
        for page in range(1, ROUNDS):
            began = perf_counter()
            view.scroll_to(y=view.max_scroll_y - page * SIZE[1], animate=False, immediate=True)
            for row in range(SIZE[1]):
                view.render_line(row)
            frames.append(1000 * (perf_counter() - began))
        print(f"another page of {CALLS[-1]:,} calls is drawn in {median(frames):.1f} ms")


async def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        os.environ["HOME"] = place
        os.chdir(place)
        await start()
        await memory()
        await latency()
        await flood(Path(place))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    asyncio.run(main())
