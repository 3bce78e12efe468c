import json
from collections.abc import Iterator
from typing import Any, overload

import pytest

from wcore.models.attachments import Attached, Image
from wcore.models.dialect import Dialect, EncodedMessage, RequestFrame
from wcore.models.encoded_history import IMAGE_TOKENS, LOST, EncodedHistory
from wcore.models.http.anthropic import Anthropic
from wcore.models.http.chat import Chat
from wcore.models.message_log import MessageLog
from wcore.models.model import ThinkingSettings
from wcore.models.providers import PROVIDERS
from wcore.models.window import MARKER
from wcore.vocabulary import (
    AssistantMessage,
    Message,
    ModelCall,
    Status,
    ToolMessage,
    ToolOutput,
    UserMessage,
)

HUGE = 10.0**9
FRAME = RequestFrame("m", "", (), None, ThinkingSettings())


class Counting(Chat):
    """The chat dialect, counting what it encodes."""

    def __init__(self) -> None:
        super().__init__(PROVIDERS["openai"])
        self.encoded = 0

    def assistant(self, message: AssistantMessage) -> EncodedMessage:
        self.encoded += 1
        return super().assistant(message)


@pytest.fixture(params=["chat", "anthropic"])
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return Chat(PROVIDERS["openai"]) if request.param == "chat" else Anthropic()


def asks(*ids: str) -> AssistantMessage:
    return AssistantMessage("", calls=tuple((i, ModelCall(i, "Read", {"n": i})) for i in ids))


def result(call_id: str, text: str = "out") -> ToolMessage:
    return ToolMessage(call_id, "Read", ToolOutput(Status.SUCCESS, text))


def taken(dialect: Dialect, *messages: Message) -> EncodedHistory:
    transcript = EncodedHistory(dialect)
    for message in transcript.new(messages):
        transcript.take(message)
    return transcript


def sent(dialect: Dialect, transcript: EncodedHistory, window: float = HUGE) -> list[Any]:
    pieces = transcript.fitted(window, 0).pieces
    return json.loads(dialect.body(FRAME, pieces))["messages"]


def test_a_message_is_encoded_once() -> None:
    dialect = Counting()
    transcript = EncodedHistory(dialect)
    history: list[Message] = []
    for number in range(50):
        history += [UserMessage(f"q{number}"), AssistantMessage(f"a{number}")]
        for message in transcript.new(list(history)):
            transcript.take(message)
        assert len(sent(dialect, transcript)) == len(history)
    assert dialect.encoded == 50


class Watched(MessageLog):
    """Says which of its messages were looked at."""

    def __init__(self, *messages: Message) -> None:
        super().__init__()
        self.seen: list[Message] = []
        for message in messages:
            self.append(message)

    def __iter__(self) -> Iterator[Message]:
        for message in super().__iter__():
            self.seen.append(message)
            yield message

    @overload
    def __getitem__(self, at: int) -> Message: ...
    @overload
    def __getitem__(self, at: slice) -> list[Message]: ...
    def __getitem__(self, at: int | slice) -> Message | list[Message]:
        if isinstance(at, int):
            return super().__getitem__(at)
        found = super().__getitem__(at)
        self.seen += found
        return found


def test_of_a_conversation_that_only_grows_what_is_new_is_looked_at() -> None:
    transcript = EncodedHistory(Counting())
    said = Watched(*(UserMessage(f"q{number}") for number in range(50)))
    for message in transcript.new(said):
        transcript.take(message)
    said.seen.clear()
    said.append(UserMessage("new"))
    assert transcript.new(said) == said.seen == [UserMessage("new")]


def test_another_conversation_between_two_requests_is_not_mixed_with_it() -> None:
    dialect = Counting()
    transcript = EncodedHistory(dialect)
    said, other = Watched(UserMessage("a"), AssistantMessage("b")), Watched(UserMessage("x"))
    for messages in (said, other, [UserMessage("y")], said):
        for message in transcript.new(messages):
            transcript.take(message)
        assert len(sent(dialect, transcript)) == len(messages)


def test_another_history_is_taken_from_its_beginning() -> None:
    dialect = Counting()
    transcript = taken(dialect, UserMessage("old"), AssistantMessage("x"))
    for message in transcript.new([UserMessage("new")]):
        transcript.take(message)
    assert [message["content"] for message in sent(dialect, transcript)] == ["new"]


