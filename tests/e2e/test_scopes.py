"""Conversations about a yes to one text or to a set of prefixes: what it covers and what not."""

import os
from collections.abc import Callable
from pathlib import Path

import processes
import pytest
import waiting
from talking import Conversation, Event, call

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

LOOP = "for n in 1 2; do echo $n >> ran; done"
DENIES_CURL = 'deny = ["Bash(curl)"]\n'


def exact(command: str) -> Event:
    return {"always_exact": {"command": command}}


def commands_offered(card: Event) -> list[str]:
    """Return the texts that a card offers to allow; nothing wider, and it says why."""
    found = [each["always_exact"] for each in card["suggestions"]]
    assert all(each["note"].startswith("No prefix is offered: ") for each in found)
    return [each["command"] for each in found]


def bash(*commands: str) -> list[list[dict[str, object]]]:
    """Return a reply with one call for each command."""
    return [[call("Bash", command=command)] for command in commands]


async def asked(host: Conversation) -> Event:
    return await host.hear("tool_request")


async def begun(host: Conversation) -> Event:
    await host.ready()
    await host.message()
    return await asked(host)


async def grants(host: Conversation) -> list[Event]:
    await host.say(type="list_grants")
    found: list[Event] = (await host.hear("command_result"))["grants"]
    return found


async def test_a_yes_to_a_text_covers_it_again_to_the_byte_and_nothing_else(talk: Talk) -> None:
    others = [
        f"{LOOP} ",
        f" {LOOP}",
        f"{LOOP}\n",
        LOOP.replace("n", "\u0578"),
        f"{LOOP};",
        LOOP.upper(),
    ]
    async with talk(
        *bash(LOOP, LOOP), [call("Bash", command=LOOP, timeout_s=9)], *bash(*others), []
    ) as host:
        card = await begun(host)
        assert commands_offered(card) == [LOOP], "no prefix can cover it"
        await host.approve(card["call_id"], scope=exact(LOOP))
        for _ in others:
            await host.deny((await asked(host))["call_id"])
        await host.hear("stream_end")
        assert len(host.of("tool_result")) == 3
        assert [e["why"]["detail"] for e in host.of("call_announced")] == [
            "this exact command was granted for this session"
        ] * 2
        (grant,) = await grants(host)
        assert (grant["kind"], grant["command"], grant["uses"]) == ("exact", LOOP, 2)
        assert "prefix" not in grant


async def test_another_text_than_that_of_the_call_is_a_yes_for_once(talk: Talk) -> None:
    async with talk(*bash("echo a", "echo a"), []) as host:
        await host.approve((await begun(host))["call_id"], scope=exact("echo a "))
        assert "not the command of this call" in (await host.hear("info"))["message"]
        await host.deny((await asked(host))["call_id"])
        await host.hear("stream_end")


async def test_a_yes_to_a_text_is_for_bash(talk: Talk) -> None:
    write = [call("Write", file_path="a.txt", content="a")]
    async with talk(write, write, []) as host:
        await host.approve((await begun(host))["call_id"], scope=exact("a"))
        assert "means nothing for Write" in (await host.hear("info"))["message"]
        await host.deny((await asked(host))["call_id"])
        await host.hear("stream_end")


@pytest.mark.parametrize(
    "text",
    ["./build.sh", "bash build.sh", "cd . && ./build.sh", "(./build.sh)", "env A=1 ./build.sh"],
)
async def test_a_script_that_has_changed_is_another_command(talk: Talk, text: str) -> None:
    change = [call("Write", file_path="build.sh", content="#!/bin/sh\necho changed\n")]
    replies = [*bash(text, text), change, *bash(text)]
    async with talk(*replies, [], flags=("--mode", "auto_edit")) as host:
        script = host.workspace / "build.sh"
        script.write_text("#!/bin/sh\necho built\n")
        script.chmod(0o755)
        await host.approve((await begun(host))["call_id"], scope=exact(text))
        card = await asked(host)
        assert "changed" in script.read_text(), "the second one ran unasked, this is the third"
        await host.deny(card["call_id"])
        await host.hear("stream_end")


