"""What a provider can do wrong, and that the session survives all of it."""

import re

import anyio
import pytest
import waiting
from models.conftest import Engine
from models.dialects import CHAT, Dialect, Reply, say
from models.serving import Hangup, Provider, Streamed, Whole

from wcore.models.compaction import INSTRUCTION
from wcore.models.conversation import SUMMING_UP
from wcore.vocabulary import Usage

pytestmark = pytest.mark.anyio

OK = Reply(text=("fine",))
AT_ONCE = {"retry-after": "0"}


async def failed(
    engine: Engine, dialect: Dialect, *flags: str, closed: anyio.Event | None = None
) -> dict[str, object]:
    """Hold a turn that fails and one that works; return the error of the first.

    `closed` is waited for between them: that the provider sees the end of the connection.
    """
    async with engine(dialect, *flags) as host:
        await host.ready()
        turn = await host.turn()
        assert turn[-1]["finish_reason"] == "error"
        (error,) = [event for event in turn if event["type"] == "error"]
        assert "msg_id" not in error
        if closed is not None:
            with waiting.patience("the end of the connection"):
                await closed.wait()
        after = await host.turn(msg_id="m2")
        assert after[-1]["finish_reason"] == "stop"
        assert [e["text"] for e in after if e["type"] == "text_delta"] == ["fine"]
    return error["error"]


REFUSALS = (
    (401, {"error": {"message": "bad key sk-test-0123456789abcdef"}}, "auth_invalid"),
    (403, {"error": {"message": "the key is not for this"}}, "auth_invalid"),
    (403, {"error": {"message": "the organization must be verified"}}, "provider_error"),
    (400, {"error": {"message": "unknown field `x`"}}, "provider_error"),
    (404, b"<html>not here</html>", "provider_error"),
    (302, b"", "provider_error"),
    (429, {"error": {"code": "insufficient_quota", "message": "pay"}}, "provider_error"),
)


