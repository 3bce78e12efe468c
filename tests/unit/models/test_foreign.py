"""Models through pydantic-ai: what it is given, what it says, and how it fails.

It takes long to import: no worker does that but the one that runs these tests.
"""

from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import anyio
import pytest

from wcore.errors import ConfigError, SettingError
from wcore.models.conversation import ConversationModel
from wcore.models.errors import AuthRequiredError, RefusedError, StalledError, TransientError
from wcore.models.factory import ModelEnvironment, create_model
from wcore.models.model import CallReady, Delta, Finished, FinishReason, Request, Text
from wcore.models.pydantic_ai_backend import (
    PYDANTIC_AI_PROVIDERS,
    Access,
    PydanticAiBackend,
    PydanticAiProvider,
    _ended,  # pyright: ignore[reportPrivateUsage]
)
from wcore.vocabulary import (
    AssistantMessage,
    Category,
    Message,
    ModelCall,
    Status,
    ToolMessage,
    ToolOutput,
    ToolSpec,
    UserMessage,
)

pytestmark = pytest.mark.anyio

READ = ToolSpec("Read", Category.INFO, "Reads.", {"type": "object", "properties": {}})
Saying = Callable[[list[Any], Any], AsyncIterator[Any]]


def model(say: Saying, stall_s: float = 5.0, **keys: str) -> ConversationModel:
    from pydantic_ai.models.function import FunctionModel

    def make(name: str, access: Access) -> FunctionModel:
        return FunctionModel(stream_function=say, model_name=name)

    provider = PydanticAiProvider("fake", "", ("FAKE_KEY",), make)
    access = Access(keys or {"FAKE_KEY": "k"}, None, None)
    return ConversationModel(PydanticAiBackend(provider, "m", access, stall_s), "m", "/")


async def asked(chosen: ConversationModel, *messages: Message) -> list[Delta]:
    request = Request("be brief", list(messages), [READ])
    return [delta async for delta in chosen.stream(request)]


async def calling(_: list[Any], info: Any) -> AsyncIterator[Any]:
    from pydantic_ai.models.function import DeltaToolCall

    assert [tool.name for tool in info.function_tools] == ["Read"]
    yield "Let me "
    yield "look."
    yield {1: DeltaToolCall("Read", '{"file_path":', tool_call_id="theirs")}
    yield {1: DeltaToolCall(json_args=' "a"}')}


async def test_a_reply_streams_and_its_calls_come_whole_and_are_not_run() -> None:
    *said, ready, end = await asked(model(calling), UserMessage("hi"))
    assert said == [Text("Let me "), Text("look.")]
    assert ready == CallReady(ModelCall("theirs", "Read", {"file_path": "a"}))
    assert isinstance(end, Finished)
    assert end.sealed


async def test_the_history_goes_back_in_the_librarys_own_form() -> None:
    from pydantic_ai.messages import ModelRequest, ModelResponse, ToolReturnPart, UserPromptPart

    seen: list[Any] = []

    async def say(messages: list[Any], info: Any) -> AsyncIterator[Any]:
        seen[:] = messages
        async for part in calling(messages, info):
            yield part

    chosen = model(say)
    *_, ready, end = await asked(chosen, UserMessage("hi"))
    assert isinstance(ready, CallReady)
    assert isinstance(end, Finished)
    history = (
        UserMessage("hi"),
        AssistantMessage("Let me look.", "", (("ours", ready.call),), end.sealed),
        ToolMessage("ours", "Read", ToolOutput.failed("no such file")),
        UserMessage("and now?"),
    )
    await asked(chosen, *history)
    first, reply, last = seen
    assert isinstance(first, ModelRequest)
    assert [part.part_kind for part in first.parts] == ["system-prompt", "user-prompt"]
    assert isinstance(reply, ModelResponse)
    assert [part.part_kind for part in reply.parts] == ["text", "tool-call"]
    assert isinstance(last, ModelRequest)
    returned, prompt = last.parts
    assert isinstance(returned, ToolReturnPart)
    assert (returned.tool_name, returned.tool_call_id) == ("Read", "theirs")
    assert returned.outcome == "failed"
    assert isinstance(prompt, UserPromptPart)


async def test_a_picture_follows_the_result_that_it_is() -> None:
    from pydantic_ai.messages import BinaryContent, UserPromptPart

    seen: list[Any] = []

    async def say(messages: list[Any], _: Any) -> AsyncIterator[Any]:
        seen[:] = messages
        yield "ok"

    data = ToolOutput(Status.SUCCESS, "aGk=", "image", {"media_type": "image/png"})
    call = ModelCall("c", "Read", {})
    history = (UserMessage("x"), AssistantMessage("", calls=(("c", call),)))
    await asked(model(say), *history, ToolMessage("c", "Read", data))
    picture = seen[-1].parts[-1]
    assert isinstance(picture, UserPromptPart)
    assert any(isinstance(item, BinaryContent) and item.data == b"hi" for item in picture.content)


