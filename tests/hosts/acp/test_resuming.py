"""Sessions that outlive their editor, and their engine."""

import os
import signal

import processes
import pytest
from hosts.acp.editor import Editor, Frame, RequestFailedError, choose
from hosts.places import Place
from talking import call

pytestmark = pytest.mark.anyio

WRITE = call("Write", "w", file_path="new.txt", content="x")
BASH = call("Bash", "b", command="false")
INITIAL: Frame = {"protocolVersion": 1, "clientCapabilities": {}}


async def left_session(place: Place) -> str:
    """Have a conversation and leave it; return its id."""
    model = place.script([{"thinking": "hm"}, {"text": "see `a`"}, WRITE, BASH], [{"text": "done"}])
    async with Editor(place, "--model", model, answers=choose("allow_once")) as editor:
        session_id = await editor.open()
        await editor.prompt(session_id, {"type": "text", "text": "write it"})
    return session_id


def where(place: Place, session_id: str = "") -> Frame:
    named = {"sessionId": session_id} if session_id else {}
    return {**named, "cwd": str(place.workspace), "mcpServers": []}


async def test_a_loaded_session_shows_what_was_said_and_goes_on(place: Place) -> None:
    session_id = await left_session(place)
    async with Editor(place, "--model", place.script([{"text": "went on"}])) as editor:
        await editor.request("initialize", **INITIAL)
        listed = await editor.request("session/list", cwd=str(place.workspace))
        assert [(s["sessionId"], s["title"]) for s in listed["sessions"]] == [
            (session_id, "write it")
        ]
        assert (await editor.request("session/list", cwd="/"))["sessions"] == []
        loaded = await editor.request("session/load", **where(place, session_id))
        assert loaded["modes"]["currentModeId"] == "read_only"
        kinds = [update["sessionUpdate"] for update in editor.updates()]
        assert kinds[:6] == [
            *("user_message_chunk", "agent_thought_chunk", "agent_message_chunk"),
            *("tool_call", "tool_call", "agent_message_chunk"),
        ]
        assert [editor.call(c)["status"] for c in "wb"] == ["completed", "failed"]
        assert editor.said() == "see `a`done"
        await editor.prompt(session_id)
        assert editor.said() == "see `a`donewent on"


async def test_a_loaded_call_looks_as_it_did(place: Place) -> None:
    def looks(editor: Editor) -> list[Frame]:
        found = [editor.call(call_id) for call_id in "wb"]
        return [
            {name: f.get(name) for name in ("kind", "locations", "rawInput", "content")}
            for f in found
        ]

    model = place.script([WRITE, call("Bash", "b", command="echo hi")])
    async with Editor(place, "--model", model, answers=choose("allow_once")) as editor:
        session_id = await editor.open()
        await editor.prompt(session_id)
        before = looks(editor)
    async with Editor(place) as editor:
        await editor.request("initialize", **INITIAL)
        await editor.request("session/load", **where(place, session_id))
        assert looks(editor) == before
        assert before[0]["content"][0]["newText"] == "x"
        assert [editor.call(call_id)["title"] for call_id in "wb"] == [
            "`Write new.txt`",
            "`echo hi`",
        ]


async def test_a_resumed_session_shows_nothing_and_goes_on(place: Place) -> None:
    session_id = await left_session(place)
    async with Editor(place, "--model", place.script([{"text": "went on"}])) as editor:
        await editor.request("initialize", **INITIAL)
        await editor.request("session/resume", **where(place, session_id))
        await editor.prompt(session_id)
        assert editor.said() == "went on"


async def test_a_session_that_does_not_exist_is_not_loaded(place: Place) -> None:
    async with Editor(place) as editor:
        await editor.request("initialize", **INITIAL)
        with pytest.raises(RequestFailedError, match="does not start"):
            await editor.request("session/load", **where(place, "nothing"))


@pytest.mark.real
async def test_loading_an_open_session_again_takes_over_from_its_engine(place: Place) -> None:
    async with Editor(place, "--model", place.script([{"text": "hi"}])) as editor:
        session_id = await editor.open()
        await editor.prompt(session_id)
        await editor.request("session/load", **where(place, session_id))
        assert len(processes.below(editor.process.pid, recursive=False)) == 1
        assert editor.said() == "hihi"


@pytest.mark.parametrize("message", ["/continue", "go on"])
@pytest.mark.real
async def test_after_a_crash_the_next_message_continues_and_the_card_is_there_again(
    place: Place, message: str
) -> None:
    model = place.script([WRITE], [{"text": "done"}])
    async with Editor(place, "--model", model, answers=lambda _m, _p: None) as editor:
        session_id = await editor.open()
        turn = await editor.begin("session/prompt", sessionId=session_id, prompt=[])
        await editor.until(lambda: editor.asked)
        os.kill(processes.below(editor.process.pid, recursive=False)[0].pid, signal.SIGKILL)
        with pytest.raises(RequestFailedError, match="signal 9"):
            await editor.result(turn)
        editor.answers = choose("allow_once")
        await editor.prompt(session_id, {"type": "text", "text": message})
        assert "was ended by signal 9" in editor.said()
        assert "/continue" in editor.said()
        assert [card["toolCall"]["toolCallId"] for card in editor.cards()][:2] == ["w", "w"]
        assert editor.call("w")["status"] == "completed"
        await editor.answer(editor.asked[0][0], {"outcome": {"outcome": "cancelled"}})
    assert place.file("new.txt").read_text() == "x"


async def test_nothing_to_continue_is_said(place: Place) -> None:
    async with Editor(place, "--model", place.script()) as editor:
        with pytest.raises(RequestFailedError, match="no turn was interrupted"):
            await editor.prompt(await editor.open(), {"type": "text", "text": "/continue"})
