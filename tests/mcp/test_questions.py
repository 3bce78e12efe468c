"""What servers ask for while a call runs: a person's answer, our model's reply, the workspace."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rogue_servers import approved, asked, connect, ended, tool
from talking import Conversation, Event

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio


async def card(host: Conversation, name: str = "ask") -> Event:
    """Have the server's tool run until it asks; return the card of its question."""
    await host.ready()
    await connect(host)
    await host.message()
    await asked(host, "c")
    await host.approve("c")
    return await host.hear("tool_request")


async def test_a_question_is_a_card_of_its_own_and_its_answer_goes_to_the_server_only(
    talk: Talk,
) -> None:
    async with talk([tool("ask")], [], flags=("--hitl-suspend",)) as host:
        request = await card(host)
        assert request["call_id"] != "c"
        assert request["tool"]["name"] == "AskUserQuestion"
        args = request["tool"]["args"]
        assert args == {
            "question": "Which⟨U+202E⟩ colour?",
            "header": "r asks",
            "options": [],
            "server": "r",
            "schema": {
                "type": "object",
                "properties": {"colour": {"type": "string"}},
                "required": ["colour"],
            },
        }
        token = (await host.hear("suspend"))["resume_token"]
        await host.approve(request["call_id"], answer='{"colour": "teal"}')
        assert (await host.hear("approval_resume"))["resume_token"] == token
        own = await ended(host, request["call_id"])
        assert (own["status"], own["output"]) == ("success", "the answer goes to r only")
        result = await ended(host, "c")
        assert json.loads(result["output"]) == {"action": "accept", "content": {"colour": "teal"}}
        await host.hear("stream_end")
        await host.say(type="get_history")
        messages = (await host.hear("command_result"))["messages"]
        assert [m["call_id"] for m in messages if m["role"] == "tool"] == ["c"]


@pytest.mark.parametrize("answer", ["teal", "[]", '{"colour": 3}', "{}", '{"colour":"a","b":1}'])
async def test_an_answer_that_does_not_fit_the_form_is_none(talk: Talk, answer: str) -> None:
    async with talk([tool("ask")], []) as host:
        request = await card(host)
        await host.approve(request["call_id"], answer=answer)
        own = await ended(host, request["call_id"])
        assert own["status"] == "error"
        assert json.loads((await ended(host, "c"))["output"]) == {"action": "decline"}
        await host.hear("stream_end")


async def test_a_question_can_be_refused_also_in_mode_force(talk: Talk) -> None:
    async with talk([tool("ask")], [], flags=("--force",)) as host:
        await host.ready()
        await connect(host)
        await host.message()
        request = await host.hear("tool_request")
        await host.deny(request["call_id"])
        assert json.loads((await ended(host, "c"))["output"]) == {"action": "decline"}
        await host.hear("stream_end")


async def test_a_form_that_no_protocol_allows_takes_no_answer(talk: Talk) -> None:
    async with talk([tool("ask_badly")], []) as host:
        request = await card(host, "ask_badly")
        await host.approve(request["call_id"], answer='{"a": {}}')
        assert (await ended(host, request["call_id"]))["status"] == "error"
        await host.hear("stream_end")


async def test_a_question_of_a_call_that_is_over_is_withdrawn(talk: Talk) -> None:
    async with talk([tool("leave_open")], []) as host:
        request = await card(host, "leave_open")
        assert request["tool"]["args"]["options"] == [
            {"label": '{"a": true}'},
            {"label": '{"a": false}'},
        ]
        own = await ended(host, request["call_id"])
        assert (own["type"], own["reason"]) == (
            "tool_cancelled",
            "withdrawn: the call that asked is over",
        )
        assert (await ended(host, "c"))["output"] == "gone on without an answer"
        await host.hear("stream_end")
        await host.approve(request["call_id"], answer="{}")
        assert "no call is waiting" in (await host.hear("info"))["message"]


