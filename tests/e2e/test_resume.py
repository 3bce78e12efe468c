"""Sessions that outlive their engine: begun under a name, killed, resumed, continued, given up."""

import json
import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import waiting
from talking import Conversation, Event, call

from wcore.store import journal

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

NEW = ("--session-id", "s1")
AGAIN = ("--resume", "s1")
ASKS = call("Bash", "c1", command="echo x >> ran")
WRITES = call("Write", "c1", file_path="a.txt", content="new\n")
SLEEPS = call("Bash", "c1", command="echo x >> ran; sleep 60")
DONE = [{"text": "done"}]


async def refused(workspace: Path, tmp_path: Path, *flags: str) -> str:
    """Start an engine that must not start; return what it says."""
    done = await waiting.run_process(
        [sys.executable, "-m", "wcore", *flags],
        cwd=workspace,
        env={**os.environ, "HOME": str(tmp_path / "home")},
        check=False,
    )
    assert done.returncode == 1
    (event,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert event["error"]["code"] == "init_failed"
    message: str = event["error"]["message"]
    return message


async def history(host: Conversation) -> list[Event]:
    await host.say(type="get_history")
    found: list[Event] = (await host.hear("command_result"))["messages"]
    return found


async def resumed(host: Conversation, action: str = "continue") -> Event:
    await host.say(type="resume_turn", action=action, request_id="r")
    return await host.hear("command_result", request_id="r")


async def killed_while_asking(talk: Talk, *calls: object) -> None:
    """Leave a session whose last turn waits for an answer to each call."""
    async with talk(list(calls), flags=NEW) as first:
        await first.ready()
        await first.message()
        for _ in calls:
            await first.hear("tool_request")
        await first.kill()


def ran(host: Conversation) -> str:
    path = host.workspace / "ran"
    return path.read_text() if path.exists() else ""


# --- which session ----------------------------------------------------------------------------


async def test_a_session_that_goes_on_in_another_folder_says_so(talk: Talk, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with talk(DONE, flags=NEW) as host:
        await host.ready()
        await host.turn()
    async with talk(DONE, flags=(*AGAIN, "--cwd", str(other))) as host:
        await host.ready()
        assert f"was in {host.workspace} before" in (await host.hear("info"))["message"]
    async with talk(DONE, flags=AGAIN) as host:
        await host.ready()
        assert await host.quiet() == []


async def test_a_missing_session_fails_at_once_and_its_id_is_then_free(
    talk: Talk, workspace: Path, tmp_path: Path
) -> None:
    assert "'s1'" in await refused(workspace, tmp_path, *AGAIN)
    async with talk(DONE, flags=NEW) as host:
        assert (await host.ready())["session_id"] == "s1"
        await host.turn()


async def test_an_id_that_is_taken_names_resume(
    talk: Talk, workspace: Path, tmp_path: Path
) -> None:
    async with talk(DONE, flags=NEW) as host:
        await host.ready()
        await host.turn()
    assert "--resume s1" in await refused(workspace, tmp_path, *NEW)


async def test_an_engine_that_had_no_turn_leaves_no_session(talk: Talk) -> None:
    for _ in range(2):
        async with talk(DONE, flags=NEW) as host:
            await host.ready()


async def test_a_session_has_one_engine(talk: Talk, workspace: Path, tmp_path: Path) -> None:
    async with talk(DONE, DONE, flags=NEW) as host:
        await host.ready()
        await host.turn()
        assert "in use" in await refused(workspace, tmp_path, *AGAIN)
        await host.turn(msg_id="m2")


async def test_every_session_can_be_resumed_and_the_last_one_by_that_word(talk: Talk) -> None:
    async with talk(DONE) as first:
        name = (await first.ready())["session_id"]
        await first.turn("remember me")
    async with talk(DONE, flags=("--resume", "latest")) as second:
        ready = await second.ready()
        assert ready["session_id"] == name
        assert "interrupted_turn" not in ready
        assert (await history(second))[0]["text"] == "remember me"


async def test_the_conversation_comes_back_but_mode_and_session_grants_do_not(talk: Talk) -> None:
    usage = {"usage": {"input_tokens": 3, "output_tokens": 2}}
    script = ([{"text": "look"}, ASKS, usage], [{"text": "there"}, usage])
    async with talk(*script, flags=NEW) as first:
        await first.ready()
        await first.say(type="init_history", text="we are in Vienna")
        await first.say(type="set_mode", mode="read_only")
        await first.message()
        await first.approve((await first.hear("tool_request"))["call_id"], scope="always")
        await first.say(type="init_history", text="said during the turn")
        await first.hear("stream_end")
        before = await history(first)
    async with talk([ASKS], DONE, flags=AGAIN) as second:
        assert (await second.ready())["capabilities"]["current_mode"] == "default"
        assert await history(second) == before
        roles = [each["role"] for each in before]
        assert roles == ["user", "user", "assistant", "tool", "assistant", "user"]
        await second.message(msg_id="m2")
        request = await second.hear("tool_request")
        assert request["call_id"] != "c1", "an id is used once in a session"
        await second.deny(request["call_id"])
        assert (await second.hear("stream_end"))["usage"]["input_tokens"] == 6


async def test_old_sessions_are_forgotten_after_the_first_turn(talk: Talk, tmp_path: Path) -> None:
    async with talk(DONE, flags=NEW) as first:
        await first.ready()
        await first.turn()
    path = tmp_path / "home" / ".local" / "state" / "wcore" / "wcore.db"
    with sqlite3.connect(path) as database:
        database.execute("UPDATE sessions SET last_at = '2026-01-01T00:00:00.000000Z'")
    database.close()
    for keep, left in (("0", 2), ("30", 2)):  # the second engine forgets the first's, not its own
        async with talk(DONE, flags=("--keep-sessions", keep)) as host:
            await host.ready()
            await host.turn()
            with waiting.patience():
                while keep != "0" and len(sessions(path)) > left:
                    await host.quiet()
            assert len(sessions(path)) == left
    assert "s1" not in sessions(path)


def sessions(path: Path) -> list[str]:
    database = sqlite3.connect(path)
    found = [name for (name,) in database.execute("SELECT session_id FROM sessions")]
    database.close()
    return found


# --- an interrupted turn ----------------------------------------------------------------------


async def test_nothing_runs_or_asks_by_itself_after_a_resume(talk: Talk) -> None:
    await killed_while_asking(talk, ASKS)
    async with talk(DONE, flags=AGAIN) as host:
        ready = await host.ready()
        assert ready["interrupted_turn"] == {"msg_id": "m1", "pending": ["c1"], "unknown": []}
        assert await host.quiet() == []


async def test_continue_asks_again_under_the_old_ids_and_the_model_goes_on(talk: Talk) -> None:
    await killed_while_asking(talk, ASKS)
    async with talk(DONE, flags=AGAIN) as host:
        await host.ready()
        assert (await resumed(host))["ok"] is True
        await host.hear("stream_start", msg_id="m1")
        request = await host.next()
        assert (request["type"], request["call_id"]) == ("tool_request", "c1")
        assert 290 <= request["expires_in_s"] <= 300  # what is left of 300 when it is told
        assert (await resumed(host))["error"]["code"] == "busy"
        await host.approve("c1")
        await host.hear("text_delta", text="done")
        await host.hear("stream_end", msg_id="m1", finish_reason="stop")
        assert ran(host) == "x\n"
        assert (await resumed(host))["error"]["code"] == "refused"


async def test_the_next_message_reopens_the_turn_under_its_own_id(talk: Talk) -> None:
    await killed_while_asking(talk, ASKS)
    async with talk(DONE, flags=AGAIN) as host:
        await host.ready()
        await host.message("and now this", "m2")
        await host.hear("stream_start", msg_id="m2")
        assert (await host.next())["type"] == "tool_request"
        await host.deny("c1", reason="no")
        await host.hear("stream_end", msg_id="m2")
        roles = [(each["role"], each.get("text")) for each in await history(host)]
        assert roles == [
            ("user", "go"), ("assistant", None), ("tool", None), ("user", "and now this"),
            ("assistant", "done"),
        ]  # fmt: skip


async def test_cancel_gives_the_turn_up_without_events_of_its_calls(talk: Talk) -> None:
    await killed_while_asking(talk, ASKS, call("Bash", "c2", command="echo y >> ran"))
    async with talk(DONE, flags=AGAIN) as host:
        await host.ready()
        assert (await resumed(host, "cancel"))["cancelled"] == ["c1", "c2"]
        assert await host.quiet() == []
        results = [each for each in await history(host) if each["role"] == "tool"]
        assert [(each["call_id"], each["status"]) for each in results] == [
            ("c1", "error"), ("c2", "error"),
        ]  # fmt: skip
        await host.turn(msg_id="m2")
        assert ran(host) == ""
    async with talk(DONE, flags=AGAIN) as host:
        assert "interrupted_turn" not in await host.ready()


async def test_a_call_that_had_begun_is_never_run_again(talk: Talk) -> None:
    async with talk([SLEEPS], flags=NEW) as first:
        await first.ready()
        await first.message()
        await first.approve((await first.hear("tool_request"))["call_id"])
        await first.hear("tool_running")
        await waiting.until(lambda: ran(first), "the command at work")
        await first.kill()
    async with talk(DONE, flags=(*AGAIN, "--force")) as host:
        ready = await host.ready()
        assert ready["interrupted_turn"] == {"msg_id": "m1", "pending": [], "unknown": ["c1"]}
        await resumed(host)
        await host.hear("call_announced", call_id="c1")
        result = await host.next()
        assert (result["type"], result["status"]) == ("tool_result", "error")
        assert "outcome unknown" in result["output"]
        await host.hear("stream_end")
        assert ran(host) == "x\n"


async def killed_with_a_yes(talk: Talk, *calls: object, **answer: object) -> None:
    """Leave a session whose call was approved, and that is all: it had not begun."""
    async with talk(list(calls), flags=NEW, dies="after:decided:1") as first:
        await first.ready()
        await first.message()
        request = await first.hear("tool_request")
        if "args" in answer:
            answer["digest"] = request["digest"]
        await first.approve("c1", **answer)
        first.killed = True
        await first.ended()
        assert first.of("call_settled") == [], "written down first, then told"


async def test_a_recorded_yes_stands(talk: Talk) -> None:
    await killed_with_a_yes(talk, WRITES)
    async with talk(DONE, flags=AGAIN) as host:
        assert (await host.ready())["interrupted_turn"]["pending"] == ["c1"]
        await resumed(host)
        await host.hear("stream_end")
        assert host.of("tool_request") == []
        assert host.kinds("call_announced", "tool_running", "tool_result") == [
            "call_announced", "tool_running", "tool_result",
        ]  # fmt: skip
        assert (host.workspace / "a.txt").read_text() == "new\n"


async def test_a_recorded_yes_to_changed_arguments_stands_with_them(talk: Talk) -> None:
    await killed_with_a_yes(talk, WRITES, args={"file_path": "a.txt", "content": "changed\n"})
    async with talk(DONE, flags=AGAIN) as host:
        await host.ready()
        await resumed(host)
        await host.hear("stream_end")
        assert host.of("call_announced")[0]["tool"]["args"]["content"] == "changed\n"
        assert (host.workspace / "a.txt").read_text() == "changed\n"
        (result,) = [each for each in await history(host) if each["role"] == "tool"]
        assert "the user changed the arguments" in result["output"]


async def test_the_answer_to_a_question_stands(talk: Talk) -> None:
    options = [{"label": "red"}, {"label": "blue"}]
    question = call("AskUserQuestion", "c1", question="Which?", header="h", options=options)
    await killed_with_a_yes(talk, question, answer="blue")
    async with talk(DONE, flags=AGAIN) as host:
        await host.ready()
        await resumed(host)
        assert (await host.hear("tool_result"))["output"] == "blue"
        await host.hear("stream_end")


async def test_a_yes_to_something_else_is_asked_for_again(talk: Talk) -> None:
    await killed_with_a_yes(talk, WRITES, args={"file_path": "a.txt", "content": "changed\n"})
    async with talk(DONE, flags=AGAIN) as host:
        await host.ready()
        (host.workspace / "a.txt").write_text("somebody else was here\n")
        await resumed(host)
        request = await host.hear("tool_request", call_id="c1")
        assert request["tool"]["args"]["content"] == "new\n", "as the model sent it"
        await host.deny("c1")
        await host.hear("stream_end")


async def test_a_yes_that_was_given_in_another_folder_is_asked_for_again(
    talk: Talk, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    await killed_with_a_yes(talk, ASKS)
    for _ in range(2):  # the second time this folder is also where the session was last
        async with talk(DONE, flags=(*AGAIN, "--cwd", str(other))) as host:
            await host.ready()
            await resumed(host)
            await host.hear("tool_request", call_id="c1")
            await host.kill()
    assert not (other / "ran").exists()


async def test_an_old_yes_is_asked_for_again(talk: Talk) -> None:
    await killed_with_a_yes(talk, WRITES)
    async with talk(DONE, flags=(*AGAIN, "--approval-ttl", "0.001")) as host:
        await host.ready()
        await resumed(host)
        await host.hear("tool_request", call_id="c1")
        await host.hear("call_settled", outcome="expired")
        await host.hear("stream_end")


async def test_a_rule_of_today_overrules_a_yes_of_yesterday(talk: Talk, workspace: Path) -> None:
    await killed_with_a_yes(talk, WRITES)
    (workspace / ".wcore").mkdir()
    (workspace / ".wcore" / "policy.toml").write_text('deny = ["Write(*.txt)"]\n')
    async with talk(DONE, flags=AGAIN) as host:
        await host.ready()
        await resumed(host)
        assert (await host.hear("tool_cancelled"))["reason"].startswith("denied by policy")
        await host.hear("stream_end")
        assert not (workspace / "a.txt").exists()


async def test_what_was_allowed_without_a_person_is_decided_again(talk: Talk) -> None:
    async with talk([ASKS], flags=(*NEW, "--force"), dies="after:decided:1") as first:
        await first.ready()
        await first.message()
        first.killed = True
        await first.ended()
    async with talk(DONE, flags=AGAIN) as host:
        await host.ready()
        await resumed(host)
        await host.hear("tool_request", call_id="c1")
        await host.deny("c1")
        await host.hear("stream_end")
        assert ran(host) == ""


async def test_rules_that_cannot_be_read_leave_the_turn_for_later(
    talk: Talk, workspace: Path
) -> None:
    await killed_while_asking(talk, ASKS)
    async with talk(DONE, flags=AGAIN) as host:
        await host.ready()
        (workspace / ".wcore").mkdir()
        (workspace / ".wcore" / "policy.toml").write_text("no toml")
        await resumed(host)
        await host.hear("error")
        await host.hear("stream_end", finish_reason="error")
        assert (await resumed(host))["error"]["code"] == "refused"
        (workspace / ".wcore" / "policy.toml").unlink()
        await host.message("go on", "m2")
        await host.hear("tool_request", call_id="c1")
        await host.deny("c1")
        await host.hear("stream_end", msg_id="m2")


# --- a journal that fails ---------------------------------------------------------------------


def break_store(tmp_path: Path) -> None:
    """Take the journal away from a running engine."""
    database = sqlite3.connect(tmp_path / "home" / ".local" / "state" / "wcore" / "wcore.db")
    database.execute("ALTER TABLE journal RENAME TO gone")
    database.close()


async def test_what_cannot_be_written_down_does_not_run(talk: Talk, tmp_path: Path) -> None:
    async with talk([ASKS], [ASKS], DONE, flags=NEW) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        break_store(tmp_path)
        await host.approve("c1")
        assert "cannot be written" in (await host.hear("tool_result", status="error"))["output"]
        assert (await host.hear("error"))["error"]["code"] == "config_error"
        await host.hear("stream_end", finish_reason="error")
        await host.message(msg_id="m2")
        await host.hear("error")
        await host.hear("stream_end", finish_reason="error")
        assert ran(host) == ""


@pytest.mark.parametrize(
    ("kind", "mode"),
    [("asked", "default"), ("decided", "default"), ("decided", "force"), ("started", "force")],
)
async def test_one_write_that_fails_stops_its_call_and_the_turn_and_nothing_else(
    talk: Talk, kind: str, mode: str
) -> None:
    flags = (*NEW, "--mode", mode)
    async with talk([ASKS], DONE, flags=flags, dies=f"fail:{kind}:1") as host:
        await host.ready()
        await host.message()
        while (event := await host.next())["type"] not in ("tool_result", "tool_cancelled"):
            if event["type"] == "tool_request":
                await host.approve("c1")
        assert "cannot be written" in (event.get("output") or event["reason"])
        assert "is full" in (await host.hear("error"))["error"]["message"]
        await host.hear("stream_end", finish_reason="error")
        assert host.of("tool_running") == []
        assert ran(host) == ""
        await host.turn(msg_id="m2")
    async with talk(DONE, flags=AGAIN) as host:
        assert "interrupted_turn" not in await host.ready()
        roles = [each["role"] for each in await history(host)]
        assert roles == ["user", "assistant", "tool", "user", "assistant"]


async def test_a_result_that_cannot_be_written_is_told_and_written_later(talk: Talk) -> None:
    async with talk([ASKS], DONE, flags=(*NEW, "--force"), dies="fail:ended:1") as host:
        await host.ready()
        await host.message()
        assert (await host.hear("tool_result"))["status"] == "success"
        await host.hear("error")
        await host.hear("stream_end", finish_reason="error")
    async with talk(DONE, flags=AGAIN) as host:
        assert "interrupted_turn" not in await host.ready()
        (result,) = [each for each in await history(host) if each["role"] == "tool"]
        assert result["status"] == "success"


async def test_an_engine_whose_session_was_taken_over_ends_and_runs_nothing(
    talk: Talk, tmp_path: Path
) -> None:
    async with talk([ASKS], flags=NEW) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        path = tmp_path / "home" / ".local" / "state" / "wcore" / "wcore.db"
        with sqlite3.connect(path) as database:
            database.execute("UPDATE sessions SET lease_owner = 'another'")
        database.close()
        await host.approve("c1")
        assert "taken over" in (await host.hear("error"))["error"]["message"]
        assert await host.ended() == 1
        assert ran(host) == ""


@pytest.mark.parametrize("is_alive", [True, False])
async def test_no_secret_is_written_down(talk: Talk, tmp_path: Path, is_alive: bool) -> None:
    """Of a token neither while it is alive nor in the rest of its turn."""
    key = "sk-0123456789abcdef0123456789"
    options = [{"label": "a"}]
    question = call("AskUserQuestion", "q", question=key, header="h", options=options)
    asks = call("Bash", "c1", command=f"echo {key}")
    env = {"OPENAI_API_KEY": key}
    async with talk(
        [{"text": key}, question, asks], DONE, flags=(*NEW, "--hitl-suspend"), env=env
    ) as host:
        await host.ready()
        await host.message(key)
        token = (await host.hear("suspend"))["resume_token"]
        await host.hear("tool_request", call_id="c1")
        if is_alive:
            await host.deny("c1", reason=f"{key} {token}")
        await host.say(type="approval_resume", resume_token=token, approved=True)
        if not is_alive:
            await host.hear("tool_result", call_id="q")
            await host.deny("c1", reason=f"{key} {token}")
        await host.hear("stream_end")
    files = (tmp_path / "home" / ".local" / "state" / "wcore").iterdir()
    stored = b"".join(path.read_bytes() for path in files)
    assert b"[REDACTED]" in stored
    assert key.encode() not in stored
    assert token.encode() not in stored


async def test_context_given_at_once_stands_behind_the_stored_conversation(
    talk: Talk, tmp_path: Path
) -> None:
    async with talk([{"text": "first"}], flags=NEW) as first:
        await first.ready()
        await first.turn()
    async with talk([{"text": "second"}], flags=AGAIN) as second:
        await second.say(type="init_history", text="by the way")  # before `ready` is even read
        await second.ready()
        await second.turn(msg_id="m2")
        found = [each["msg_id"] for each in await history(second)]
    assert found == ["m1", "m1", "", "m2", "m2"]


async def test_a_record_that_makes_no_sense_ends_the_engine_with_its_number(
    talk: Talk, workspace: Path, tmp_path: Path
) -> None:
    async with talk([{"text": "first"}], flags=NEW) as first:
        await first.ready()
        await first.turn()
    with sqlite3.connect(_store(tmp_path)) as database:
        select = "SELECT seq FROM journal WHERE kind = 'replied'"
        ((seq,),) = database.execute(select).fetchall()
        body = journal.with_sum(seq, "replied", '{"text":1}')  # undamaged, and nonsense
        database.execute("UPDATE journal SET body = ? WHERE seq = ?", (body, seq))
    async with talk([{"text": "second"}], flags=AGAIN) as second:
        await second.ready()
        await second.say(type="get_history")
        told = await second.hear("error")
        assert await second.ended() == 1
    assert told["error"]["code"] == "init_failed"
    assert f"record {seq} of the session's journal" in told["error"]["message"]


async def test_a_yes_that_is_in_no_audit_is_asked_again(talk: Talk, tmp_path: Path) -> None:
    async with talk([ASKS], flags=NEW, dies="after:decided:1") as first:
        await first.ready()
        await first.message()
        await first.hear("tool_request")
        await first.approve("c1")
        first.killed = True
        await first.ended()
    with sqlite3.connect(_store(tmp_path)) as database:
        database.execute("DROP TRIGGER audit_is_never_deleted")
        assert database.execute("DELETE FROM agent_tool_approval_audit").rowcount == 1
    async with talk(DONE, flags=AGAIN) as second:
        await _asked_again(second)


async def test_a_yes_that_somebody_wrote_into_the_journal_is_asked_again(
    talk: Talk, tmp_path: Path
) -> None:
    await killed_while_asking(talk, ASKS)
    with sqlite3.connect(_store(tmp_path)) as database:
        select = "SELECT session_key, max(seq) + 1, max(at) FROM journal"
        ((key, seq, at),) = database.execute(select).fetchall()
        select = "SELECT body FROM journal WHERE kind = 'asked'"
        ((asked,),) = database.execute(select).fetchall()
        yes = {"call_id": "c1", "tool": "Bash", "decision": "approved", "source": "user"}
        text = json.dumps({**yes, "digest": json.loads(asked)["digest"]})
        body = journal.with_sum(seq, "decided", text)
        row = (key, seq, "decided", at, body)
        database.execute("INSERT INTO journal VALUES (?, ?, ?, ?, ?)", row)
    async with talk(DONE, flags=AGAIN) as second:
        await _asked_again(second)


async def _asked_again(host: Conversation) -> None:
    assert (await host.ready())["interrupted_turn"]["pending"] == ["c1"]
    await host.say(type="resume_turn", action="continue")
    await host.hear("tool_request", call_id="c1")
    await host.deny("c1")
    await host.hear("stream_end")
    assert not (host.workspace / "ran").exists()


def _store(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".local" / "state" / "wcore" / "wcore.db"


async def test_an_audit_that_cannot_be_written_holds_no_yes_up(
    talk: Talk, workspace: Path, tmp_path: Path
) -> None:
    async with talk([{"text": "first"}], flags=NEW) as first:
        await first.ready()
        await first.turn()
    with sqlite3.connect(_store(tmp_path)) as database:
        database.execute("ALTER TABLE agent_tool_approval_audit RENAME TO elsewhere")
    async with talk([ASKS], DONE, flags=AGAIN) as second:
        await second.ready()
        await second.message(msg_id="m2")
        await second.hear("tool_request")
        await second.approve("c1")
        assert (await second.hear("tool_result"))["status"] == "success"
        await second.hear("stream_end")
    assert (workspace / "ran").read_text() == "x\n"
