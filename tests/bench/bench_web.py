"""What `wcore-web` adds: `python tests/bench/bench_web.py [--rounds N]`. Needs chromium.

A stand-in engine on this machine writes down when it said and heard something; the page does the
same. Numbers to hold: click to engine command and engine event to card each within 50 ms in the
middle; 20,000 pieces of text without a gap of more than 100 ms between frames; memory after
1,000 calls that a phone has.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

DELTAS: Final = 20_000
CALLS: Final = 1_000
DEAF_S: Final = 0.6  # a card that has just come answers nothing for half a second
MIB: Final = 1024 * 1024


# --- the engine -----------------------------------------------------------------------------------


def say(**event: object) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def ask(msg_id: str, call_id: str) -> None:
    tool = {"name": "Bash", "category": "exec", "args": {"command": "make"}, "description": ""}
    why = {"row": "default", "detail": f"said at {time.time()}"}
    about = {"tool": tool, "why": why, "digest": "", "expires_in_s": 300}
    say(type="tool_request", msg_id=msg_id, call_id=call_id, **about)


def engine() -> None:
    """Do what the message says: cards, text or calls."""
    capabilities = {"tool_approval": True, "modes": ["default"], "current_mode": "default"}
    say(type="ready", version="0", session_id="s", capabilities={**capabilities})
    for line in sys.stdin:
        said = json.loads(line)
        heard_at = time.time()
        match said["type"]:
            case "ping":
                say(type="pong")
            case "message":
                say(type="stream_start", msg_id=said["msg_id"])
                job, _, number = said["content"].partition(" ")
                {"card": _card, "text": _text, "calls": _calls}[job](said["msg_id"], number)
            case "tool_deny":
                about = {"msg_id": "m", "call_id": said["call_id"]}
                say(type="call_settled", outcome="denied", by="user", **about)
                say(type="info", msg_id="m", message=f"heard at {heard_at}")
                say(type="stream_end", msg_id=said["call_id"], finish_reason="stop")
            case _:
                pass


def _card(msg_id: str, _number: str) -> None:
    ask(msg_id, msg_id)


def _text(msg_id: str, number: str) -> None:
    for piece in range(int(number)):
        say(type="text_delta", msg_id=msg_id, text=f"word{piece} " + "\n\n" * (piece % 100 == 99))
    say(type="stream_end", msg_id=msg_id, finish_reason="stop")


def _calls(msg_id: str, number: str) -> None:
    for call in range(int(number)):
        tool = {"name": "Read", "category": "info", "args": {"file_path": f"f{call}"}}
        about: dict[str, Any] = {"msg_id": msg_id, "call_id": f"{msg_id}-{call}"}
        say(type="call_announced", tool={**tool, "description": ""}, **about)
        say(type="tool_running", tool_name="Read", **about)
        say(type="tool_result", tool_name="Read", status="success", output="x" * 2000, **about)
    say(type="stream_end", msg_id=msg_id, finish_reason="stop")


# --- the measurements -----------------------------------------------------------------------------

FRAMES = """() => {
  window.gaps = [];
  let last = performance.now();
  const look = () => {
    const now = performance.now();
    window.gaps.push(now - last);
    last = now;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
CARDS = """() => {
  window.seen = 0;
  const shown = () => (window.seen ||= (performance.timeOrigin + performance.now()) / 1000);
  new MutationObserver(() => {
    if (document.querySelector("#cards .card") && !window.seen) requestAnimationFrame(shown);
  }).observe(document.getElementById("cards"), { childList: true });
}"""
CLICK = """() => {
  window.seen = 0;
  const clicked = (performance.timeOrigin + performance.now()) / 1000;
  [...document.querySelectorAll("#cards button")].find((b) => b.textContent === "Deny").click();
  return clicked;
}"""


def measure(rounds: int) -> None:
    """Print the numbers."""
    import psutil
    from playwright.sync_api import sync_playwright
    from web.served import CHROMIUM, Served

    program = " ".join([sys.executable, "-P", str(Path(__file__).resolve()), "--as-engine"])
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        started = time.perf_counter()
        with Served(Path(folder), Path(folder), ("--engine", program)) as server:
            print(f"start to link            {(time.perf_counter() - started) * 1000:8.1f} ms")
            chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = chromium.new_page()
            page.goto(server.new_link())
            process = psutil.Process(server.process.pid)
            _latency(page, rounds)
            _frames(page)
            before = _memory(page, process)
            _turn(page, f"calls {CALLS}")
            after = _memory(page, process)
            print(f"{CALLS} calls, page         {(after[0] - before[0]) / MIB:8.1f} MiB more")
            print(f"{CALLS} calls, server       {(after[1] - before[1]) / MIB:8.1f} MiB more")
            chromium.close()


def _turn(page: Any, text: str) -> None:
    page.get_by_role("textbox", name="Message").fill(text)
    page.get_by_role("button", name="Send").click()
    page.get_by_text("working").wait_for()
    page.get_by_text("ready").wait_for(timeout=120_000)


def _latency(page: Any, rounds: int) -> None:
    shown: list[float] = []
    heard: list[float] = []
    page.evaluate(CARDS)
    for _ in range(rounds):
        page.get_by_role("textbox", name="Message").fill("card")
        page.get_by_role("button", name="Send").click()
        page.wait_for_function("() => window.seen > 0")
        text = page.locator("#cards .why").inner_text()
        shown.append(
            page.evaluate("() => window.seen") - float(text.split("said at ")[1].split()[0])
        )
        time.sleep(DEAF_S)
        clicked = page.evaluate(CLICK)
        note = page.locator("#transcript .note").last
        page.wait_for_function("() => !document.querySelector('#cards .card')")
        page.get_by_text("ready").wait_for()
        heard.append(float(note.inner_text().split("heard at ")[1]) - clicked)
    for name, values in (("engine event to card", shown), ("click to engine command", heard)):
        middle, worst = statistics.median(values) * 1000, max(values) * 1000
        print(f"{name:<24} {middle:8.1f} ms   worst {worst:.1f} ms")


def _frames(page: Any) -> None:
    page.evaluate(FRAMES)
    started = time.perf_counter()
    _turn(page, f"text {DELTAS}")
    took = time.perf_counter() - started
    gaps = sorted(page.evaluate("() => window.gaps"))
    late = sum(gap > 34 for gap in gaps)
    print(f"{DELTAS} deltas shown in     {took:8.1f} s")
    print(f"  frames {len(gaps)}, later than two frames {late}, worst gap {gaps[-1]:.0f} ms")


def _memory(page: Any, process: Any) -> tuple[float, float]:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")["usedSize"]
    return used, process.memory_info().rss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--as-engine", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.as_engine:
        engine()
    else:
        sys.path.insert(0, str(Path(__file__).parents[1]))
        measure(given.rounds)


if __name__ == "__main__":
    main()
