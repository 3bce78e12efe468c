"""What goes out is valid for who gets it; a refusal costs the smallest part that may be why."""

import base64
import json
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import product
from typing import Any

import pytest
from models.dialects import ANTHROPIC, BOTH, CHAT, Reply, say
from models.dialects import Dialect as Saying
from models.serving import Answer, Asked, Provider, Streamed, Whole, serving
from msgspec.structs import replace

from wcore.errors import ProviderError
from wcore.models import errors
from wcore.models.attachments import IMAGE_PIXELS_MAX, Image, refusal_of
from wcore.models.conversation import NO_IMAGES, ConversationModel
from wcore.models.encoded_history import OWNER
from wcore.models.http.anthropic_reply import SEAL
from wcore.models.http.backend import HttpBackend
from wcore.models.http.chat import SEAL as CHAT_SEAL
from wcore.models.http.client import HttpClient
from wcore.models.http.endpoint import endpoint
from wcore.models.model import Delta, Finished, Notice, Request
from wcore.models.providers import PROVIDERS
from wcore.vocabulary import (
    AssistantMessage,
    Category,
    Json,
    Message,
    ModelCall,
    Status,
    ToolMessage,
    ToolOutput,
    ToolSpec,
    UserMessage,
)

pytestmark = pytest.mark.anyio

OK = Reply(text=("fine",))


@asynccontextmanager
async def asking(dialect: Saying) -> AsyncGenerator[tuple[Provider, ConversationModel]]:
    provider = PROVIDERS[dialect.provider]
    async with serving() as server:
        keys = dict.fromkeys(provider.key_names, "sk-test-0123456789")
        place = endpoint(provider.name, server.url, keys, provider.key_names)
        client = HttpClient(place)
        try:
            yield server, ConversationModel(HttpBackend(provider, client), "m", "/")
        finally:
            await client._opened().aclose()  # pyright: ignore[reportPrivateUsage]


async def reply(
    asked: ConversationModel, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
) -> list[Delta]:
    return [delta async for delta in asked.stream(Request("", messages, tools))]


def notices(deltas: Sequence[Delta]) -> list[str]:
    return [delta.text for delta in deltas if isinstance(delta, Notice)]


def sealed(at: Provider, *blocks: Json) -> Json:
    return {SEAL: list(blocks), OWNER: f"anthropic 127.0.0.1:{at.url.rpartition(':')[2]}"}


# --- valid for the dialect ------------------------------------------------------------------------

SIGNED: Json = {"type": "thinking", "thinking": "hm", "signature": "signed"}
UNSIGNED: Json = {"type": "thinking", "thinking": "hm", "signature": ""}
REDACTED: Json = {"type": "redacted_thinking", "data": "x"}
BLANK: Json = {"type": "text", "text": " \n"}
SAID: Json = {"type": "text", "text": "said"}
CALLED: Json = {"type": "call"}


async def test_no_reply_makes_the_next_request_invalid_however_it_was_cut() -> None:
    """Every row of up to three blocks, as a stored session may hold it."""
    blocks = (SIGNED, UNSIGNED, REDACTED, BLANK, SAID, CALLED)
    rows = [row for n in range(4) for row in product(blocks, repeat=n)]
    rows = random.Random(5).sample(rows, 120)
    async with asking(ANTHROPIC) as (provider, asked):
        for row in rows:
            calls = tuple(
                (f"c{n}", ModelCall(f"c{n}", "Read", {})) for n in range(row.count(CALLED))
            )
            text = "said" * row.count(SAID) + " \n" * row.count(BLANK)
            history: list[Message] = [
                UserMessage("one"),
                AssistantMessage(text, "hm", calls, sealed(provider, *row)),
                *(ToolMessage(c, "Read", ToolOutput(Status.SUCCESS, "out")) for c, _ in calls),
                UserMessage("two"),
            ]
            provider.will_say(say(ANTHROPIC, OK))
            await reply(asked, history)
            require_valid(provider.asked[-1].body["messages"], row)
            if SIGNED in row and (SAID in row or CALLED in row):
                assert SIGNED in provider.asked[-1].body["messages"][1]["content"], row


