"""Questions to the person: two ways to answer, one result, and tokens that stay secret."""

import json
from collections.abc import Callable

import pytest
from talking import Conversation, call

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

OPTIONS = [{"label": "staging", "description": "s"}, {"label": "production", "description": "p"}]
ASK = call("AskUserQuestion", "q1", question="Which target?", header="Deploy", options=OPTIONS)
SUSPENDS = ("--json-stream", "--hitl-suspend")
KINDS = ["tool_request", "approval_required", "suspend"]


@pytest.mark.parametrize("mode", ["default", "read_only", "auto_edit", "force"])
async def test_a_question_asks_in_every_mode_and_its_answer_is_the_output(
    talk: Talk, mode: str
) -> None:
    async with talk([ASK], [{"echo": True}], flags=("--mode", mode)) as host:
        await host.ready()
        await host.message()
        asked = await host.hear("tool_request")
        assert asked["tool"]["category"] == "info"
        assert asked["why"]["row"] == "question"
        await host.approve("q1", answer="staging")
        result = await host.hear("tool_result")
        assert (result["status"], result["output"]) == ("success", "staging")
        assert json.loads((await host.hear("text_delta"))["text"])[0]["output"] == "staging"
        await host.hear("stream_end")


async def test_a_question_suspends_and_resumes_by_its_token(talk: Talk) -> None:
    async with talk([ASK], [], flags=SUSPENDS) as host:
        await host.ready()
        await host.message()
        suspend = await host.hear("suspend")
        required = host.of("approval_required")[0]
        assert host.kinds(*KINDS) == KINDS
        token = required["resume_token"]
        assert token == required["correlation_id"] == suspend["resume_token"]
        assert required["reason"] == "Tool requires host decision"
        assert required["context"] == "AskUserQuestion: Which target?"
        assert suspend["reason"] == "awaiting host decision"
        await host.say(
            type="approval_resume",
            resume_token=token,
            approved=True,
            modifications={"answer": "production"},
        )
        assert (await host.next()) == {
            "type": "approval_resume", "resume_token": token, "approved": True,
        }  # fmt: skip
        assert [(await host.next())["type"] for _ in range(3)] == [
            "call_settled", "tool_running", "tool_result",
        ]  # fmt: skip
        assert host.heard[-1]["output"] == "production"
        await host.hear("stream_end")


async def test_a_refused_resume_cancels(talk: Talk) -> None:
    async with talk([ASK], [], flags=SUSPENDS) as host:
        await host.ready()
        await host.message()
        token = (await host.hear("suspend"))["resume_token"]
        await host.say(type="approval_resume", resume_token=token, approved=False)
        assert [(await host.next())["type"] for _ in range(3)] == [
            "approval_resume", "call_settled", "tool_cancelled",
        ]  # fmt: skip
        await host.hear("stream_end")


async def test_whoever_answers_first_wins_and_one_echo_is_sent(talk: Talk) -> None:
    async with talk([ASK], [], flags=SUSPENDS) as host:
        await host.ready()
        await host.message()
        token = (await host.hear("suspend"))["resume_token"]
        await host.approve("q1", answer="staging")
        await host.say(type="approval_resume", resume_token=token, approved=False)
        await host.hear("stream_end")
        await host.quiet()
        assert len(host.of("approval_resume")) == 1
        assert host.of("tool_result")[0]["output"] == "staging"
        assert len(host.of("info")) == 1
        assert token not in host.of("info")[0]["message"]


@pytest.mark.parametrize("ending", ["stop", "eof", "ttl", "deny"])
async def test_every_ending_of_a_suspended_call_is_echoed_once(talk: Talk, ending: str) -> None:
    flags = ("--approval-ttl", "0.2") if ending == "ttl" else ()
    async with talk([ASK], [], flags=(*SUSPENDS, *flags)) as host:
        await host.ready()
        await host.message()
        await host.hear("suspend")
        match ending:
            case "stop":
                await host.say(type="stop")
            case "deny":
                await host.deny("q1")
            case "eof":
                await host.finish()
            case _:
                pass
        if ending != "eof":
            await host.hear("stream_end")
        (echo,) = host.of("approval_resume")
        assert echo["approved"] is False
        kinds = host.kinds("approval_resume", "call_settled", "tool_cancelled")
        assert kinds == ["approval_resume", "call_settled", "tool_cancelled"]