async def test_an_environment_is_entered_as_it_was_on_the_card(talk: Talk) -> None:
    text = "source .venv/bin/activate && echo $A"
    change = [call("Write", file_path=".venv/bin/activate", content="A=second\n")]
    replies = [*bash(text, text), [call("Read", file_path=".venv/bin/activate")], change]
    async with talk(*replies, *bash(text), [], flags=("--mode", "auto_edit")) as host:
        script = host.workspace / ".venv/bin/activate"
        script.parent.mkdir(parents=True)
        script.write_text("A=first\n")
        card = await begun(host)
        assert commands_offered(card) == [text], "no prefix may read a script"
        await host.approve(card["call_id"], scope=exact(text))
        card = await asked(host)
        assert script.read_text() == "A=second\n", "the second one ran unasked"
        await host.deny(card["call_id"])
        await host.hear("stream_end")
        assert [e["output"] for e in host.of("tool_result")][:2] == ["first\n"] * 2


async def test_a_script_that_comes_to_be_there_was_not_on_the_card(talk: Talk) -> None:
    text = "sh later.sh || true"
    make = [call("Write", file_path="later.sh", content="echo later\n")]
    async with talk(*bash(text), make, *bash(text), [], flags=("--mode", "auto_edit")) as host:
        await host.approve((await begun(host))["call_id"], scope=exact(text))
        card = await asked(host)
        assert (host.workspace / "later.sh").exists()
        await host.deny(card["call_id"])
        await host.hear("stream_end")


async def test_a_fifo_in_the_place_of_a_script_does_not_hold_the_engine_up(talk: Talk) -> None:
    async with talk(*bash("./build.sh"), []) as host:
        os.mkfifo(host.workspace / "build.sh")
        await host.deny((await begun(host))["call_id"])
        await host.hear("stream_end")