def require_valid(messages: list[dict[str, Any]], row: object) -> None:
    """What the Messages API is known to insist on, from its documentation and its errors."""
    assert [m["role"] for m in messages] == ["user", "assistant", "user"][: len(messages)], row
    for message in messages:
        kinds = [block["type"] for block in message["content"]]
        assert set(kinds) - {"thinking", "redacted_thinking"}, row
        for block in message["content"]:
            assert block.get("text", "x").strip(), row
            assert block.get("signature", "x"), row


async def test_a_reply_without_words_is_not_sent_to_anybody() -> None:
    for dialect, text in product(BOTH, ("", " ", "\n")):
        async with asking(dialect) as (provider, asked):
            provider.will_say(say(dialect, OK))
            history = [UserMessage("one"), AssistantMessage(text, "hm"), UserMessage("two")]
            await reply(asked, history)
            roles = {message["role"] for message in provider.asked[0].body["messages"]}
            assert roles == {"user"}, (dialect, text)


# --- sealed parts ---------------------------------------------------------------------------------


async def test_what_a_provider_sealed_goes_to_nobody_else() -> None:
    call = (("c1", ModelCall("c1", "Read", {})),)
    states: tuple[tuple[Saying, dict[str, Json]], ...] = (
        (ANTHROPIC, {SEAL: [SIGNED, SAID, CALLED]}),
        (CHAT, {CHAT_SEAL: [{"google": {"thought_signature": "signed"}}]}),
        (CHAT, {CHAT_SEAL: [None], "reasoning_details": [{"signature": "signed"}]}),
    )
    for dialect, state in states:
        async with asking(dialect) as (provider, asked):
            owners = (asked.backend.owner, "gemini generativelanguage.googleapis.com", "", None)
            for owner in owners:
                mark = {} if owner is None else {OWNER: owner}
                message = AssistantMessage("said", "hm", call, {**state, **mark})
                provider.will_say(say(dialect, OK))
                history = [UserMessage("one"), message, UserMessage("two")]
                assert isinstance((await reply(asked, history))[-1], Finished)
                is_sent = b"signed" in provider.asked[-1].raw
                assert is_sent == (owner == asked.backend.owner), (dialect, owner)


async def test_what_is_sealed_now_says_for_whom() -> None:
    async with asking(ANTHROPIC) as (provider, asked):
        provider.will_say(say(ANTHROPIC, Reply(thinking=("hm",), text=("fine",))))
        finished = (await reply(asked, [UserMessage("one")]))[-1]
        assert isinstance(finished, Finished)
        assert isinstance(finished.sealed, dict)
        assert finished.sealed[OWNER] == asked.backend.owner


@pytest.mark.parametrize(
    "words",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.3.content.1.thinking: each thinking block must contain thinking",
        "The encrypted content could not be verified",
        "property 'extra_content' is unsupported",
        "Unable to submit request because Thought signature is not valid",
    ],
)
async def test_sealed_parts_that_are_refused_are_left_out_once(words: str) -> None:
    refusal = Whole(400, {"error": {"type": "invalid_request_error", "message": words}})
    async with asking(ANTHROPIC) as (provider, asked):
        history: list[Message] = [
            UserMessage("one"),
            AssistantMessage("said", "hm", (), sealed(provider, SIGNED, SAID)),
            UserMessage("two"),
        ]
        provider.will_say(refusal, say(ANTHROPIC, OK), refusal)
        assert len(notices(await reply(asked, history))) == 1
        assert [b"signed" in each.raw for each in provider.asked] == [True, False]
        assert all(b"said" in each.raw for each in provider.asked)
        with pytest.raises(ProviderError):
            await reply(asked, [*history, AssistantMessage("fine"), UserMessage("three")])
        assert len(provider.asked) == 3


# --- length ---------------------------------------------------------------------------------------

TOO_LONG = (  # as the vendors word it, from documentation and reports; none of these was seen here
    "Range of input length should be [1, 30720]",
    "Total tokens of image and text exceed max message tokens: 131072",
    "This model's maximum prompt length is 131072 but the request contains 160000 tokens.",
    "Invalid request: Your request exceeded model token limit: 131072",
    "Prompt exceeds max length",
    "prompt token count of 130000 exceeds the limit of 128000",
    "\u8bf7\u6c42\u8fc7\u957f",  # "the request is too long"
    "The decoder prompt (length 40000) is longer than the maximum model length of 32768.",
    "bad request",
)