async def test_guessed_tokens_release_nothing_and_are_not_repeated(talk: Talk) -> None:
    async with talk([ASK, call("Bash", "c1", command="echo x > ran")], [], flags=SUSPENDS) as host:
        await host.ready()
        await host.message()
        token = (await host.hear("suspend"))["resume_token"]
        await host.hear("tool_request", call_id="c1")
        for guess in ("q1", "c1", token[:-1], token + "0", "GUESS-GUESS"):
            await host.say(type="approval_resume", resume_token=guess, approved=True)
        answers = await host.quiet()
        assert [event["type"] for event in answers] == ["info"] * 5
        assert "GUESS" not in json.dumps(answers)
        assert host.of("approval_resume") == []
        await host.say(type="stop")
        await host.hear("stream_end")
        assert not (host.workspace / "ran").exists()


@pytest.mark.parametrize("flags", [(), ("--json-stream",), ("--no-hitl-suspend",)], ids=" ".join)
async def test_without_suspend_a_question_is_a_plain_card(
    talk: Talk, flags: tuple[str, ...]
) -> None:
    async with talk([ASK], [], flags=flags) as host:
        ready = await host.ready()
        assert "hitl_suspend" not in ready["capabilities"]
        await host.message()
        await host.hear("tool_request")
        await host.approve("q1", answer="staging")
        await host.hear("stream_end")
        assert not {"approval_required", "suspend", "approval_resume"} & set(host.kinds())


async def test_a_yes_without_an_answer_invents_none(talk: Talk) -> None:
    async with talk([ASK], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        await host.approve("q1")
        assert (await host.hear("tool_result"))["status"] == "error"
        await host.hear("stream_end")


async def test_an_answer_cannot_fake_the_output_of_another_tool(talk: Talk) -> None:
    async with talk([call("Bash", "c1", command="echo real")], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        await host.approve("c1", answer="fake")
        assert (await host.hear("tool_result"))["output"] == "real\n"
        await host.hear("stream_end")


async def test_a_question_that_was_granted_still_asks(talk: Talk) -> None:
    async with talk([ASK], [ASK], []) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_request")
        await host.approve("q1", answer="a", scope="always")
        second = (await host.hear("tool_request"))["call_id"]
        await host.approve(second, answer="b")
        await host.hear("stream_end")


async def test_a_live_token_never_leaves_in_what_a_tool_prints(talk: Talk) -> None:
    wait = "until [ -e token ]; do sleep 0.02; done; t=$(cat token); n=$((${#t} / 2)); "
    show = 'echo "whole $t"; printf %s "${t:0:n}"; sleep 0.2; echo "${t:n}"; '
    edge = 'printf "x%.0s" $(seq 131050); echo "$t"; head -c 300000 /dev/zero | tr "\\0" y'
    run = call("Bash", "c1", command=wait + show + edge)
    async with talk([ASK, run], [{"echo": True}], flags=SUSPENDS) as host:
        await host.ready()
        await host.message()
        token = (await host.hear("suspend"))["resume_token"]
        await host.hear("tool_request", call_id="c1")
        await host.approve("c1")
        await host.hear("tool_running")
        (host.workspace / "token").write_text(token)
        result = await host.hear("tool_result", call_id="c1")
        streamed = "".join(event["chunk"] for event in host.of("tool_chunk"))
        for shown in (streamed, result["output"]):
            assert "[REDACTED]" in shown
            assert token[: len(token) // 2] not in shown
        await host.approve("q1", answer="staging")
        assert token[: len(token) // 2] not in (await host.hear("text_delta"))["text"]
        await host.hear("stream_end")


@pytest.mark.real
async def test_provider_keys_reach_no_child_and_no_output(talk: Talk) -> None:
    key = "sk-live-0123456789abcdef"
    run = [call("Bash", "c1", command=f"env; echo {key}; cat /proc/$PPID/environ | tr '\\0' '\\n'")]
    names = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY")
    async with talk(run, [], flags=("--force",), env=dict.fromkeys(names, key)) as host:
        await host.ready()
        await host.turn()
        result = host.of("tool_result")[0]["output"]
        inherited, _, _ = result.partition("[REDACTED]")  # what `env` printed
        assert "LC_ALL=" in inherited
        assert not [name for name in names if name in inherited]
        assert key not in json.dumps([e for e in host.heard if e["type"] != "call_announced"])
