"""Sessions in an editor: how they begin, change their mode, are cancelled and end."""

import base64
import json
import os
import shlex
import signal
from dataclasses import replace

import processes
import psutil
import pytest
import waiting
from hosts.acp.editor import BRIDGE, Editor, Frame, RequestFailedError, choose
from hosts.places import FAKE_ENGINE, PYTHON, Place
from talking import call
from wcore_host.acp.prompts import mention

pytestmark = pytest.mark.anyio

WRITE = call("Write", "w", file_path="new.txt", content="x")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def engines(editor: Editor) -> list[psutil.Process]:
    return processes.below(editor.process.pid, recursive=False)


@pytest.mark.real
async def test_the_handshake_says_what_the_bridge_can(place: Place) -> None:
    async with Editor(place) as editor:
        hello = await editor.request("initialize", protocolVersion=1, clientCapabilities={})
        assert hello["protocolVersion"] == 1
        assert hello["agentInfo"]["name"] == "wcore"
        able = hello["agentCapabilities"]
        assert able["loadSession"] is True
        assert able["promptCapabilities"]["image"] is True
        assert not engines(editor), "an engine starts with a session, not before"


async def test_sessions_begin_read_only_and_say_so(place: Place) -> None:
    model = place.script([call("Read", "r", file_path="a.txt"), WRITE])
    place.file("a.txt").write_text("words")
    async with Editor(place, "--model", model) as editor:
        await editor.request("initialize", protocolVersion=1, clientCapabilities={})
        opened = await editor.request("session/new", cwd=str(place.workspace), mcpServers=[])
        assert opened["modes"]["currentModeId"] == "read_only"
        await editor.prompt(opened["sessionId"])
        assert [card["toolCall"]["toolCallId"] for card in editor.cards()] == ["w"]
        assert "words" in str(editor.call("r")["content"])


async def test_a_mode_of_the_command_line_is_kept(place: Place) -> None:
    async with Editor(place, "--mode", "default", "--max-mode", "auto_edit") as editor:
        await editor.request("initialize", protocolVersion=1, clientCapabilities={})
        opened = await editor.request("session/new", cwd=str(place.workspace), mcpServers=[])
        assert opened["modes"]["currentModeId"] == "default"
        assert [m["id"] for m in opened["modes"]["availableModes"]][-1] == "auto_edit"


@pytest.mark.parametrize(("option", "asked"), [("raise", 0), ("keep", 1)])
async def test_a_raise_takes_a_second_yes(place: Place, option: str, asked: int) -> None:
    model = place.script([WRITE])

    def answer(_method: str, params: Frame) -> Frame:
        is_mode = params["toolCall"]["kind"] == "switch_mode"
        chosen = option if is_mode else "reject_once"
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    async with Editor(place, "--model", model, answers=answer) as editor:
        session_id = await editor.open()
        change = {"sessionId": session_id, "modeId": "auto_edit"}
        if option == "keep":
            with pytest.raises(RequestFailedError, match="stays read_only"):
                await editor.request("session/set_mode", **change)
        else:
            await editor.request("session/set_mode", **change)
        await editor.prompt(session_id)
        assert len(editor.cards()) == 1 + asked
        await editor.request("session/set_mode", sessionId=session_id, modeId="default")
        assert len(editor.cards()) == 1 + asked, "lowering needs no yes"
        with pytest.raises(RequestFailedError):
            await editor.request("session/set_mode", sessionId=session_id, modeId="nonsense")
    assert place.file("new.txt").exists() == (option == "raise")


async def test_cancel_takes_the_card_away_and_the_session_lives_on(place: Place) -> None:
    model = place.script([WRITE], [{"text": "again"}])
    async with Editor(place, "--model", model, answers=lambda _m, _p: None) as editor:
        session_id = await editor.open()
        turn = await editor.begin("session/prompt", sessionId=session_id, prompt=[])
        await editor.until(lambda: editor.asked)
        await editor.notify("session/cancel", sessionId=session_id)
        await editor.answer(editor.asked[0][0], {"outcome": {"outcome": "cancelled"}})
        assert (await editor.result(turn))["stopReason"] == "cancelled"
        assert editor.call("w")["status"] == "failed"
        assert (await editor.prompt(session_id))["stopReason"] == "end_turn"
        assert editor.said() == "again"
    assert not place.file("new.txt").exists()


async def test_a_question_that_is_taken_back_at_once_ends_nothing_else(place: Place) -> None:
    engine = shlex.join((*PYTHON, str(FAKE_ENGINE), "hasty"))
    async with Editor(place, "--engine", engine, answers=lambda _m, _p: None) as editor:
        end = await editor.prompt(await editor.open())
        assert (end["stopReason"], editor.said()) == ("end_turn", "done")
        assert editor.call("c1")["status"] == "failed"


