import json
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
import waiting
from unit.models.replies import answered, calls, last, reply, request, text

from wcore.errors import Code, ProviderError
from wcore.models.model import CallReady, Delta, Finished, FinishReason, Text, Thinking
from wcore.models.script import ScriptModel
from wcore.models.script_file import load
from wcore.vocabulary import ModelCall, Status, Usage, UserMessage

Script = Callable[..., ScriptModel]
SPEC = Path(__file__).parents[3] / "protocol-spec" / "script-format.md"


@pytest.fixture
def script(tmp_path: Path) -> Script:
    def made(*lines: object) -> ScriptModel:
        path = tmp_path / "s.jsonl"
        path.write_text("\n".join(json.dumps(line) for line in lines))
        return ScriptModel(f"script:{path}", load(str(path)))

    return made


def says(*items: object, **more: object) -> dict[str, object]:
    return {"say": items, **more}


async def test_one_line_is_one_reply_and_then_the_script_has_ended(script: Script) -> None:
    model = script(says({"text": "one"}), says({"text": "two"}))
    said = [await reply(model, request("go")) for _ in range(4)]
    assert said[:2] == [[Text(t), Finished(FinishReason.STOP)] for t in ("one", "two")]
    assert said[2:] == [[Text("(script ended)"), Finished(FinishReason.STOP)]] * 2


async def test_items_come_in_their_order(script: Script) -> None:
    model = script(
        says(
            {"thinking": "hm", "subject": "plan"},
            {"text": "a"},
            {"call": {"name": "LS", "args": {"path": "."}}},
            {"text": "b"},
            {"thinking": "ok"},
        )
    )
    assert await reply(model, request("go")) == [
        Thinking("hm", "plan"),
        Text("a"),
        CallReady(ModelCall("script_1", "LS", {"path": "."})),
        Text("b"),
        Thinking("ok"),
        Finished(FinishReason.TOOLS),
    ]


async def test_ids_can_be_fresh_given_repeated_or_empty(script: Script) -> None:
    ids: tuple[dict[str, str], ...] = ({}, {"id": "x"}, {"id": "x"}, {"id": ""}, {})
    model = script(says(*({"call": {"name": "LS", **more}} for more in ids)))
    found = [call.model_id for call in calls(await reply(model, request("go")))]
    assert found == ["script_1", "x", "x", "", "script_2"]


async def test_broken_arguments_are_a_call_with_a_problem(script: Script) -> None:
    model = script(says({"call": {"name": "Bash", "raw": "{broken"}}))
    [call] = calls(await reply(model, request("go")))
    assert call.args is None
    assert "not valid JSON" in call.problem


async def test_repeated_items_are_numbered_everywhere(script: Script) -> None:
    body = {"id": "i{n}", "name": "T{n}", "args": {"a": [{"b": "{n}{n}"}, 1]}}
    model = script(
        says(
            {"text": "{n},", "repeat": 3},
            {"thinking": "{n}", "repeat": 1},
            {"call": body, "repeat": 2},
            {"call": {"name": "R", "raw": '{"r": {n}}'}, "repeat": 1},
        )
    )
    said = await reply(model, request("go"))
    assert text(said) == "1,2,3,"
    assert Thinking("1") in said
    assert calls(said) == [
        ModelCall("i1", "T1", {"a": [{"b": "11"}, 1]}),
        ModelCall("i2", "T2", {"a": [{"b": "22"}, 1]}),
        ModelCall("script_1", "R", {"r": 1}),
    ]


async def test_an_item_that_is_not_repeated_keeps_its_braces(script: Script) -> None:
    model = script(says({"text": "{n}"}, {"call": {"name": "LS", "args": {"path": "{n}"}}}))
    said = await reply(model, request("go"))
    assert (text(said), calls(said)[0].args) == ("{n}", {"path": "{n}"})