def test_a_call_without_a_result_gets_one(dialect: Dialect) -> None:
    history = (UserMessage("q"), asks("c1", "c2"), result("c2"), UserMessage("next"))
    text = json.dumps(sent(dialect, taken(dialect, *history)))
    assert text.count(LOST) == 1
    assert text.index(LOST) < text.index("next")


def test_the_last_calls_get_their_results_too(dialect: Dialect) -> None:
    assert LOST in json.dumps(sent(dialect, taken(dialect, UserMessage("q"), asks("c1"))))


def test_a_result_without_a_call_is_left_out(dialect: Dialect) -> None:
    history = (UserMessage("q"), result("c9"), asks("c1"), result("c1"), result("c1"))
    messages = sent(dialect, taken(dialect, *history))
    assert "c9" not in json.dumps(messages)
    assert json.dumps(messages).count("out") == 1


def test_empty_replies_are_left_out(dialect: Dialect) -> None:
    transcript = taken(dialect, UserMessage("q"), AssistantMessage("", "thought"), UserMessage(""))
    assert {message["role"] for message in sent(dialect, transcript)} == {"user"}


def test_a_cut_keeps_calls_and_results_together(dialect: Dialect) -> None:
    history: list[Message] = []
    for turn in range(6):
        history.append(UserMessage(f"question {turn}"))
        for call in ("a", "b"):
            history += [asks(f"{turn}{call}"), result(f"{turn}{call}", "word " * 400)]
    transcript = taken(dialect, *history)
    for window in (5000, 3000, 1500, 700):
        text = json.dumps(sent(dialect, transcript, window))
        for turn in range(6):
            for call in ("a", "b"):
                assert text.count(f"{turn}{call}") in {0, 3}, "call, its argument, its result"
    assert "question 5" in text
    assert "question 0" not in text
    assert MARKER in text
    assert text.count("word " * 400) == 1, "the newest result is whole"


def test_a_cut_is_told_once(dialect: Dialect) -> None:
    history = [UserMessage("x " * 2000), UserMessage("y")]
    transcript = taken(dialect, *history)
    assert transcript.fitted(500, 0).is_cut
    assert not transcript.fitted(500, 0).is_cut


def test_the_estimate_is_corrected_by_what_the_provider_counts(dialect: Dialect) -> None:
    transcript = taken(dialect, UserMessage("x" * 4000))
    transcript.fitted(HUGE, 0)
    guess = transcript.tokens(100)
    transcript.learn(int(guess * 2), 100)
    assert transcript.tokens(100) == pytest.approx(guess * 2, rel=0.01)  # pyright: ignore[reportUnknownMemberType]
    transcript.learn(0, 100)
    transcript.learn(10**9, 100)
    assert transcript.tokens(100) < guess * 5


def test_a_picture_counts_as_a_picture_and_can_be_hidden(dialect: Dialect) -> None:
    transcript = EncodedHistory(dialect)
    image = Image("image/png", "A" * 3_900_000, "a.png")
    transcript.take(UserMessage("look", ("a.png",)), Attached("- a.png", (image,)))
    output = ToolOutput(Status.SUCCESS, "B" * 4_000_000, "image", {"media_type": "image/gif"})
    transcript.take(asks("c1"))
    transcript.take(ToolMessage("c1", "Read", output))
    assert transcript.tokens(0) < 2 * IMAGE_TOKENS + 200
    shown = json.dumps(sent(dialect, transcript))
    assert "image/png" in shown
    assert "image/gif" in shown
    assert [transcript.drop_image(may_be_all=True) for _ in range(3)] == ["an image", "a.png", None]
    hidden = json.dumps(sent(dialect, transcript))
    assert "AAAA" not in hidden
    assert "BBBB" not in hidden
    assert "a.png: left out, the provider refused it" in hidden


def test_context_before_the_first_message_belongs_to_the_system_prompt(dialect: Dialect) -> None:
    rules = (UserMessage("rules", context=True), UserMessage("more", context=True))
    transcript = taken(dialect, *rules, UserMessage("q"), UserMessage("later", context=True))
    assert transcript.system("prompt") == "prompt\n\nrules\n\nmore"
    assert transcript.system("") == "rules\n\nmore"
    assert "<context>\\nlater\\n</context>" in json.dumps(sent(dialect, transcript))


def test_text_that_is_not_unicode_can_be_sent(dialect: Dialect) -> None:
    transcript = taken(dialect, UserMessage("half \ud83d"), asks("c1"), result("c1", "\udc80"))
    assert "half \\ufffd" in json.dumps(sent(dialect, transcript))