async def test_an_error_of_the_library_becomes_one_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError

    monkeypatch.setattr("wcore.models.backoff.BACKOFF_S", 0.0)
    for raised, error in (
        (ModelHTTPError(400, "m", {"message": "unknown field"}), RefusedError),
        (ModelAPIError("m", "no route"), TransientError),
        (ValueError("a bug\nof theirs"), RefusedError),
    ):

        async def say(_: list[Any], __: Any, raised: Exception = raised) -> AsyncIterator[Any]:
            raise raised
            yield ""

        with pytest.raises(error) as caught:
            await asked(model(say), UserMessage("hi"))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("word", "is_full"), [("model_context_window_exceeded", True), ("max_tokens", False)]
)
def test_a_window_that_is_full_is_told_from_a_limit_of_the_reply(
    word: str, *, is_full: bool
) -> None:
    from pydantic_ai.messages import ModelResponse, TextPart

    details = {"finish_reason": word}
    whole = ModelResponse([TextPart("I star")], finish_reason="length", provider_details=details)
    end = _ended("p", whole)[-1]
    assert isinstance(end, Finished)
    assert (end.reason, end.fills_window) == (FinishReason.LENGTH, is_full)


async def test_a_library_that_says_nothing_is_given_up() -> None:
    async def say(_: list[Any], __: Any) -> AsyncIterator[Any]:
        yield "wait"
        await anyio.sleep_forever()

    with pytest.raises(StalledError):
        await asked(model(say, stall_s=0.05), UserMessage("hi"))


async def test_without_a_key_it_says_which_one() -> None:
    with pytest.raises(AuthRequiredError, match="FAKE_KEY"):
        await asked(model(calling, OTHER="k"), UserMessage("hi"))


async def test_arguments_that_are_no_object_are_a_problem_and_no_call() -> None:
    from pydantic_ai.models.function import DeltaToolCall

    async def say(_: list[Any], __: Any) -> AsyncIterator[Any]:
        yield {0: DeltaToolCall("Read", "[1", tool_call_id="c")}

    found = await asked(model(say), UserMessage("hi"))
    (ready,) = [delta for delta in found if isinstance(delta, CallReady)]
    assert ready.call.args is None
    assert ready.call.problem


def test_providers_of_the_library_are_chosen_by_name() -> None:
    for name in PYDANTIC_AI_PROVIDERS:
        chosen = create_model(name, "m")
        assert chosen.thinks
        assert chosen.effort_levels
    with pytest.raises(ConfigError, match="needs a model"):
        create_model("google", None)


async def test_a_key_that_no_header_can_carry_is_named_before_the_library_sees_it() -> None:
    for name, foreign in PYDANTIC_AI_PROVIDERS.items():
        for variable in foreign.key_names:
            key = "sk-0123456789abcdef\u2013x"
            chosen = create_model(name, "m", ModelEnvironment(keys={variable: key}))
            chosen.warm()
            with pytest.raises(SettingError, match=f"^{variable} is no key: its character 20 "):
                await asked(cast("ConversationModel", chosen))
    companion = {"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "a b"}
    chosen = create_model("bedrock", "m", ModelEnvironment(keys=companion))
    with pytest.raises(SettingError, match=r"^AWS_SECRET_ACCESS_KEY is no key: its character 2 "):
        await asked(cast("ConversationModel", chosen))


async def test_what_making_a_client_raises_is_an_error_of_the_settings_without_its_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def make(name: str, access: Access) -> Any:
        raise ValueError("http://me:secret@h is no proxy")

    access = Access({"FAKE_KEY": "k"}, None, None)
    backend = PydanticAiBackend(PydanticAiProvider("f", "", ("FAKE_KEY",), make), "m", access, 5.0)
    backend.warm()
    with pytest.raises(SettingError) as refused:
        await asked(ConversationModel(backend, "m", "/"))
    assert "secret" not in str(refused.value)
    monkeypatch.setenv("ALL_PROXY", "socks://h:1")
    for name in ("NO_PROXY", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name, key in (("openai-responses", "OPENAI_API_KEY"), ("google", "GOOGLE_API_KEY")):
        chosen = create_model(name, "m", ModelEnvironment(keys={key: "sk-0123456789abcdef"}))
        with pytest.raises(SettingError, match=r"^ALL_PROXY: "):
            await asked(cast("ConversationModel", chosen))
