"""What a real model costs: `python tests/bench/bench_models.py`.

First the requests of a growing session, in this process against a server of its own; then many
deltas through a whole engine process, whose CPU is read from the kernel.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import anyio

from wcore.models.factory import ModelEnvironment, create_model
from wcore.models.model import Model, Request
from wcore.vocabulary import (
    AssistantMessage,
    Category,
    Message,
    ModelCall,
    Status,
    ToolMessage,
    ToolOutput,
    ToolSpec,
    UserMessage,
)

LENGTHS: Final = (10, 200, 2000)  # messages
OUTPUT_CHARS: Final = 200  # of a tool; 2,000 of them stay below the window
DELTAS: Final = 20_000
DELTAS_PER_S_MIN: Final = 20_000
CPU_US_MAX: Final = 35.0
ROUNDS: Final = 20
MODELS: Final = {"openai": "gpt-5", "anthropic": "claude-opus-4-7"}
FIRST_MS_MAX: Final = 15.0  # from the first message to its request at the server
WARM_S: Final = 3.0  # far longer than the engine warms up for
ARRIVED: Final[list[float]] = []  # when requests came in
TOOLS: Final = [
    ToolSpec(f"Tool{n}", Category.INFO, "Does a thing. " * 10, {"type": "object"})
    for n in range(10)
]


def said(provider: str, words: int) -> bytes:
    """Return a whole reply of so many deltas."""
    if provider == "openai":
        chunk = {"id": "chatcmpl-x", "object": "chat.completion.chunk", "created": 1795308125,
                 "model": "gpt-5"}  # fmt: skip
        events: list[object] = [
            {**chunk, "choices": [{"index": 0, "delta": {"content": f" word{n}"},
                                   "logprobs": None, "finish_reason": None}]}
            for n in range(words)
        ]  # fmt: skip
        end = {"index": 0, "delta": None, "finish_reason": "stop"}
        events.append({**chunk, "choices": [end]})
        return b"".join(map(_event, events)) + b"data: [DONE]\n\n"
    start = {"type": "text", "text": ""}
    events = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 0}}},
        {"type": "content_block_start", "index": 0, "content_block": start},
    ]
    events += [
        {"type": "content_block_delta", "index": 0,
         "delta": {"type": "text_delta", "text": f" word{n}"}}
        for n in range(words)
    ]  # fmt: skip
    events.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})
    return b"".join(map(_event, [*events, {"type": "message_stop"}]))


def _event(value: object) -> bytes:
    return b"data: %s\n\n" % json.dumps(value, separators=(",", ":")).encode()


@contextmanager
def serving(reply: bytes) -> Generator[str, None, None]:
    """Answer every request with `reply` while inside, a chunk an event; give the address."""
    events = [event + b"\n\n" for event in reply.split(b"\n\n") if event]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(event), event) for event in events) + b"0\r\n\r\n"

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            ARRIVED.append(time.perf_counter())
            head = "content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            self.wfile.write(b"HTTP/1.1 200 OK\r\n" + head.encode() + chunks)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()


# --- requests -------------------------------------------------------------------------------------


def more(count: int, start: int) -> list[Message]:
    """Return calls and their results, `count` messages."""
    found: list[Message] = []
    for n in range(start, start + count, 2):
        call = ModelCall(f"c{n}", "Tool1", {"file_path": f"src/file{n}.py", "limit": 200})
        found.append(AssistantMessage("Let me look at that.", calls=((f"c{n}", call),)))
        output = ToolOutput(Status.SUCCESS, "some text " * (OUTPUT_CHARS // 10))
        found.append(ToolMessage(f"c{n}", "Tool1", output))
    return found


async def requests(provider: str, url: str) -> None:
    model = create_model(provider, MODELS[provider], ModelEnvironment(base_url=url))
    model.warm()
    history: list[Message] = [UserMessage("go")]
    for length in LENGTHS:
        began = time.thread_time()
        history += more(length - len(history), len(history))
        await _ask(model, history)
        first_ms = (time.thread_time() - began) * 1000
        began = time.thread_time()
        for _ in range(ROUNDS):
            history += more(2, len(history))
            await _ask(model, history)
        each_ms = (time.thread_time() - began) * 1000 / ROUNDS
        print(f"{provider:10} {length:6} messages {each_ms:8.2f} ms CPU a request"
              f"   (all of it encoded anew: {first_ms:.2f})")  # fmt: skip


async def _ask(model: Model, history: list[Message]) -> None:
    async for _ in model.stream(Request("Be brief.", list(history), TOOLS)):
        pass


# --- deltas ---------------------------------------------------------------------------------------


def deltas(provider: str, url: str) -> bool:
    """Let an engine stream one long reply; tell whether it holds the budget."""
    flags = ["--provider", provider, "--model", MODELS[provider], "--base-url", url]
    process = subprocess.Popen(
        [sys.executable, "-m", "wcore", *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        time.sleep(WARM_S)
        ARRIVED.clear()
        first_ms = 0.0
        results: list[tuple[float, float]] = []
        for n in range(3):
            message = {"type": "message", "msg_id": f"m{n}", "content": "go"}
            before, began, count = _cpu_s(process.pid), time.perf_counter(), 0
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            for line in process.stdout:
                count += line.startswith(b'{"type":"text_delta"')
                if line.startswith(b'{"type":"stream_end"'):
                    break
            first_ms = first_ms or (ARRIVED[0] - began) * 1000
            took, cpu = time.perf_counter() - began, _cpu_s(process.pid) - before
            assert count == DELTAS, count
            results.append((DELTAS / took, cpu * 1e6 / DELTAS))
        process.stdin.close()
    rate, cpu_us = results[-1]
    print(f"{provider:10} first request {first_ms:8.1f} ms after the message")
    print(f"{provider:10} {DELTAS:6} deltas   {rate:8.0f} a second, {cpu_us:5.1f} us CPU each")
    good = rate >= DELTAS_PER_S_MIN and cpu_us <= CPU_US_MAX
    return good and first_ms <= FIRST_MS_MAX


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    good = True
    for provider in MODELS:
        with serving(said(provider, 1)) as url:
            anyio.run(requests, provider, url)
    for provider in MODELS:
        with serving(said(provider, DELTAS)) as url:
            good = deltas(provider, url) and good
    sys.exit(0 if good else "the budget is not held")


if __name__ == "__main__":
    main()