@pytest.mark.parametrize("method", ["session/cancel", "$/cancel_request"])
async def test_cancel_kills_what_runs(
    place: Place, method: str, capfd: pytest.CaptureFixture[str]
) -> None:
    model = place.script([call("Bash", "b", command="echo $$; exec sleep 600")])
    async with Editor(place, "--model", model, answers=choose("allow_once")) as editor:
        session_id = await editor.open()
        turn = await editor.begin("session/prompt", sessionId=session_id, prompt=[])
        shown = await editor.until(lambda: editor.call("b").get("content", [])[1:])
        pid = int(shown[0]["content"]["text"].split("\n")[1])
        by = {"sessionId": session_id} if method == "session/cancel" else {"requestId": turn}
        await editor.notify(method, **by)
        assert (await editor.result(turn))["stopReason"] == "cancelled"
        assert not psutil.pid_exists(pid)
    assert not capfd.readouterr().err


async def test_cancelling_anything_but_a_running_prompt_changes_nothing(place: Place) -> None:
    model = place.script([{"text": "one"}], [WRITE], [{"text": "two"}])
    async with Editor(place, "--model", model, answers=lambda _m, _p: None) as editor:
        session_id = await editor.open()
        over = await editor.begin("session/prompt", sessionId=session_id, prompt=[])
        assert (await editor.result(over))["stopReason"] == "end_turn"
        turn = await editor.begin("session/prompt", sessionId=session_id, prompt=[])
        await editor.until(lambda: editor.asked)
        card = editor.asked[0][0]
        for number in (over, turn + 1, str(turn), None):
            await editor.notify("$/cancel_request", requestId=number)
        opening = await editor.begin("session/list")
        await editor.notify("$/cancel_request", requestId=opening)
        await editor.result(opening)
        await editor.answer(card, {"outcome": {"outcome": "selected", "optionId": "reject_once"}})
        assert (await editor.result(turn))["stopReason"] == "end_turn"
        assert editor.said() == "onetwo"


@pytest.mark.real
async def test_each_session_has_an_engine_and_closing_ends_it(place: Place) -> None:
    async with Editor(place) as editor:
        first, second = await editor.open(), await editor.session()
        assert first != second
        assert len(engines(editor)) == 2
        await editor.request("session/close", sessionId=first)
        assert len(engines(editor)) == 1
        with pytest.raises(RequestFailedError, match="no open session"):
            await editor.prompt(first)
        left = engines(editor)
    assert not [child for child in left if child.is_running()]


@pytest.mark.parametrize("end", ["eof", signal.SIGTERM, signal.SIGKILL])
@pytest.mark.real
async def test_no_engine_outlives_its_editor(place: Place, end: str | signal.Signals) -> None:
    model = place.script([call("Bash", "b", command="exec sleep 600")])
    async with Editor(place, "--model", model, answers=choose("allow_once")) as editor:
        await editor.begin("session/prompt", sessionId=await editor.open(), prompt=[])
        await editor.until(lambda: editor.call("b").get("status") == "in_progress")
        children = processes.below(editor.process.pid)
        if end == "eof":
            assert await editor.leave() == 0
        else:
            editor.process.send_signal(signal.Signals(end))
            with editor.patience("the end of the bridge"):
                editor.exit_code = await editor.process.wait()
        if end == signal.SIGTERM:
            assert editor.exit_code == 128 + signal.SIGTERM
        if end == signal.SIGKILL:  # the engine sees the end of its input, its turn goes on
            for child in children[1:]:
                processes.kill(child.pid)
        await gone(children)


async def gone(left: list[psutil.Process]) -> None:
    for process in left:
        await waiting.gone(process.pid)


@pytest.mark.real
async def test_an_engine_that_dies_is_said_plainly(place: Place) -> None:
    model = place.script([WRITE])
    async with Editor(place, "--model", model, answers=lambda _m, _p: None) as editor:
        turn = await editor.begin("session/prompt", sessionId=await editor.open(), prompt=[])
        await editor.until(lambda: editor.asked)
        os.kill(engines(editor)[0].pid, signal.SIGKILL)
        with pytest.raises(RequestFailedError, match="was ended by signal 9") as failed:
            await editor.result(turn)
        assert "The next message continues" in str(failed.value)


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--store", "mysql://x"), "start: .*mysql"),
        (("--frobnicate",), "unrecognized arguments: --frobnicate .*those of wcore-acp in the edi"),
        (("--engine", "/no/such/engine"), "start: program not found: /no/such/engine$"),
        (("--engine", "echo Welcome"), "exited with code 0; its first words were 'Welcome'"),
    ],
)
async def test_an_engine_that_does_not_start_says_why(
    place: Place, flags: tuple[str, ...], told: str
) -> None:
    async with Editor(place, *flags) as editor:
        await editor.request("initialize", protocolVersion=1, clientCapabilities={})
        with pytest.raises(RequestFailedError, match=told) as failed:
            await editor.session()
        assert str(failed.value).startswith("wcore does not start: ")