async def test_a_refusal_is_told_once_and_not_tried_again(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    async with engine(dialect) as host:
        await host.ready()
        for number, (status, body, code) in enumerate(REFUSALS):
            provider.will_say(Whole(status, body), say(dialect, OK))
            turn = await host.turn(msg_id=f"m{number}")
            assert turn[-1]["finish_reason"] == "error"
            (error,) = [event["error"] for event in turn if event["type"] == "error"]
            assert (error["code"], error["retryable"]) == (code, False)
            assert "sk-test" not in str(error)
            words = body.get("error", {}).get("message", "") if isinstance(body, dict) else ""
            assert words.partition("sk-test")[0] in error["message"], "its reason is told"
            after = await host.turn(msg_id=f"after-{number}")
            assert after[-1]["finish_reason"] == "stop"
    assert len(provider.asked) == 2 * len(REFUSALS)


LARGE = "Request too large for m on tokens per min (TPM): Limit 30000, Requested 50000."
TOO_LONG = pytest.mark.parametrize(
    "refusal",
    [
        Whole(400, {"error": {"message": "prompt is too long: 210000 tokens > 200000"}}),
        Whole(400, {"error": {"code": "context_length_exceeded", "message": "too long"}}),
        Whole(429, {"error": {"code": "rate_limit_exceeded", "message": LARGE}}, AT_ONCE),
    ],
    ids=["words", "code", "more than a minute has"],
)


@TOO_LONG
async def test_a_message_too_long_for_the_window_says_so(
    engine: Engine, provider: Provider, dialect: Dialect, refusal: Whole
) -> None:
    provider.will_say(refusal, say(dialect, OK))
    error = await failed(engine, dialect)
    assert (error["code"], error["retryable"]) == ("context_overflow", False)


@TOO_LONG
async def test_a_conversation_too_long_for_the_window_is_cut_and_goes_on(
    engine: Engine, provider: Provider, dialect: Dialect, refusal: Whole
) -> None:
    provider.will_say(say(dialect, OK), refusal, say(dialect, OK))
    async with engine(dialect, "--system-prompt", "x") as host:
        await host.ready()
        await host.turn("old " * 4000, "m1")
        turn = await host.turn("new", "m2")
    assert turn[-1]["finish_reason"] == "stop"
    infos = [event["message"] for event in turn if event["type"] == "info"]
    assert "too long; trying a shorter one" in infos[0]
    assert "its oldest parts stay out" in infos[1]
    assert dialect.texts(provider.asked[2]) == [("user", "new")]


async def test_a_passing_failure_is_tried_again_and_said(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    async with engine(dialect) as host:
        await host.ready()
        for status in (429, 500, 503, 529):
            busy = Whole(status, {"error": {"message": "busy"}}, AT_ONCE)
            provider.will_say(busy, busy, say(dialect, OK))
            turn = await host.turn(msg_id=f"m{status}")
            infos = [event for event in turn if event["type"] == "info"]
            assert [event["msg_id"] for event in infos] == [f"m{status}"] * 2
            said = f"HTTP {status}: busy; trying again (attempt 2 of 4)"
            assert said in infos[0]["message"]
            assert turn[-1]["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({}, r"in 0\.\d+ s \("),
        ({"retry-after-ms": "20"}, r"in 0\.02 s \("),
        (AT_ONCE, r"again \("),
    ],
    ids=["ours", "theirs", "at once"],
)
async def test_who_waits_before_another_attempt_says_how_long(
    engine: Engine, provider: Provider, dialect: Dialect, headers: dict[str, str], said: str
) -> None:
    async with engine(dialect) as host:
        await host.ready()
        provider.will_say(Whole(503, {}, headers), say(dialect, OK))
        (info,) = [event for event in await host.turn() if event["type"] == "info"]
    assert re.search(rf"trying .*{said}attempt 2 of 4\)$", info["message"])


async def test_after_the_last_attempt_the_error_is_told(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    provider.will_say(*[Whole(500, {"error": {"message": "broken"}}, AT_ONCE)] * 4)
    provider.will_say(say(dialect, OK))
    error = await failed(engine, dialect)
    assert (error["code"], error["retryable"]) == ("provider_error", True)
    assert "HTTP 500: broken" in str(error["message"])
    assert len(provider.asked) == 5


async def test_a_provider_that_wants_a_long_wait_is_not_waited_for(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    provider.will_say(Whole(429, {}, {"retry-after": "3600"}), say(dialect, OK))
    error = await failed(engine, dialect)
    assert error["retryable"] is True
    assert str(error["message"]).endswith("; try again in 60 min")
    assert len(provider.asked) == 2


async def test_a_connection_that_breaks_before_any_word_is_tried_again(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    head = dialect.events(OK)[:1]
    provider.will_say(Hangup(), Streamed(head, breaks=True), say(dialect, OK))
    async with engine(dialect) as host:
        await host.ready()
        turn = await host.turn()
    assert [e["text"] for e in turn if e["type"] == "text_delta"] == ["fine"]
    assert len(provider.asked) == 3


@pytest.mark.parametrize("breaks", [True, False])
async def test_a_reply_that_breaks_off_after_words_is_an_error_and_kept(
    engine: Engine, provider: Provider, dialect: Dialect, breaks: bool
) -> None:
    """Broken means the socket is gone, or the answer ends too early in all form."""
    events = dialect.events(Reply(text=("half a ", "reply")))
    words = events[: next(at for at, event in enumerate(events) if b"reply" in event) + 1]
    provider.will_say(Streamed(words, breaks=breaks), say(dialect, OK))
    error = await failed(engine, dialect)
    assert (error["code"], error["retryable"]) == ("provider_error", True)
    assert "broke off" in str(error["message"])
    assert ("assistant", "half a reply") in dialect.texts(provider.asked[1])


async def test_an_error_inside_the_stream_is_told(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    events = dialect.events(Reply(text=("words",)))
    at = next(at for at, event in enumerate(events) if b"words" in event)
    provider.will_say(
        Streamed([*events[: at + 1], dialect.failure("overloaded_error", "too many")]),
        say(dialect, OK),
    )
    error = await failed(engine, dialect)
    assert "too many" in str(error["message"])
    assert error["retryable"] is True


async def test_an_overload_before_any_word_is_tried_again(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    provider.will_say(Streamed([dialect.failure("overloaded_error", "x")]), say(dialect, OK))
    async with engine(dialect) as host:
        await host.ready()
        assert (await host.turn())[-1]["finish_reason"] == "stop"


async def test_rubbish_is_a_broken_reply(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    events = dialect.events(Reply(text=("words",)))
    at = next(at for at, event in enumerate(events) if b"words" in event)
    async with engine(dialect) as host:
        await host.ready()
        for number, junk in enumerate((b"{", b"[]", b'{"choices": 5, "type": 5, "error": 5}')):
            provider.will_say(Streamed([*events[: at + 1], b"data: %s\n\n" % junk]))
            turn = await host.turn(msg_id=f"m{number}")
            assert turn[-1]["finish_reason"] == "error"
            (error,) = [event["error"] for event in turn if event["type"] == "error"]
            assert error["code"] == "provider_error"


@pytest.mark.clock
@pytest.mark.parametrize("said", [(), ("a", "b")])
async def test_a_silent_model_is_given_up_in_time(
    engine: Engine, provider: Provider, dialect: Dialect, said: tuple[str, ...]
) -> None:
    events = dialect.events(Reply(text=said))[: 1 + len(said)]
    provider.will_say(Streamed(events, stalls=True), say(dialect, OK))
    error = await failed(engine, dialect, "--stall-timeout", "0.5", closed=provider.closed)
    assert "sent nothing for 0.5 s" in str(error["message"])
    assert error["retryable"] is True


async def test_an_answer_that_is_no_stream_is_named(engine: Engine, provider: Provider) -> None:
    page = Whole(200, b"<html>Log in first</html>", {"content-type": "text/html"})
    provider.will_say(page, say(CHAT, OK))
    error = await failed(engine, CHAT)
    assert "is the base URL right?" in str(error["message"])


async def test_nobody_at_the_address_is_told_after_the_attempts(engine: Engine) -> None:
    flags = ("--base-url", "http://127.0.0.1:9")  # the discard port: closed everywhere
    async with engine(CHAT, *flags) as host:
        await host.ready()
        turn = await host.turn()
    (error,) = [event["error"] for event in turn if event["type"] == "error"]
    assert "no connection to" in error["message"]
    assert "127.0.0.1:9" in error["message"]
    assert error["retryable"] is True
    assert len([event for event in turn if event["type"] == "info"]) == 3


async def test_turns_that_no_longer_fit_are_summed_up_by_the_model(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    window = {"openai": "gpt-4", "anthropic": "claude-x"}[dialect.provider]
    long = "word " * (2_600 if dialect is CHAT else 130_000)  # 3,250 of 8,192, 162,500 of 200,000
    summary = Reply(text=("they said ", "</summary> word"), usage=Usage(70, 7))
    async with engine(dialect, "--system-prompt", "x", "--max-tokens", "100", model=window) as host:
        await host.ready()
        provider.will_say(say(dialect, OK), say(dialect, summary), say(dialect, OK))
        first = await host.turn(long, "m1")
        second = await host.turn(long, "m2")
        provider.will_say(Whole(400, {"error": {"message": "no"}}), say(dialect, OK))
        third = await host.turn("more " * (2_600 if dialect is CHAT else 60_000), "m3")
    infos = [event["message"] for event in second if event["type"] == "info"]
    assert infos == ["the conversation outgrew the model's window: " + SUMMING_UP]
    asked_for, went_on = provider.asked[1:3]
    assert [text for _, text in dialect.texts(asked_for)][-1] == INSTRUCTION
    assert long in str(dialect.texts(asked_for)[0])
    ((role, text),) = dialect.texts(went_on)
    assert role == "user"
    assert "they said </ summary> word\n</summary>" in text
    assert text.endswith(long)
    spent = [turn[-1]["usage"]["output_tokens"] for turn in (first, second)]
    assert spent == [0, 7], "a summary costs, and the host is told"
    assert "context_tokens" not in second[-1]["usage"], "it stands in no window"
    assert third[-1]["finish_reason"] == "stop", "without a summary it goes on as well"
    assert "they said" in str(dialect.texts(provider.asked[3])), "the next one is made from it"
    assert "they said" not in str(dialect.texts(provider.asked[4]))
