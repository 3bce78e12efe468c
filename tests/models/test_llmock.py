"""The same conversation in both dialects, and through the library, against a foreign mock.

It is `@copilotkit/aimock` from npm (`npm install --no-save @copilotkit/aimock@1.43.0`), found in
`node_modules` or through `WCORE_LLMOCK`, the path of its `llmock`.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
import waiting
from models.dialects import ANTHROPIC, CHAT
from talking import ROOT, Conversation, Event

FOUND = os.environ.get("WCORE_LLMOCK") or shutil.which(
    "llmock", path=str(ROOT / "node_modules" / ".bin")
)
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(
        not FOUND, reason="no llmock: npm install --no-save @copilotkit/aimock, or WCORE_LLMOCK"
    ),
]


def call(call_id: str, name: str, **args: str) -> dict[str, str]:
    return {"id": call_id, "name": name, "arguments": json.dumps(args)}


FIXTURES = [
    {
        "match": {"sequenceIndex": 0},
        "response": {
            "content": "Let me look.",
            "reasoning": "The file may know.",
            "toolCalls": [
                call("c1", "Read", file_path="a.txt"),
                call("c2", "Write", file_path="b.txt", content="x"),
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        },
    },
    {
        "match": {"sequenceIndex": 1},
        "response": {"content": "Done, mostly.", "usage": {"prompt_tokens": 20}},
    },
]


@contextmanager
def llmock(folder: Path, *flags: str) -> Generator[str, None, None]:
    """Run the mock on a free port; give its address."""
    fixtures = folder / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}))
    process = subprocess.Popen(
        [str(FOUND), "-p", "0", "-f", str(fixtures), "--strict", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        try:
            lines = iter(lambda: waiting.line(process), "")
            found = (re.search(r"listening on (http://\S+)", line) for line in lines)
            yield next(each[1] for each in found if each)
        finally:
            process.kill()


async def conversation(
    talk: Callable[..., Conversation], url: str, provider: str, model: str
) -> list[Event]:
    flags = ("--provider", provider, "--model", model, "--base-url", url)
    keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"), "k")
    env = {**keys, "NO_PROXY": "*"}
    async with talk(flags=flags, env=env) as host:
        await host.ready()
        await host.message("please")
        await host.hear("tool_request", call_id="c2")
        await host.approve("c1")
        await host.hear("tool_result", call_id="c1")
        await host.deny("c2", reason="not that one")
        await host.hear("stream_end")
    return host.heard[1:]


def joined(heard: list[Event]) -> list[Event]:
    """Return the events with neighbouring deltas as one, and without what the mock counts."""
    found: list[Event] = []
    for event in heard:
        kind = event["type"]
        if kind in ("text_delta", "thinking") and found and found[-1]["type"] == kind:
            found[-1] = {**event, "text": found[-1]["text"] + event["text"]}
        else:
            found.append({key: value for key, value in event.items() if key != "usage"})
    return found


EXPECTED = [
    "stream_start", "thinking", "text_delta", "tool_request", "tool_request",
    "call_settled", "tool_running", "tool_result", "call_settled", "tool_cancelled",
    "text_delta", "stream_end",
]  # fmt: skip


async def test_both_dialects_hold_the_same_conversation(
    talk: Callable[..., Conversation], workspace: Path, tmp_path: Path
) -> None:
    (workspace / "a.txt").write_text("hello\n")
    heard: list[list[Event]] = []
    for dialect in (CHAT, ANTHROPIC):
        with llmock(tmp_path, "-l", "1", "-c", "4") as url:
            said = await conversation(talk, url, dialect.provider, dialect.model)
            heard.append(joined(said))
    assert heard[0] == heard[1]
    assert [event["type"] for event in heard[0]] == EXPECTED
    assert heard[0][1]["text"] == "The file may know."
    assert heard[0][-2]["text"] == "Done, mostly."


@pytest.mark.parametrize(
    ("provider", "model", "path"),
    [("openai-responses", "gpt-5", "/v1"), ("google", "gemini-2.5-pro", "")],
)
async def test_a_provider_of_the_library_holds_it_too(
    talk: Callable[..., Conversation],
    workspace: Path,
    tmp_path: Path,
    provider: str,
    model: str,
    path: str,
) -> None:
    (workspace / "a.txt").write_text("hello\n")
    with llmock(tmp_path, "-l", "1", "-c", "4") as url:
        heard = joined(await conversation(talk, url + path, provider, model))
    assert [event["type"] for event in heard] == EXPECTED
    assert [heard[1]["text"], heard[-2]["text"]] == ["The file may know.", "Done, mostly."]


@pytest.mark.parametrize(
    ("chaos", "said"),
    [("--chaos-drop", "HTTP 5"), ("--chaos-ratelimit", "HTTP 429"),
     ("--chaos-disconnect", "broke off"), ("--chaos-malformed", "")],
)  # fmt: skip
async def test_chaos_ends_in_one_error(
    talk: Callable[..., Conversation], tmp_path: Path, chaos: str, said: str
) -> None:
    with llmock(tmp_path, chaos, "1") as url:
        flags = ("--provider", "openai", "--model", "m", "--base-url", url)
        async with talk(flags=flags, env={"NO_PROXY": "*"}) as host:
            await host.ready()
            turn = await host.turn()
    (error,) = [event["error"] for event in turn if event["type"] == "error"]
    assert error["code"] == "provider_error"
    assert said in error["message"]
    assert turn[-1]["finish_reason"] == "error"
