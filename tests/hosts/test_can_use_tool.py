"""`can_use_tool` against the real engine: one answer for each card, to the right call, always."""

import json
from collections.abc import Callable

import anyio
import pytest
import waiting
from hosts.places import Place
from talking import call
from wcore_host import (
    DEFAULT_COMMAND,
    Allow,
    CallSettled,
    CanUseTool,
    Deny,
    Engine,
    Event,
    JsonObject,
    TextDelta,
    ToolCancelled,
    ToolContext,
    ToolRequest,
    ToolResult,
    connect,
    permission,
)

ECHO: list[object] = [{"echo": True}]


def engine_of(
    place: Place,
    *replies: list[object],
    can_use_tool: CanUseTool | None,
    flags: tuple[str, ...] = (),
) -> Engine:
    command = [*DEFAULT_COMMAND, "--model", place.script(*replies), *flags]
    return connect(command, cwd=place.workspace, env=place.env, can_use_tool=can_use_tool)


async def turn(engine: Engine) -> list[Event]:
    with waiting.patience():
        async with engine:
            return [event async for event in engine.run_turn("go")]


def told(heard: list[Event]) -> str:
    """What the scripted model says it was told about its calls."""
    return "".join(event.text for event in heard if isinstance(event, TextDelta))


async def test_an_allowed_call_runs(place: Place) -> None:
    seen: list[tuple[str, JsonObject, str]] = []

    async def allow(tool: str, args: JsonObject, context: ToolContext) -> Allow:
        seen.append((tool, args, context.why.row))
        return Allow()

    heard = await turn(
        engine_of(place, [call("Bash", command="echo hi")], ECHO, can_use_tool=allow)
    )
    assert seen == [("Bash", {"command": "echo hi"}, "default")]
    assert [event.output for event in heard if isinstance(event, ToolResult)] == ["hi\n"]


async def test_a_denial_reaches_the_model_in_its_words(place: Place) -> None:
    async def deny(_tool: str, _args: JsonObject, _context: ToolContext) -> Deny:
        return Deny("use the other folder")

    calls: list[object] = [call("Write", file_path="a", content="x")]
    heard = await turn(engine_of(place, calls, ECHO, can_use_tool=deny))
    assert "use the other folder" in told(heard)
    assert not place.file("a").exists()


async def test_nobody_to_ask_means_no(place: Place) -> None:
    calls: list[object] = [call("Write", file_path="a", content="x")]
    heard = await turn(engine_of(place, calls, ECHO, can_use_tool=None))
    assert permission.NOBODY in told(heard)
    assert not place.file("a").exists()


async def test_edited_arguments_are_what_runs(place: Place) -> None:
    async def edit(_tool: str, args: JsonObject, _context: ToolContext) -> Allow:
        return Allow(args={**args, "content": "mine"})

    calls: list[object] = [call("Write", file_path="a", content="x")]
    await turn(engine_of(place, calls, ECHO, can_use_tool=edit))
    assert place.file("a").read_text() == "mine"


async def test_edited_arguments_that_the_engine_refuses_end_in_a_denial(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permission, "SETTLE_S", 0.5)

    async def edit(_tool: str, args: JsonObject, _context: ToolContext) -> Allow:
        return Allow(args={**args, "file_path": "/elsewhere/a"})

    calls: list[object] = [call("Write", file_path="a", content="x")]
    heard = await turn(engine_of(place, calls, ECHO, can_use_tool=edit))
    assert permission.REFUSED in told(heard)


async def boom(_tool: str, _args: JsonObject, _context: ToolContext) -> Allow:
    raise RuntimeError("my own bug")


async def nonsense(_tool: str, _args: JsonObject, _context: ToolContext) -> Allow:
    return "yes"  # pyright: ignore[reportReturnType]


async def wrong_scope(_tool: str, _args: JsonObject, _context: ToolContext) -> Allow:
    return Allow(scope=5)  # pyright: ignore[reportArgumentType]


async def unsendable(_tool: str, _args: JsonObject, _context: ToolContext) -> Allow:
    return Allow(args={"command": object()})  # pyright: ignore[reportArgumentType]


async def half_a_character(_tool: str, _args: JsonObject, _context: ToolContext) -> Deny:
    return Deny("\ud800")


def not_async(_tool: str, _args: JsonObject, _context: ToolContext) -> Allow:
    return Allow()