async def test_a_path_outside_is_granted_as_it_resolved_on_the_card(
    talk: Talk, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    (data / "one").mkdir(parents=True)
    (data / "two").mkdir()
    for name in ("one", "two"):
        (data / name / "a").write_text(name)
    (data / "now").symlink_to("one")
    text = f"cat < {data}/now/a"
    relink = f"ln -sfn two {data}/now"
    async with talk(*bash(text, text, relink, text), []) as host:
        card = await begun(host)
        assert card["why"]["row"] == "outside"
        assert card["suggestions"][0] == exact(text)
        await host.approve(card["call_id"], scope=exact(text))
        await host.approve((await asked(host))["call_id"])
        assert [e["output"] for e in host.of("tool_result")] == ["one", "one"]
        await host.deny((await asked(host))["call_id"])
        await host.hear("stream_end")


async def test_a_yes_to_a_text_lifts_the_doubt_about_it_and_no_denial(talk: Talk) -> None:
    computed, denied = "for n in echo; do $n 1; done", "for n in echo; do $n 1; curl; done"
    async with talk(*bash(computed, computed, denied), []) as host:
        rules = host.workspace.parent / "home" / ".config" / "wcore"
        rules.mkdir(parents=True, exist_ok=True)
        (rules / "policy.toml").write_text(DENIES_CURL)
        card = await begun(host)
        assert card["why"]["row"] == "unreadable"
        await host.approve(card["call_id"], scope=exact(computed))
        await host.hear("tool_cancelled")
        await host.hear("stream_end")
        assert len(host.of("tool_result")) == 2


@pytest.mark.parametrize("text", ["sudo -n true", "cat .env", "cat .git/config"])
async def test_what_needs_a_person_each_time_is_asked_each_time(talk: Talk, text: str) -> None:
    async with talk(*bash(text, text), []) as host:
        card = await begun(host)
        assert "suggestions" not in card
        await host.approve(card["call_id"], scope=exact(text))
        await host.deny((await asked(host))["call_id"])
        await host.hear("stream_end")


async def test_a_changed_command_is_granted_as_it_was_changed(talk: Talk) -> None:
    async with talk(*bash("echo a", "echo b", "echo a"), []) as host:
        card = await begun(host)
        changed = {"args": {"command": "echo b"}, "digest": card["digest"]}
        await host.approve(card["call_id"], scope=exact("echo b"), **changed)
        await host.deny((await asked(host))["call_id"])
        await host.hear("stream_end")
        assert [e["output"] for e in host.of("tool_result")] == ["b\n", "b\n"]


async def test_the_shown_command_is_not_granted_by_a_changed_one(talk: Talk) -> None:
    async with talk(*bash("echo a", "echo a"), []) as host:
        card = await begun(host)
        changed = {"args": {"command": "echo b"}, "digest": card["digest"]}
        await host.approve(card["call_id"], scope=exact("echo a"), **changed)
        assert "not the command of this call" in (await host.hear("info"))["message"]
        await host.deny((await asked(host))["call_id"])
        await host.hear("stream_end")


@pytest.mark.parametrize("persist", ["project", "user"])
async def test_an_exact_yes_lasts_for_the_project_at_most(talk: Talk, persist: str) -> None:
    async with talk(*bash(LOOP), []) as first:
        await first.approve((await begun(first))["call_id"], scope=exact(LOOP), persist=persist)
        await first.hear("stream_end")
        told = [e["message"] for e in first.of("info")]
        assert [("this project only" in text) for text in told] == [True] * (persist == "user")
        (grant,) = await grants(first)
        assert (grant["kind"], grant["persist"]) == ("exact", "project")
    async with talk(*bash(LOOP), *bash(LOOP), []) as second, talk([]) as third:
        await second.ready()
        await third.ready()
        await third.turn()
        await second.turn()
        assert [e["why"]["row"] for e in second.of("call_announced")] == ["grant"] * 2
        await third.say(type="revoke_grant", grant_id=grant["grant_id"])
        assert (await third.hear("command_result"))["revoked"] is True
    async with talk(*bash(LOOP), []) as fourth:
        await fourth.deny((await begun(fourth))["call_id"])
        await fourth.hear("stream_end")


async def test_a_set_is_kept_whole_and_covers_what_each_of_it_covers(talk: Talk) -> None:
    text = "git status --short; git log -1 || git --version"
    scope = {"always_prefixes": {"prefixes": ["git status", "git log", "git --version"]}}
    async with talk(*bash(text, "git log -2 || git status", "git diff"), []) as host:
        card = await begun(host)
        await host.approve(card["call_id"], scope=scope)
        await host.deny((await asked(host))["call_id"])
        await host.hear("stream_end")
        assert len(host.of("tool_result")) == 2
        found = await grants(host)
        assert [g["prefix"] for g in found] == ["git status", "git log", "git --version"]
        assert {g["kind"] for g in found} == {"prefix"}


@pytest.mark.parametrize(
    "prefixes",
    [
        ["git status", "git log", "eval"],  # one cannot be granted
        ["git status"],  # not all of the text
        ["git status", "git log", "git push"],  # one is in no part of it
    ],
)
async def test_a_set_of_which_one_does_not_hold_keeps_nothing(
    talk: Talk, prefixes: list[str]
) -> None:
    async with talk(*bash("git status; git log -1", "git status"), []) as host:
        scope = {"always_prefixes": {"prefixes": prefixes}}
        await host.approve((await begun(host))["call_id"], scope=scope)
        assert "once only" in (await host.hear("info"))["message"]
        await host.deny((await asked(host))["call_id"])
        await host.hear("stream_end")
        assert await grants(host) == []


async def test_a_set_may_last_and_is_one_answer_in_the_audit(talk: Talk) -> None:
    scope = {"always_prefixes": {"prefixes": ["echo a", "echo b"]}}
    async with talk(*bash("echo a && echo b"), []) as first:
        await first.approve((await begun(first))["call_id"], scope=scope, persist="user")
        await first.hear("stream_end")
        assert first.of("info") == []
    async with talk(*bash("echo b"), []) as second:
        await second.ready()
        await second.turn()
        assert [e["why"]["row"] for e in second.of("call_announced")] == ["grant"]


async def test_a_command_too_long_to_be_kept_runs_once_and_it_is_said_why(talk: Talk) -> None:
    long = f"echo {'x' * 5_000} > ran"
    async with talk(*bash(long), []) as host:
        request = await begun(host)
        await host.approve(request["call_id"], scope=exact(long))
        assert "longer than 4096 characters" in (await host.hear("info"))["message"]
        assert (await host.hear("tool_result"))["status"] == "success"
        await host.hear("stream_end")
        assert await grants(host) == []


async def test_a_yes_without_persist_ends_with_its_session(talk: Talk, workspace: Path) -> None:
    (workspace / "a.txt").write_text("hello\n")

    def read(call_id: str) -> list[object]:
        return [call("Read", call_id, file_path="a.txt")]

    async with talk(read("r1"), read("r2"), []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="r1")
        await host.approve("r1", scope="always")
        announced = await host.hear("call_announced", call_id="r2")
        assert announced["why"]["row"] == "grant"
        await host.hear("stream_end")
        await host.say(type="list_grants")
        (grant,) = (await host.hear("command_result"))["grants"]
        assert grant["persist"] == "session"
    assert not host.of("info"), "there is nothing to say of a yes that is kept as it was meant"
    async with talk(read("r1"), []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="r1")
        await host.deny("r1")
        await host.hear("stream_end")
        await host.say(type="list_grants")
        assert (await host.hear("command_result"))["grants"] == []


@pytest.mark.parametrize("persist", ["project", "user"])
async def test_a_yes_to_a_protected_path_is_kept_for_the_session_only(
    talk: Talk, workspace: Path, persist: str
) -> None:
    (workspace / ".git").mkdir()
    write = call("Write", "w1", file_path=".git/config", content="x\n")
    async with talk([write], []) as host:
        await host.ready()
        await host.message()
        card = await host.hear("tool_request", call_id="w1")
        assert card["why"]["row"] == "protected"
        await host.approve("w1", scope="always", persist=persist)
        await host.hear("stream_end")
        (told,) = host.of("info")
        assert told["message"].endswith("for this session only: the path is protected")
        await host.say(type="list_grants")
        (grant,) = (await host.hear("command_result"))["grants"]
        assert grant["persist"] == "session"
    async with talk([], flags=()) as host:
        await host.ready()
        await host.message()
        await host.hear("stream_end")
        await host.say(type="list_grants")
        assert (await host.hear("command_result"))["grants"] == []


EXEC = {"Bash": {"command": "true"}, "Spawn": {"task": "look around"}}
OTHER = {"Read": {"file_path": "a.txt"}, "Write": {"file_path": "b.txt", "content": "x"}}


@pytest.mark.parametrize("tool", [*EXEC, *OTHER])
@pytest.mark.parametrize("scope", ["always", "once"])
async def test_a_yes_to_every_command_says_so_to_the_person(
    talk: Talk, tool: str, scope: str
) -> None:
    args: dict[str, object] = {**(EXEC | OTHER)[tool]}
    async with talk([call(tool, "c1", **args)], [], []) as host:
        (host.workspace / "a.txt").write_text("a")
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        await host.approve("c1", scope=scope)
        await host.hear("stream_end")
        told = [event["message"] for event in host.of("info")]
    if tool in OTHER or scope == "once":
        assert told == []
    else:
        (text,) = told
        assert text.startswith(f"c1: every {tool} call of this session now runs unasked")
        assert "revoke_grant" in text


async def test_a_yes_to_some_commands_or_one_that_says_it_already_is_told_no_more(
    talk: Talk,
) -> None:
    ls, date = call("Bash", "c1", command="ls"), call("Bash", "c2", command="date")
    async with talk([ls], [date], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request", call_id="c1")
        await host.approve("c1", scope={"always_prefix": {"prefix": "ls"}})
        await host.hear("tool_request", call_id="c2")
        await host.approve("c2", scope="always", persist="user")
        await host.hear("stream_end")
        (text,) = [event["message"] for event in host.of("info")]
        assert text.startswith("c2: the yes is kept for this session only: every Bash command")


async def has_own_processes(host: Conversation, count: int) -> None:
    """Wait until the engine has so many processes of its own below it."""

    def seen() -> int:
        found = processes.below(host.process.pid)
        return sum(processes.name(each) == "wcore-supervise" for each in found)

    await waiting.until(lambda: seen() == count, f"{count} processes of ours", seen=seen)


async def test_a_text_is_analysed_twice_only_where_it_may_run_unasked(talk: Talk) -> None:
    async with talk(*bash("true 1", "true 2", "true 3", "id"), []) as host:
        await host.approve((await begun(host))["call_id"])
        card = await asked(host)
        await has_own_processes(host, 1)  # the supervisor: nothing is granted
        await host.approve(card["call_id"], scope={"always_prefix": {"prefix": "true"}})
        await asked(host)
        assert len(host.of("tool_result")) == 3
        await has_own_processes(host, 2)
        await host.say(type="stop")
        await host.hear("stream_end")