async def test_a_folder_that_cannot_be_worked_in_is_named(place: Place) -> None:
    async with Editor(place) as editor:
        await editor.request("initialize", protocolVersion=1, clientCapabilities={})
        with pytest.raises(RequestFailedError, match="the folder /no/where: No such file"):
            await editor.session(cwd="/no/where")
        with pytest.raises(RequestFailedError):
            await editor.session(cwd="relative")


async def test_a_failed_turn_is_an_error_with_the_engine_s_words(place: Place) -> None:
    model = place.script([{"error": {"code": "provider_error", "message": "overloaded"}}])
    async with Editor(place, "--model", model) as editor:
        with pytest.raises(RequestFailedError, match="overloaded") as failed:
            await editor.prompt(await editor.open())
        assert failed.value.error["data"]["wcore"]["code"] == "provider_error"


async def test_text_files_and_pictures_reach_the_model(place: Place) -> None:
    note = {"uri": "file:///a%20b.md", "text": "embedded\n```"}
    image = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(PNG).decode()}
    blocks: list[Frame] = [
        {"type": "text", "text": "look at"},
        {"type": "resource_link", "name": "c.py", "uri": "file:///src/c.py"},
        {"type": "resource_link", "name": "d (2:5)", "uri": "file:///d?symbol=F%20x#L2:5"},
        {"type": "text", "text": "now"},
        {"type": "resource", "resource": note},
        image,
        {"type": "image", "mimeType": "image/tiff", "data": ""},
    ]
    meant = "look at /src/c.py /d (d (2:5), symbol F x, lines 2 to 5) now\n"
    wanted = [meant, "/a b.md:\n````\nembedded", "picture-1.png", "image/tiff"]
    path = place.workspace.parent / "expecting.jsonl"
    path.write_text(json.dumps({"expect": wanted, "say": [{"text": "seen"}]}))
    env = {**place.env, "TMPDIR": str(place.workspace.parent)}
    async with Editor(replace(place, env=env), "--model", f"script:{path}") as editor:
        await editor.prompt(await editor.open(), *blocks)
        assert editor.said() == "seen"
        assert [p.name for p in place.workspace.parent.glob("wcore-acp-*/*")] == ["picture-1.png"]
    assert not list(place.workspace.parent.glob("wcore-acp-*")), "forgotten with the session"


@pytest.mark.parametrize(
    ("uri", "name", "words"),
    [
        ("file:///a%20b%23.py", "a b#.py", "/a b#.py"),
        ("file:///a.py#L7", "a.py", "/a.py (lines 7 to 7)"),
        ("file:///a.py#L7-L9", "a.py", "/a.py (lines 7 to 9)"),
        ("file:///a.py?symbol=A::b%2Bc", "A::b+c", "/a.py (symbol A::b+c)"),
        ("file:///a.py#top", "", "/a.py"),
        ("zed:///agent/thread/1", "Fix it", "zed:///agent/thread/1 (Fix it)"),
        ("https://x.example/p#L2", "p", "https://x.example/p#L2"),
        ("file://[", "a", "file://["),
    ],
)
def test_a_mention_says_in_words_what_of_it_is_meant(uri: str, name: str, words: str) -> None:
    assert mention(uri, name) == words


async def test_slash_commands_are_announced(place: Place) -> None:
    async with Editor(place) as editor:
        session_id = await editor.open()
        told = await editor.until(lambda: editor.updates("available_commands_update"))
        assert "grants" in [c["name"] for c in told[0]["availableCommands"]]
        await editor.prompt(session_id, {"type": "text", "text": "/revoke nothing"})
        assert "no grant of that id" in editor.said()


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--resume=x",), "--resume is chosen by the editor for each session"),
        (("--engine",), "--engine: expected one argument"),
    ],
)
async def test_a_command_line_that_makes_no_sense_is_explained_in_the_editor(
    place: Place, flags: tuple[str, ...], told: str
) -> None:
    async with Editor(place, *flags) as editor:
        with pytest.raises(RequestFailedError, match=f"^wcore-acp: .*{told}"):
            await editor.request("initialize", protocolVersion=1, clientCapabilities={})
        with editor.patience("the end of the bridge"):
            editor.exit_code = await editor.process.wait()
        assert editor.exit_code == 2


@pytest.mark.parametrize("said", [b"", b"nonsense\n", b"[]\n", b"{}\n"])
async def test_nobody_who_does_not_ask_is_kept_waiting(place: Place, said: bytes) -> None:
    done = await waiting.run_process([*BRIDGE, "--cwd", "x"], input=said, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"--cwd is chosen by the editor" in done.stderr


async def test_without_the_sdk_the_editor_is_told_what_to_install(place: Place) -> None:
    place.file("acp.py").write_text('raise ModuleNotFoundError("no acp", name="acp")')
    path = {**place.env, "PYTHONPATH": str(place.workspace)}
    async with Editor(replace(place, env=path)) as editor:
        with pytest.raises(RequestFailedError, match=r"pip install 'wcore\[acp\]'"):
            await editor.request("initialize", protocolVersion=1, clientCapabilities={})
        editor.exit_code = await editor.process.wait()