def long_history(turns: int = 30) -> list[Message]:
    found: list[Message] = []
    for number in range(turns):
        found += [UserMessage(f"question {number}"), AssistantMessage("word " * 1_000)]
    return [*found, UserMessage("the last question")]


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_large_request_that_is_refused_is_tried_shorter_whatever_the_words(
    status: int,
) -> None:
    for dialect, words in product(BOTH, TOO_LONG):
        async with asking(dialect) as (provider, asked):
            summary = say(dialect, Reply(text=("a summary",)))
            refused = Whole(status, {"error": {"message": words}})
            provider.will_say(refused, summary, say(dialect, OK), say(dialect, OK))
            history = long_history()
            deltas = await reply(asked, history)
            assert isinstance(deltas[-1], Finished), words
            first, *_, last = provider.asked
            assert len(last.raw) < len(first.raw), (dialect, words)
            assert b"the last question" in last.raw
            history += [AssistantMessage("fine"), UserMessage("and now")]
            provider.will_say(say(dialect, OK))
            await reply(asked, history)
            assert len(provider.asked[-1].raw) < len(first.raw), "the turn after it, too"


async def test_a_window_that_is_named_is_believed() -> None:
    for words in ("Range of input length should be [1, 8192]", "maximum context length is 8,192"):
        async with asking(CHAT) as (provider, asked):
            refused = Whole(400, {"error": {"message": words}})
            provider.will_say(refused, say(CHAT, Reply(text=("sum",))), say(CHAT, OK))
            await reply(asked, long_history())
            assert len(provider.asked[-1].raw) < 8_192 * 4, words


async def test_what_did_not_help_is_undone_and_a_small_request_is_not_cut() -> None:
    refusal = Whole(400, {"error": {"message": "max_tokens must be at most 8192"}})
    async with asking(CHAT) as (provider, asked):
        provider.will_say(refusal, refusal, say(CHAT, OK))  # no summary fits into such a window
        history = long_history()
        with pytest.raises(errors.UnexplainedError):
            await reply(asked, history)
        await reply(asked, history)
        assert provider.asked[-1].raw == provider.asked[0].raw
        provider.will_say(refusal)
        before = len(provider.asked)
        with pytest.raises(errors.UnexplainedError):
            await reply(asked, [UserMessage("short")])
        assert len(provider.asked) == before + 1


# --- keep-alives ----------------------------------------------------------------------------------

KEEP_ALIVES = (
    b": OPENROUTER PROCESSING\n\n",
    b'event: ping\ndata: {"type": "ping"}\n\n',
    b'data: {"type":"ping"}\r\n\r\n',
    b"\n",
)


@pytest.mark.parametrize("kept", KEEP_ALIVES)
async def test_what_only_keeps_a_stream_open_ends_some_time(
    monkeypatch: pytest.MonkeyPatch, kept: bytes
) -> None:
    for dialect, before in product(BOTH, (False, True)):
        events = dialect.events(OK)
        events = [event for event in events if b"ping" not in event]
        async with asking(dialect) as (provider, asked):
            provider.will_say(Streamed([*events[:before], kept, *events[before:]]))
            assert isinstance((await reply(asked, [UserMessage("one")]))[-1], Finished)
            with monkeypatch.context() as patch:
                patch.setattr("wcore.models.http.backend.KEPT_ALIVE_S_MAX", 0.0)
                provider.will_say(Streamed(events), Streamed([*events[:before], *[kept] * 9]))
                assert isinstance((await reply(asked, [UserMessage("one")]))[-1], Finished)
                with pytest.raises(errors.StalledError, match="only keep-alives"):
                    await reply(asked, [UserMessage("one")])


# --- tools ----------------------------------------------------------------------------------------

TOOLS = tuple(
    ToolSpec(name, Category.MCP, "", {"type": "object", "properties": {}})
    for name in ("Read", "mcp__s__one", "mcp__s__two", "mcp__s__three")
)


def sent_tools(asked: Asked) -> list[str]:
    return [t.get("name") or t["function"]["name"] for t in asked.body.get("tools", ())]


