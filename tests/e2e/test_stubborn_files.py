"""Whatever a path leads to, nobody waits: a card comes, or stop, end and signals are heard."""

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from talking import Conversation, call

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

HUGE_BYTES = 400 * 1024**3  # read whole it takes minutes; it is one hole
DEPTH = 200  # of links that lead to links
DEVICES = {"Write": "/dev/full", "Edit": "/dev/random", "MultiEdit": "/dev/urandom"}


def make_huge(path: Path) -> None:
    path.touch()
    os.truncate(path, HUGE_BYTES)


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))  # a name of a socket may have 107 bytes


def make_links(path: Path) -> None:
    make_huge(path.with_name(f"{path.name}-0"))
    for depth in range(1, DEPTH):
        path.with_name(f"{path.name}-{depth}").symlink_to(f"{path.name}-{depth - 1}")
    path.symlink_to(f"{path.name}-{DEPTH - 1}")


def make_device(path: Path) -> None:
    path.symlink_to(DEVICES.get(path.name.rpartition("-")[2], "/dev/zero"))


def make_loop(path: Path) -> None:
    path.symlink_to(path.name)


def make_unreadable(path: Path) -> None:
    make_huge(path)
    path.chmod(0)


THINGS = {
    "huge": make_huge,
    "fifo": make_fifo,
    "socket": make_socket,
    "folder": Path.mkdir,
    "links": make_links,
    "device": make_device,
    "loop": make_loop,
    "unreadable": make_unreadable,
}
TOOLS: dict[str, dict[str, object]] = {
    "Write": {"content": "x"},
    "Edit": {"old_string": "a", "new_string": "b"},
    "MultiEdit": {"edits": [{"old_string": "a", "new_string": "b"}]},
    "Delete": {},
    "Read": {},
}
SEARCHES: dict[str, dict[str, object]] = {
    "LS": {},
    "Glob": {"pattern": "*"},
    "Grep": {"pattern": "x"},
}


@pytest.fixture
def calls(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One call of every tool for every thing, each on a file of its own."""
    monkeypatch.chdir(workspace)
    found: list[object] = []
    for thing, make in THINGS.items():
        for tool, args in TOOLS.items():
            make(workspace / f"{thing}-{tool}")
            found.append(call(tool, f"{thing}-{tool}", file_path=f"{thing}-{tool}", **args))
        for tool, args in SEARCHES.items():
            make(workspace / f"{thing}-{tool}")
            found.append(call(tool, f"{thing}-{tool}", path=f"{thing}-{tool}", **args))
    return found


async def test_every_call_is_asked_or_answered(talk: Talk, calls: list[object]) -> None:
    async with talk(calls, [{"text": "ok"}]) as host:
        await host.ready()
        await host.message()
        settled = set[str]()
        wanted = {f"{thing}-{tool}" for thing in THINGS for tool in (*TOOLS, *SEARCHES)}
        while left := wanted - settled:
            try:
                event = await host.next()
            except TimeoutError:
                raise AssertionError(f"nothing comes of {sorted(left)}") from None
            if event["type"] in ("tool_request", "tool_result"):
                settled.add(event["call_id"])
        await host.say(type="stop")
        await host.hear("stream_end", finish_reason="stop")


ENDINGS = [  # after the end of input, what runs unasked goes on
    *(("default", "end"), ("default", "stop"), ("default", "signal")),
    *(("auto_edit", "stop"), ("auto_edit", "signal")),
]


@pytest.mark.parametrize(("mode", "ending"), ENDINGS)
async def test_an_end_is_heard_whatever_is_under_way(
    talk: Talk, calls: list[object], mode: str, ending: str
) -> None:
    """Told before the first call was announced, or while the tools are at it."""
    async with talk(calls, [{"text": "ok"}], flags=("--mode", mode)) as host:
        await host.ready()
        await host.message()
        await host.hear("stream_start")
        if ending == "stop":
            await host.say(type="stop")
            await host.hear("stream_end", finish_reason="stop")
        elif ending == "end":
            assert await host.finish() == 0
        else:
            host.process.send_signal(signal.SIGTERM)
            with host.patience("its end"):
                await host.process.wait()
            host.exit_code = host.process.returncode
            assert host.exit_code in (-signal.SIGTERM, 128 + signal.SIGTERM)
            host.killed = True


async def test_a_large_file_that_changed_is_not_replaced(talk: Talk, workspace: Path) -> None:
    make_huge(workspace / "big")
    make_huge(workspace / "same")
    writes: list[object] = [
        call("Write", "changed", file_path="big", content="x"),
        call("Write", "kept", file_path="same", content="x"),
    ]
    async with talk(writes, [{"text": "ok"}]) as host:
        await host.ready()
        await host.message()
        for _ in writes:
            await host.hear("tool_request")
        with (workspace / "big").open("r+b") as file:
            file.seek(HUGE_BYTES // 2)
            file.write(b"somebody else's")
        for name in ("changed", "kept"):
            await host.approve(name)
        results = [await host.hear("tool_result") for _ in writes]
        await host.hear("stream_end")
    told = {event["call_id"]: event for event in results}
    assert told["changed"]["status"] == "error"
    assert "has changed since it was shown" in told["changed"]["output"]
    assert told["kept"]["status"] == "success"
    assert (workspace / "big").stat().st_size == HUGE_BYTES
    assert (workspace / "same").read_text() == "x"


@pytest.mark.parametrize("asked", [True, False])
async def test_a_workspace_that_is_gone_is_not_made_anew(
    talk: Talk, workspace: Path, asked: bool
) -> None:
    """Neither unasked, nor after a yes that was given when it was still there."""
    writes = call("Write", "c1", file_path="below/a.txt", content="x")
    async with talk([writes], [{"text": "ok"}], flags=() if asked else ("--force",)) as host:
        await host.ready()
        if asked:
            await host.message()
            await host.hear("tool_request")
        os.rmdir(workspace)
        if asked:
            await host.approve("c1")
        else:
            await host.message()
        result = await host.hear("tool_result")
        await host.hear("stream_end")
    assert (result["status"], result["output"]) == ("error", f"the workspace {workspace} is gone")
    assert workspace.name not in os.listdir(workspace.parent)