async def test_an_answer_that_comes_after_its_question_was_withdrawn_is_kept_nowhere(
    talk: Talk, tmp_path: Path
) -> None:
    async with talk([tool("leave_open")], [], flags=("--hitl-suspend",)) as host:
        request = await card(host, "leave_open")
        token = (await host.hear("suspend"))["resume_token"]
        await ended(host, request["call_id"])
        secret = json.dumps({"a": "hunter2"})
        await host.approve(request["call_id"], answer=secret)
        answer = {"answer": secret}
        await host.say(
            type="approval_resume", resume_token=token, approved=True, modifications=answer
        )
        await host.hear("stream_end")
    kept = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if b"hunter2" in path.read_bytes()]


async def test_stop_takes_every_question_along_and_few_are_open_at_once(talk: Talk) -> None:
    async with talk([tool("flood_questions")], []) as host:
        await card(host, "flood_questions")
        await host.quiet()
        await host.say(type="stop")
        await host.hear("stream_end")
        questions = [e for e in host.of("tool_request") if e["call_id"] != "c"]
        assert 1 <= len(questions) <= 4


async def test_an_address_to_visit_is_shown_and_there_is_nothing_to_fill_in(talk: Talk) -> None:
    async with talk([tool("ask_url")], []) as host:
        request = await card(host, "ask_url")
        args = request["tool"]["args"]
        assert args["question"] == "visit\nhttps://example.com/x"
        assert "schema" not in args
        await host.approve(request["call_id"], answer=args["options"][0]["label"])
        await ended(host, "c")
        await host.hear("stream_end")


async def test_a_call_that_asks_for_ever_is_not_heard_for_ever(talk: Talk) -> None:
    async with talk([tool("nag")], [], flags=("--force", "--prompts", "none")) as host:
        await host.ready()
        await connect(host)
        await host.message()
        assert (await ended(host, "c"))["output"] == "100 answers"
        await host.hear("stream_end")
        assert len(host.of("call_announced")) == 1 + 32


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://bank.example@evil.example/",
        "https://ex\u0430mple.com/",
        "//e",
    ],
)
async def test_an_address_that_is_not_what_it_seems_is_not_shown(talk: Talk, url: str) -> None:
    async with talk([tool("ask_url", url=url)], []) as host:
        await host.ready()
        await connect(host)
        await host.message()
        assert json.loads((await approved(host, "c"))["output"]) == {"action": "decline"}
        await host.hear("stream_end")
        assert len(host.of("tool_request")) == 1


async def test_our_model_is_not_lent_to_servers(talk: Talk) -> None:
    async with talk([tool("sample")], [{"text": "done"}]) as host:
        await host.ready()
        await connect(host)
        await host.message()
        assert "Sampling not supported" in (await approved(host, "c"))["output"]
        await host.hear("stream_end")
        assert len(host.of("tool_request")) == 1


async def test_the_root_is_the_workspace(talk: Talk, workspace: Path) -> None:
    async with talk([tool("roots")], []) as host:
        await host.ready()
        await connect(host)
        await host.message()
        (root,) = json.loads((await approved(host, "c"))["output"])["roots"]
        assert root["uri"] == workspace.as_uri()
        await host.hear("stream_end")


async def test_a_question_in_the_work_of_a_sub_agent_is_top_level_and_names_the_agent(
    talk: Talk,
) -> None:
    spawn = {"call": {"name": "Spawn", "id": "s", "args": {"task": "ask"}}}
    async with talk([spawn], [tool("ask")], [{"text": "done"}], [{"text": "end"}]) as host:
        await host.ready()
        await connect(host)
        await host.message()
        await asked(host, "s")
        await host.approve("s")
        await asked(host, "c")
        await host.approve("c")
        card = await host.hear("tool_request")
        assert (card["tool"]["name"], card["agent"], card["msg_id"]) == (
            "AskUserQuestion",
            ["general"],
            "m1",
        )
        await host.approve(card["call_id"], answer='{"colour": "red"}')
        assert "red" in (await ended(host, "c"))["output"]
        await host.hear("stream_end")