@pytest.mark.parametrize(
    "callback", [boom, nonsense, wrong_scope, unsendable, half_a_character, not_async]
)
async def test_a_broken_callback_denies(
    place: Place, callback: CanUseTool, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[object] = [call("Write", file_path="a", content="x")]
    heard = await turn(engine_of(place, calls, ECHO, can_use_tool=callback))
    assert permission.FAILED in told(heard)
    assert not place.file("a").exists()
    assert caplog.records, "the host's log says what went wrong"


async def test_two_calls_are_decided_at_once_and_each_gets_its_own_answer(place: Place) -> None:
    asked: dict[str, anyio.Event] = {"a": anyio.Event(), "b": anyio.Event()}

    async def decide(_tool: str, args: JsonObject, _context: ToolContext) -> Allow | Deny:
        name = str(args["file_path"])
        asked[name].set()
        for other in asked.values():  # neither answers before both have been asked
            await other.wait()
        return Allow() if name == "b" else Deny("not a")

    calls: list[object] = [call("Write", file_path=name, content="x") for name in "ab"]
    await turn(engine_of(place, calls, ECHO, can_use_tool=decide))
    assert not place.file("a").exists()
    assert place.file("b").exists()


async def test_a_callback_that_hangs_is_cancelled_when_the_call_expires(place: Place) -> None:
    ended: list[str] = []

    async def hang(_tool: str, _args: JsonObject, _context: ToolContext) -> Allow:
        try:
            await anyio.Event().wait()
        finally:
            ended.append("cancelled")
        return Allow()

    calls: list[object] = [call("Bash", command="echo hi")]
    flags = ("--approval-ttl", "1")
    heard = await turn(engine_of(place, calls, ECHO, can_use_tool=hang, flags=flags))
    assert ended == ["cancelled"]
    assert [event.by for event in heard if isinstance(event, CallSettled)] == ["timeout"]
    assert any(isinstance(event, ToolCancelled) for event in heard)


async def test_a_yes_that_comes_after_the_call_was_settled_is_not_sent(
    fake: Callable[[str], list[str]],
) -> None:
    """The callback swallows its cancellation and says yes all the same."""

    async def stubborn(_tool: str, args: JsonObject, _context: ToolContext) -> Allow | Deny:
        if args["command"] == "c2":
            return Deny("no")
        with anyio.CancelScope(shield=True):
            await settled.wait()
        return Allow()

    settled = anyio.Event()
    heard: list[str] = []
    with waiting.patience():
        async with connect(fake("two_turns"), can_use_tool=stubborn) as engine:
            await engine.message("go")
            await engine.ping()
            settled.set()
            await anyio.wait_all_tasks_blocked()  # the callback has said its late yes
            await engine.send({"type": "stop"})
            async for event in engine:
                if message := event.raw.get("message"):
                    heard.append(str(message))
                    if '"stop"' in heard[-1]:
                        break
    assert any('"c2"' in line for line in heard)
    assert not any('"c1"' in line for line in heard), heard


async def test_an_answer_to_a_question_is_its_output(place: Place) -> None:
    async def answer(_tool: str, _args: JsonObject, _context: ToolContext) -> Allow:
        return Allow(answer="blue")

    question = call("AskUserQuestion", question="Colour?", options=[{"label": "blue"}])
    heard = await turn(engine_of(place, [question], ECHO, can_use_tool=answer))
    assert [event.output for event in heard if isinstance(event, ToolResult)] == ["blue"]


async def test_an_engine_without_edits_never_runs_the_unedited_call(
    fake: Callable[[str], list[str]],
) -> None:
    async def edit(_tool: str, _args: JsonObject, _context: ToolContext) -> Allow:
        return Allow(args={"command": "something else"})

    with waiting.patience():
        async with connect(fake("baseline"), can_use_tool=edit) as engine:
            heard = [event async for event in engine.run_turn("go")]
    answer = json.loads(told(heard))
    assert answer["type"] == "tool_deny"


async def test_waiting_calls_grants_and_history_can_be_listed(place: Place) -> None:
    calls: list[object] = [call("Bash", command="echo one"), call("Bash", command="echo two")]
    command = [*DEFAULT_COMMAND, "--model", place.script(calls, [{"text": "done"}])]
    with waiting.patience():
        async with connect(command, cwd=place.workspace, env=place.env, attended=True) as engine:
            asked: list[ToolRequest] = []
            async for event in engine.run_turn("go"):
                if isinstance(event, ToolRequest):
                    asked.append(event)
                    if len(asked) == 2:
                        assert [c.call_id for c in await engine.list_pending()] == [
                            c.call_id for c in asked
                        ]
                        await engine.approve(asked[0], scope="always")
                        await engine.deny(asked[1], "no")
            (grant,) = await engine.list_grants()
            assert (grant.kind, grant.tool) == ("name", "Bash")
            assert await engine.revoke_grant(grant.grant_id)
            assert not await engine.revoke_grant(grant.grant_id)
            assert await engine.list_grants() == ()
            messages, more = await engine.get_history()
            assert messages[0]["text"] == "go"
            assert messages[-1]["text"] == "done"
            assert not more
