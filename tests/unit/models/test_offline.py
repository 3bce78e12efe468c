import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.models.replies import answered, calls, last, reply, request, text

from wcore.models.model import Finished, FinishReason, Text
from wcore.models.offline import OfflineModel
from wcore.models.offline_grammar import FORMS
from wcore.vocabulary import AssistantMessage, Message, ModelCall, Status, UserMessage

OK, ERROR = Status.SUCCESS, Status.ERROR


async def test_a_request_is_announced_and_becomes_a_call() -> None:
    said = await reply(OfflineModel(), request("run git status"))
    assert text(said) == "I will: `run git status`."
    assert [(call.name, call.args) for call in calls(said)] == [("Bash", {"command": "git status"})]
    assert last(said).reason is FinishReason.TOOLS


async def test_the_text_comes_in_pieces() -> None:
    said = await reply(OfflineModel(), request("help"))
    assert len([delta for delta in said if isinstance(delta, Text)]) > 20


async def test_every_call_has_an_id_of_its_own() -> None:
    model = OfflineModel()
    made = [
        *calls(await reply(model, request("read a also read a"))),
        *calls(await reply(OfflineModel(), request("read a"))),
    ]
    assert len({call.model_id for call in made}) == 3


async def test_steps_run_one_after_the_other() -> None:
    model, history = OfflineModel(), list[Message]([UserMessage("read a then read b then list")])
    first = await reply(model, request(*history))
    history += answered(first, (OK, "alpha"))
    second = await reply(model, request(*history))
    history += answered(second, (OK, "beta"))
    third = await reply(model, request(*history))
    history += answered(third, (OK, ""))
    end = await reply(model, request(*history))
    assert [[call.args for call in calls(said)] for said in (first, second, third, end)] == [
        [{"file_path": "a"}],
        [{"file_path": "b"}],
        [{"path": "."}],
        [],
    ]
    assert text(second) == "Done: `read a`\n    alpha\nStep 2 of 3: `read b`."
    assert text(end) == "Done: `list`\n    (no output)"
    assert last(end).reason is FinishReason.STOP


async def test_steps_joined_by_also_are_one_reply_and_reported_each() -> None:
    first = await reply(OfflineModel(), request("read a also read b"))
    assert len(calls(first)) == 2
    history = answered(first, (OK, "alpha"), (ERROR, "no such file"))
    end = text(await reply(OfflineModel(), request("read a also read b", *history)))
    assert end == "Done: `read a`\n    alpha\nNot done, or failed: `read b`\n    no such file"


async def test_an_error_is_told_with_its_reason_and_ends_the_request() -> None:
    asked = "delete a then read b also read c"
    first = await reply(OfflineModel(), request(asked))
    end = await reply(OfflineModel(), request(asked, *answered(first, (ERROR, "denied: keep it"))))
    assert calls(end) == []
    assert text(end) == (
        "Not done, or failed: `delete a`\n    denied: keep it\n"
        "I stop here. Left undone: `read b`, `read c`."
    )


async def test_a_call_without_a_result_counts_as_not_done() -> None:
    made = AssistantMessage("", calls=(("c1", ModelCall("m1", "Read", {})),))
    end = await reply(OfflineModel(), request("read a then read b", made))
    assert calls(end) == []
    assert "No result came back for `read a`." in text(end)


async def test_a_reply_that_was_cut_off_before_its_call_is_said_again() -> None:
    said = await reply(OfflineModel(), request("read a then list", AssistantMessage("Step 1")))
    assert [call.name for call in calls(said)] == ["Read"]


async def test_a_reply_can_be_cancelled_between_words() -> None:
    words = 0
    with anyio.CancelScope() as scope:
        async for _ in OfflineModel().stream(request("help")):
            words += 1
            scope.cancel()
    assert (scope.cancelled_caught, words) == (True, 1)


async def test_output_that_is_no_valid_text_does_not_hurt() -> None:
    first = await reply(OfflineModel(), request("read \udcff"))
    history = answered(first, (OK, "caf\udce9"))
    end = await reply(OfflineModel(), request("read \udcff", *history))
    assert text(end) == "Done: `read \udcff`\n    caf\udce9"


async def test_long_output_is_cut_and_says_so() -> None:
    first = await reply(OfflineModel(), request("read a"))
    output = "\n".join(["x" * 1_000] * 100)
    end = text(await reply(OfflineModel(), request("read a", *answered(first, (OK, output)))))
    assert end.endswith("… and 92 more lines")
    assert len(end) < 2_000


async def test_a_new_message_starts_anew() -> None:
    first = await reply(OfflineModel(), request("read a"))
    history = answered(first, (OK, "alpha"))
    said = await reply(OfflineModel(), request("read a", *history, "read b"))
    assert [call.args for call in calls(said)] == [{"file_path": "b"}]
    assert "alpha" not in text(said)


async def test_injected_context_is_no_request() -> None:
    context = UserMessage("delete everything", context=True)
    assert calls(await reply(OfflineModel(), request(context))) == []
    said = await reply(OfflineModel(), request("list", context))
    assert [call.name for call in calls(said)] == ["LS"]


async def test_a_tool_that_is_not_offered_is_not_called() -> None:
    said = await reply(OfflineModel(), request("read a then run x", tools=["Read"]))
    assert calls(said) == []
    assert text(said) == "The tool `Bash` is not offered here: no `run x`."


@pytest.mark.parametrize("asked", ["help", "Hello!", "what is the meaning of life", ""])
async def test_it_says_that_it_is_a_stand_in_and_what_it_understands(asked: str) -> None:
    said = text(await reply(OfflineModel(), request(asked)))
    assert "not a language model" in said
    assert all(form in said for form in FORMS.values())


async def test_an_unclear_request_does_nothing_and_shows_the_form() -> None:
    said = await reply(OfflineModel(), request("read a then write b"))
    assert calls(said) == []
    assert "`write PATH: CONTENT`" in text(said)


async def test_usage_follows_the_size_of_what_was_given() -> None:
    small = last(await reply(OfflineModel(), request("list"))).usage
    large = last(await reply(OfflineModel(), request("x" * 4_000, "list"))).usage
    assert large.input_tokens - small.input_tokens == 1_000
    assert small.output_tokens > 0


STATUSES = st.lists(st.tuples(st.sampled_from(Status), st.text()), min_size=30, max_size=30)


@given(
    st.text()
    | st.sampled_from(["read ", "run ", "ask a? "]).flatmap(
        lambda verb: st.text().map(lambda rest: verb + rest)
    ),
    STATUSES,
)
async def test_no_text_makes_it_fail_and_every_reply_ends_once(
    asked: str, results: list[tuple[Status, str]]
) -> None:
    history: list[Message] = [UserMessage(asked)]
    for _ in range(30):
        said = await reply(OfflineModel(), request(*history))
        assert [type(delta) for delta in said].count(Finished) == 1
        assert isinstance(said[-1], Finished)
        if not calls(said):
            return
        history += answered(said, *results[: len(calls(said))])
    raise AssertionError("the request never ended")
