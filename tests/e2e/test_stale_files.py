"""No file is replaced as a whole whose content is not the one that its model was told of last."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from talking import Conversation, call

Talk = Callable[..., Conversation]
Replies = list[list[object]]
pytestmark = pytest.mark.anyio

STEPS = ("read", "edit", "write", "user")
LENGTH = 4  # of a way; it ends in a write
STALE = "was changed since you last read or wrote it: read it again, then write"
AUTO = ("--mode", "auto_edit")
FORCE = ("--force",)
END: list[object] = [{"text": "done"}]


class Told:
    """What stands in a file, and what of it the model was told last; `None`: nothing."""

    def __init__(self) -> None:
        self.content = "line\n"
        self.known: str | None = None

    def step(self, what: str, mark: int) -> bool:
        """Take a step; return whether it may be taken."""
        is_fresh = self.known in (None, self.content)
        match what:
            case "read":
                self.known = self.content
            case "edit":
                self.content = self.content.replace("line", f"line {mark}")
                self.known = self.content if is_fresh else self.known
            case "write" if is_fresh:
                self.known = self.content = f"line {mark}\n"
            case "write":
                return False
            case _:
                self.content += f"user {mark}\n"
        return True


def step(what: str, name: str, mark: int = 0) -> dict[str, object]:
    call_id = f"{name}.{mark}"
    match what:
        case "read":
            return call("Read", call_id, file_path=name)
        case "edit":
            new = f"line {mark}"
            return call("Edit", call_id, file_path=name, old_string="line", new_string=new)
        case "delete":
            return call("Delete", call_id, file_path=name)
        case _:
            return call("Write", call_id, file_path=name, content=f"line {mark}\n")


async def test_of_all_ways_to_a_write_those_that_would_lose_something_are_refused(
    talk: Talk, workspace: Path
) -> None:
    ways = {"-".join(way): (*way, "write") for way in product(STEPS, repeat=LENGTH - 1)}
    files = {name: Told() for name in ways}
    replies: Replies = []
    for at in range(LENGTH):
        calls = [step(way[at], name, at) for name, way in ways.items() if way[at] != "user"]
        replies += [list[object](calls), END]
    for name, told in files.items():
        (workspace / name).write_text(told.content)
    async with talk(*replies, flags=AUTO) as host:
        await host.ready()
        for at in range(LENGTH):
            heard = await host.turn(msg_id=f"m{at}")
            results = {e["call_id"]: e for e in heard if e["type"] == "tool_result"}
            for name, told in files.items():
                may = told.step(ways[name][at], at)
                if ways[name][at] == "user":
                    (workspace / name).write_text(told.content)
                    continue
                result = results[f"{name}.{at}"]
                assert (result["status"] == "success") is may, (name, at, result)
                assert may or result["output"].endswith(STALE), result
                assert (workspace / name).read_text() == told.content, (name, at)
        assert not host.of("tool_request")


WAYS: dict[str, Replies] = {
    "a part of it": [[call("Read", file_path="a.txt", limit=1)]],
    "through a link": [[call("Read", file_path="link")]],
    "by another name of its folder": [[call("Read", file_path="folder/../a.txt")]],
    "deleted by the model": [[step("delete", "a.txt")]],
}


@pytest.mark.parametrize("way", WAYS)
async def test_what_was_told_in_another_way_counts_as_well(
    talk: Talk, workspace: Path, way: str
) -> None:
    (workspace / "a.txt").write_text("one\ntwo\n")
    (workspace / "link").symlink_to("a.txt")
    (workspace / "folder").mkdir()
    async with talk(*WAYS[way], END, [step("write", "a.txt", 1)], END, flags=FORCE) as host:
        await host.ready()
        await host.turn()
        (workspace / "a.txt").write_text("by the user\n")
        await host.turn(msg_id="m2")
        assert host.of("tool_result")[-1]["output"].endswith(STALE)
    assert (workspace / "a.txt").read_text() == "by the user\n"


async def test_what_is_gone_can_be_written_and_is_known_then(talk: Talk, workspace: Path) -> None:
    (workspace / "a.txt").write_text("old\n")
    replies = [step("read", "a.txt")], END, [step("write", "a.txt", 1)], [step("write", "a.txt", 2)]
    async with talk(*replies, END, flags=AUTO) as host:
        await host.ready()
        await host.turn()
        (workspace / "a.txt").unlink()
        await host.turn(msg_id="m2")
    assert (workspace / "a.txt").read_text() == "line 2\n"


async def test_nobody_is_asked_about_a_write_that_would_lose_something(
    talk: Talk, workspace: Path
) -> None:
    (workspace / "a.txt").write_text("old\n")
    async with talk([step("read", "a.txt")], END, [step("write", "a.txt", 1)], END) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        await host.approve("a.txt.0")
        await host.hear("stream_end")
        (workspace / "a.txt").write_text("by the user\n")
        heard = await host.turn(msg_id="m2")
        assert not [each for each in heard if each["type"] == "tool_request"]
    assert (workspace / "a.txt").read_text() == "by the user\n"


async def test_a_changed_write_is_held_to_what_its_model_knows(talk: Talk, workspace: Path) -> None:
    (workspace / "a.txt").write_text("old\n")
    calls = [step("read", "a.txt"), step("write", "b.txt", 1)]
    async with talk(calls[:1], calls[1:], END, flags=("--mode", "read_only")) as host:
        await host.ready()
        await host.message()
        card = await host.hear("tool_request")
        (workspace / "a.txt").write_text("by the user\n")
        changed = {"file_path": "a.txt", "content": "new\n"}
        await host.approve(card["call_id"], args=changed, digest=card["digest"])
        error = (await host.hear("error"))["error"]
        assert error["code"] == "refused"
        assert error["message"].endswith(STALE)
        await host.deny(card["call_id"])
        await host.hear("stream_end")
    assert (workspace / "a.txt").read_text() == "by the user\n"


async def test_what_a_call_of_the_same_reply_reads_is_not_known_yet(
    talk: Talk, workspace: Path
) -> None:
    """The model wrote before it was told; a call that comes in between makes the last one wait."""
    (workspace / "a.txt").write_text("line\n")
    at_once = [step("read", "a.txt", 1), step("edit", "a.txt", 2), step("write", "a.txt", 3)]
    replies = [step("read", "a.txt")], END, at_once, [step("write", "a.txt", 4)], END
    async with talk(*replies, flags=AUTO) as host:
        await host.ready()
        await host.turn()
        (workspace / "a.txt").write_text("line by the user\n")
        await host.turn(msg_id="m2")
        ends = {each["call_id"]: each for each in host.of("tool_result")}
        assert ends["a.txt.2"]["status"] == "success"
        assert ends["a.txt.3"]["output"].endswith(STALE)
        assert ends["a.txt.4"]["status"] == "success", "by then it was told of all"


SPAWN: list[object] = [call("Spawn", task="x")]
READ: list[object] = [step("read", "a.txt")]
WRITE: list[object] = [step("write", "a.txt", 9)]
AGENTS: dict[str, tuple[Replies, Replies, bool]] = {
    "what an agent has read its parent has not": ([SPAWN, READ, END, END], [WRITE, END], True),
    "what its parent has read an agent has not": ([READ, END], [SPAWN, WRITE, END, END], True),
    "what an agent has written its parent has not": (
        [READ, SPAWN, [step("write", "a.txt", 5)], END, WRITE, END],
        [],
        False,
    ),
}


@pytest.mark.parametrize("case", AGENTS)
async def test_each_agent_knows_what_it_was_told_itself(
    talk: Talk, workspace: Path, case: str
) -> None:
    before, after, may = AGENTS[case]
    (workspace / "a.txt").write_text("old\n")
    async with talk(*before, *after, flags=FORCE) as host:
        await host.ready()
        await host.turn()
        if after:
            (workspace / "a.txt").write_text("by the user\n")
            await host.turn(msg_id="m2")
        heard = [*host.heard, *(each["inner"] for each in host.of("sub_agent_event"))]
        ends = [each for each in heard if each["type"] == "tool_result"]
        (end,) = [each for each in ends if each["call_id"] == "a.txt.9"]
        assert (end["status"] == "success") is may


async def test_a_resumed_engine_demands_nothing(talk: Talk, workspace: Path) -> None:
    (workspace / "a.txt").write_text("old\n")
    flags = (*AUTO, "--session-id", "s1")
    async with talk([step("read", "a.txt")], END, flags=flags) as first:
        await first.ready()
        await first.turn()
    (workspace / "a.txt").write_text("by the user\n")
    again = (*AUTO, "--resume", "s1")
    async with talk([step("write", "a.txt", 1)], END, flags=again) as second:
        await second.ready()
        await second.turn(msg_id="m2")
    assert (workspace / "a.txt").read_text() == "line 1\n"