@pytest.mark.parametrize(
    ("body", "gone"),
    [
        ({"message": "tools.2.custom.input_schema: JSON schema is invalid. It must match"}, [2]),
        ({"message": "tools.1.custom.input_schema.properties: Property keys should match"}, [1]),
        ({"message": "Invalid schema for function 'mcp__s__two': In context=(), no thought"}, [2]),
        ({"message": "no such image type", "param": "tools[3].function.parameters"}, [3]),
        ({"message": "Invalid 'tools[1].function.description': string too long."}, [1]),
        ({"message": "* GenerateContentRequest.tools[0].function_declarations[1].parameters."
          "properties[thought].type: must be specified\n* GenerateContentRequest.tools[0]."
          "function_declarations[3].parameters.properties[x].enum[0]: cannot be empty\n"}, [1, 3]),
        ({"message": "Unknown name at 'tools[0].function_declarations[2].parameters'"}, [2]),
        ({"message": "The value at toolConfig.tools.1.toolSpec.inputSchema.json.type must"}, [1]),
        ({"message": "1 validation error: 'toolConfig.tools.2.member.toolSpec.name' failed"}, [1]),
        ({"message": [{"loc": ["body", "tools", 1, "function", "parameters"], "msg": "x"}]}, [1]),
    ],
)  # fmt: skip
async def test_a_tool_that_is_refused_is_left_out_and_named(body: Json, gone: list[int]) -> None:
    refusal = Whole(400, {"error": body})
    history: list[Message] = [UserMessage("one")]
    left = [tool.name for at, tool in enumerate(TOOLS) if at not in gone]
    for dialect in BOTH:
        async with asking(dialect) as (provider, asked):
            provider.will_say(refusal, say(dialect, OK), say(dialect, OK), refusal)
            (notice,) = notices(await reply(asked, history, TOOLS))
            assert all(TOOLS[at].name in notice for at in gone)
            assert "HTTP 400" in notice
            history += [AssistantMessage("fine"), UserMessage("two")]
            assert not notices(await reply(asked, history, TOOLS))
            assert [sent_tools(each) for each in provider.asked[1:]] == [left, left]


async def test_every_bad_tool_of_a_server_costs_itself_within_one_turn() -> None:
    tools = [replace(TOOLS[1], name=f"mcp__s__{number}") for number in range(20)]
    words = "tools.0.custom.input_schema: JSON schema is invalid"
    async with asking(ANTHROPIC) as (provider, asked):
        provider.will_say(*[Whole(400, {"error": {"message": words}})] * 12, say(ANTHROPIC, OK))
        assert len(notices(await reply(asked, [UserMessage("one")], tools))) == 12
        assert sent_tools(provider.asked[-1]) == [tool.name for tool in tools[12:]]


async def test_words_about_no_tool_of_ours_cost_none() -> None:
    for words in (
        "tools.99.custom.input_schema: invalid",
        "Invalid schema for function 'nobody'",
        "messages.1.tools_used: x",
        "messages[3].tool_calls[0].function.arguments: x",
        "Read: tool 'Read' was not called",
    ):
        async with asking(CHAT) as (provider, asked):
            provider.will_say(Whole(400, {"error": {"message": words}}))
            with pytest.raises(errors.UnexplainedError):
                await reply(asked, [UserMessage("one")], TOOLS)
            assert len(provider.asked) == 1, words


async def test_what_a_provider_cannot_have_is_left_out_beforehand_and_told_once() -> None:
    properties: dict[str, Json] = {"$.x": {}, "y": {}}
    needs = ToolSpec("mcp__s__needs", Category.MCP, "",
                     {"type": "object", "properties": properties, "required": ["$.x"]})  # fmt: skip
    has = ToolSpec("mcp__s__has", Category.MCP, "", {"properties": properties})
    history: list[Message] = [UserMessage("one")]
    for dialect, expected in (
        (ANTHROPIC, ["mcp__s__has"]),
        (CHAT, ["mcp__s__needs", "mcp__s__has"]),
    ):
        async with asking(dialect) as (provider, asked):
            provider.will_say(*[say(dialect, OK)] * 3)
            told = notices(await reply(asked, history, [needs, has]))
            assert len(told) == (dialect is ANTHROPIC)
            assert all(t in "".join(told) for t in ("mcp__s__needs", "mcp__s__has", "$.x") if told)
            history += [AssistantMessage("fine"), UserMessage("two")]
            assert not notices(await reply(asked, history, [needs, has]))
            assert all(sent_tools(each) == expected for each in provider.asked)
            changed = replace(needs, schema={"type": "object", "properties": {}})
            assert not notices(await reply(asked, history, [changed, has]))
            assert "mcp__s__needs" in sent_tools(provider.asked[-1]), "another tool by now"