async def test_finish_and_usage_are_as_written(script: Script) -> None:
    usage = {"input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 3, "cache_write_tokens": 4}
    model = script(says({"usage": usage}, {"finish": "length"}, {"text": "a"}), says())
    assert last(await reply(model, request("go"))) == Finished(
        FinishReason.LENGTH, Usage(1, 2, 3, 4)
    )
    assert last(await reply(model, request("go"))) == Finished(FinishReason.STOP, Usage())


@pytest.mark.parametrize(
    ("more", "code", "retryable"),
    [
        ({}, Code.PROVIDER, False),
        ({"retryable": True}, Code.PROVIDER, True),
        ({"code": "auth_invalid"}, Code.AUTH_INVALID, False),
        ({"code": "context_overflow"}, Code.CONTEXT_OVERFLOW, False),
    ],
)
async def test_an_error_comes_after_what_was_said_before(
    script: Script, more: dict[str, object], code: Code, *, retryable: bool
) -> None:
    model = script(says({"text": "a"}, {"error": {"message": "gone", **more}}), says())
    said: list[Delta] = []
    with pytest.raises(ProviderError, match="gone") as caught:
        await _listen(model, said)
    assert said == [Text("a")]
    assert (caught.value.code, caught.value.retryable) == (code, retryable)
    assert await reply(model, request("go")) == [Finished(FinishReason.STOP)]


async def _listen(model: ScriptModel, said: list[Delta]) -> None:
    async for delta in model.stream(request("go")):
        said.append(delta)  # noqa: PERF401 — what came before an error must be kept


async def test_a_stall_waits_until_it_is_cancelled(script: Script) -> None:
    model = script(says({"text": "a"}, {"stall": True}), says({"text": "b"}))
    said: list[Delta] = []
    ended = False
    with waiting.patience():
        async with anyio.create_task_group() as group:
            first = anyio.Event()

            async def listen() -> None:
                nonlocal ended
                async for delta in model.stream(request("go")):
                    said.append(delta)
                    first.set()
                ended = True

            group.start_soon(listen)
            await first.wait()
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
    assert (said, ended) == ([Text("a")], False)
    assert text(await reply(model, request("go"))) == "b"


async def test_a_short_stall_goes_on(script: Script) -> None:
    with waiting.patience():
        said = await reply(script(says({"stall_ms": 1}, {"text": "a"})), request("go"))
    assert text(said) == "a"


async def test_a_flood_can_be_cancelled(script: Script) -> None:
    model = script(says({"text": "{n}", "repeat": 20_000}))
    seen = 0
    with anyio.CancelScope() as scope:
        async for _ in model.stream(request("go")):
            seen += 1
            scope.cancel()
    assert scope.cancelled_caught
    assert 0 < seen < 100


async def test_a_flood_arrives_whole(script: Script) -> None:
    said = await reply(script(says({"text": "{n}", "repeat": 20_000})), request("go"))
    assert [delta.text for delta in said if isinstance(delta, Text)] == [
        str(number) for number in range(1, 20_001)
    ]


async def test_the_echo_shows_the_results_that_came_in(script: Script) -> None:
    bash = {"id": "x", "name": "Bash", "raw": "{broken"}
    model = script(says({"call": bash}, {"call": bash}), says({"echo": True}), says({"echo": True}))
    first = await reply(model, request("go"))
    history = answered(first, (Status.ERROR, "denied"), (Status.SUCCESS, "ä\n"))
    assert json.loads(text(await reply(model, request("go", *history)))) == [
        {"id": "x", "tool": "Bash", "status": "error", "output": "denied"},
        {"id": "x", "tool": "Bash", "status": "success", "output": "ä\n"},
    ]
    assert text(await reply(model, request("go"))) == "[]"


async def test_the_echo_knows_the_ids_of_the_last_reply_only(script: Script) -> None:
    model = script(*(says({"call": {"id": i, "name": "LS"}}) for i in "ab"), says({"echo": True}))
    first = answered(await reply(model, request("go")), (Status.SUCCESS, "one"))
    second = answered(await reply(model, request("go", *first)), (Status.SUCCESS, "two"))
    [result] = json.loads(text(await reply(model, request("go", *first, *second))))
    assert (result["id"], result["output"]) == ("b", "two")


GIVEN = ("[Bash error]\ndenied: no", "[Read success]\nalpha")
WRONG = ("old news", "denied: yes", "[Bash success]")


@pytest.mark.parametrize(
    ("field", "expected", "met"),
    [
        *(("expect", text, True) for text in GIVEN),
        *(("expect", text, False) for text in WRONG),
        *(("expect_not", text, False) for text in GIVEN),
        *(("expect_not", text, True) for text in WRONG),
        ("expect", {"where": "history", "text": "old news"}, True),
        ("expect", {"where": "history", "text": "new news"}, False),
        ("expect", {"where": "system", "text": "be brief"}, True),
        ("expect", {"where": "system", "text": "old news"}, False),
        ("expect", {"where": "tools", "text": "Edit"}, True),
        ("expect", {"where": "tools", "text": "Edi"}, False),
        ("expect_not", {"where": "tools", "text": "Delete"}, True),
        ("expect_not", {"where": "tools", "text": "Edit"}, False),
        ("expect", {"where": "input", "text": "alpha"}, True),
    ],
)
async def test_a_reply_can_demand_what_the_model_is_given(
    script: Script, field: str, expected: object, *, met: bool
) -> None:
    made = ({"call": {"name": "Bash"}}, {"call": {"name": "Read"}})
    model = script(says(*made), says({"text": "fine"}, **{field: [expected]}))
    first = await reply(model, request("old news"))
    results = answered(first, (Status.ERROR, "denied: no"), (Status.SUCCESS, "alpha"))
    given = request("old news", *results, system="be brief", tools=["MultiEdit", "Edit"])
    if met:
        assert text(await reply(model, given)) == "fine"
        return
    with pytest.raises(ProviderError, match=r"s\.jsonl:2: .*what the model was given") as caught:
        await reply(model, given)
    assert not caught.value.retryable


async def test_user_text_and_files_are_input(script: Script) -> None:
    model = script(says(expect=["look", "/tmp/a.png"]))
    assert await reply(model, request(UserMessage("look", files=("/tmp/a.png",))))


def test_a_script_that_thinks_says_so(script: Script) -> None:
    assert script(says({"text": "a"}), says({"thinking": "b"})).thinks
    assert not script(says({"text": "a"})).thinks


def test_every_example_of_the_document_is_a_script(tmp_path: Path) -> None:
    blocks = SPEC.read_text(encoding="utf-8").split("```json\n")[1:]
    assert len(blocks) > 10
    for block in blocks:
        path = tmp_path / "example.jsonl"
        path.write_text(block.partition("```")[0], encoding="utf-8")
        assert load(str(path))