async def test_calls_of_tools_that_are_gone_stay_valid() -> None:
    """The Messages API, also behind Bedrock, refuses calls in a history without any tools."""
    refusal = Whole(400, {"error": {"message": "tools.0.custom.input_schema: invalid"}})
    calls = (("c1", ModelCall("c1", TOOLS[1].name, {})),)
    result = ToolMessage("c1", TOOLS[1].name, ToolOutput(Status.SUCCESS, "out"))
    history: list[Message] = [UserMessage("one"), AssistantMessage("", "", calls), result]
    for dialect, expected in ((ANTHROPIC, ["none"]), (CHAT, [])):
        async with asking(dialect) as (provider, asked):
            provider.will_say(refusal, say(dialect, OK))
            await reply(asked, history, TOOLS[1:2])
            assert sent_tools(provider.asked[1]) == expected
            assert [m["role"] for m in provider.asked[1].body["messages"]] == [
                m["role"] for m in provider.asked[0].body["messages"]
            ]


# --- pictures -------------------------------------------------------------------------------------


def picture(name: str, chars: int) -> ToolMessage:
    """Return a picture of so many characters as a tool has read it."""
    header = headers(10, 10)[0][1]
    data = base64.b64encode(header + bytes(chars // 4 * 3)).decode()
    facts: dict[str, Json] = {"media_type": "image/png", "file_path": name}
    return ToolMessage(name, "Read", ToolOutput(Status.SUCCESS, data, "image", facts))


async def test_the_picture_that_is_refused_is_left_out_and_the_others_stay() -> None:
    refusal = Whole(400, {"error": {"message": "image dimensions exceed max allowed size"}})
    for dialect in BOTH:
        names = ("small.png", "large.png", "middle.png")
        calls = tuple((name, ModelCall(name, "Read", {})) for name in names)
        history: list[Message] = [UserMessage("look"), AssistantMessage("", "", calls)]
        history += map(picture, names, (10_000, 900_000, 30_000))
        async with asking(dialect) as (provider, asked):
            blind = Whole(400, {"error": {"message": "this model does not support image input"}})
            provider.will_say(refusal, say(dialect, OK), refusal, blind, say(dialect, OK))
            (notice,) = notices(await reply(asked, history))
            assert "large.png" in notice
            assert pictures(provider.asked[1].body) == 2
            history += [AssistantMessage("fine"), UserMessage("again")]
            said = notices(await reply(asked, history))
            assert ["middle.png" in said[0], said[1]] == [True, NO_IMAGES]
            assert pictures(provider.asked[-1].body) == 0


async def test_a_picture_that_cannot_be_read_costs_itself_only() -> None:
    for words in (
        "Could not process image",
        "The image data you provided does not represent a valid image",
        "image dimensions exceed max allowed size",
    ):
        refusal = Whole(400, {"error": {"message": words}})
        calls = (("bad.png", ModelCall("bad.png", "Read", {})),)
        history: list[Message] = [UserMessage("look"), AssistantMessage("", "", calls)]
        history.append(picture("bad.png", 1_000))
        async with asking(CHAT) as (provider, asked):
            provider.will_say(refusal, say(CHAT, OK), say(CHAT, OK))
            (notice,) = notices(await reply(asked, history))
            assert "bad.png" in notice, words
            more = (("good.png", ModelCall("good.png", "Read", {})),)
            history += [
                AssistantMessage("fine"),
                UserMessage("and"),
                AssistantMessage("", "", more),
            ]
            await reply(asked, [*history, picture("good.png", 1_000)])
            assert pictures(provider.asked[-1].body) == 1, words


@pytest.mark.parametrize(
    ("known", "new", "bad", "left"),
    [
        (0, 2, {0, 1}, set[int]()),
        (0, 8, set(range(8)), set[int]()),
        (0, 6, {0, 3}, {4, 5}),  # nobody knows which of new ones it is: the largest first
        (6, 2, {6, 7}, set(range(6))),
        (6, 2, {6}, {*range(6), 7}),
        (3, 1, {0, 3}, {1, 2}),  # what was taken before can be too much by now
    ],
)
async def test_any_number_of_bad_pictures_cost_themselves_and_new_ones_are_suspected_first(
    known: int, new: int, bad: set[int], left: set[int]
) -> None:
    """Pictures are the smaller the later they come; requests with a bad one are refused."""
    names = [f"{number}.png" for number in range(known + new)]
    calls = [(name, ModelCall(name, "Read", {})) for name in names]
    pictures_read = [picture(name, 1_000 * (30 - at)) for at, name in enumerate(names)]
    marks = [message.output.output.encode() for message in pictures_read]
    for dialect in BOTH:
        history: list[Message] = [UserMessage("look")]
        async with asking(dialect) as (provider, asked):
            if known:
                history += [AssistantMessage("", "", tuple(calls[:known])), *pictures_read[:known]]
                provider.will_say(say(dialect, OK))
                await reply(asked, history)
                history += [AssistantMessage("fine"), UserMessage("and these")]
            history += [AssistantMessage("", "", tuple(calls[known:])), *pictures_read[known:]]
            provider.decide = partial(refusing, tuple(marks[at] for at in bad), say(dialect, OK))
            await reply(asked, history)
            raw = provider.asked[-1].raw
            assert {at for at, mark in enumerate(marks) if mark + b'"' in raw} == left


@pytest.mark.parametrize(
    "words",
    [
        "thinking is enabled but reasoning_content is missing in assistant tool call message",
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
    ],
)
async def test_thinking_that_is_wanted_back_is_sent_from_then_on(words: str) -> None:
    refusal = Whole(400, {"error": {"message": words}})
    calls = (("c1", ModelCall("c1", "Read", {})),)
    result = ToolMessage("c1", "Read", ToolOutput(Status.SUCCESS, "out"))
    history: list[Message] = [UserMessage("one"), AssistantMessage("", "hm hm", calls), result]
    async with asking(CHAT) as (provider, asked):
        provider.will_say(refusal, say(CHAT, OK), say(CHAT, OK), refusal)
        assert len(notices(await reply(asked, history))) == 1
        await reply(asked, [*history, AssistantMessage("fine"), UserMessage("two")])
        found = [each.body["messages"][1].get("reasoning_content") for each in provider.asked]
        assert found == [None, "hm hm", "hm hm"]
        with pytest.raises(ProviderError):
            await reply(asked, history)


def refusing(bad: Sequence[bytes], otherwise: Answer, asked: Asked) -> Answer:
    refusal = Whole(400, {"error": {"message": "Could not process image"}})
    return refusal if any(mark + b'"' in asked.raw for mark in bad) else otherwise


def pictures(body: object) -> int:
    found = json.dumps(body)
    return found.count('"image/png"') + found.count("data:image/png")


def test_pictures_of_too_many_pixels_are_not_sent_whatever_their_kind() -> None:
    for width, height in ((1, 1), (8000, 3), (8001, 3), (3, 8001), (16_000, 16_000)):
        is_fine = max(width, height) <= IMAGE_PIXELS_MAX
        for kind, data in headers(width, height):
            image = Image(kind, base64.b64encode(data + bytes(100)).decode())
            assert (refusal_of(image) == "") is is_fine, (kind, width, height)
    for data in (b"", b"\x89PNG", b"GIF89a", b"RIFF....WEBPVP8 ", b"\xff\xd8\xff", b"\xff\xd8" * 9):
        assert refusal_of(Image("image/png", base64.b64encode(data).decode())) == ""


def headers(width: int, height: int) -> list[tuple[str, bytes]]:
    """Return the beginnings of a picture of that size in every kind that is taken."""
    big = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    small = width.to_bytes(2, "little") + height.to_bytes(2, "little")
    thumbnail = b"\xff\xe1" + (40_000).to_bytes(2, "big") + bytes(39_998)
    frame = b"\xff\xc2\x00\x11\x08" + height.to_bytes(2, "big") + width.to_bytes(2, "big")
    extended = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    lossless = ((height - 1) << 14 | (width - 1)).to_bytes(4, "little")
    riff = b"RIFF\0\0\0\0WEBP"
    found = [
        ("image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + big),
        ("image/gif", b"GIF89a" + small),
        ("image/jpeg", b"\xff\xd8" + thumbnail + frame),
        ("image/webp", riff + b"VP8X\n\0\0\0\0\0\0\0" + extended),
    ]
    if max(width, height) <= 1 << 14:
        found.append(("image/webp", riff + b"VP8L\0\0\0\0\x2f" + lossless))
        found.append(("image/webp", riff + b"VP8 " + bytes(10) + small))
    return found
