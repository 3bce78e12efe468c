import pytest
from unit.tools.room import Room

from wcore.errors import ToolError
from wcore.vocabulary import Category, Json, Status

OPTIONS: Json = [{"label": "staging", "description": "safe", "preview": "a\nb"}, {"label": "live"}]


async def test_the_answer_is_the_output(room: Room) -> None:
    prepared = await room.prepare("AskUserQuestion", question="Where?", options=OPTIONS)
    done = await room.run(prepared, answer="staging")
    assert (done.status, done.output) == (Status.SUCCESS, "staging")
    assert prepared.category is Category.INFO


async def test_no_answer_is_an_error_and_never_invented(room: Room) -> None:
    prepared = await room.prepare("AskUserQuestion", question="Where?", options=OPTIONS)
    done = await room.run(prepared)
    assert (done.status, done.output) == (Status.ERROR, "approved without an answer")


async def test_several_answers_are_passed_on_as_they_are(room: Room) -> None:
    prepared = await room.prepare(
        "AskUserQuestion", question="Where?", header="Deploy", options=OPTIONS, multiSelect=True
    )
    assert (await room.run(prepared, answer='["staging","live"]')).output == '["staging","live"]'


async def test_the_card_lists_question_and_options_with_nothing_invisible(room: Room) -> None:
    prepared = await room.prepare(
        "AskUserQuestion",
        question="Where\u202e?",
        header="Deploy",
        options=OPTIONS,
        multiSelect=True,
    )
    assert prepared.description == "AskUserQuestion: Where⟨U+202E⟩?"
    assert prepared.preview is not None
    assert prepared.preview.kind == "text"
    assert prepared.preview.text == (
        "Deploy\nWhere⟨U+202E⟩?\n1. staging: safe\n   a\n   b\n2. live\n(several may be chosen)\n"
    )


@pytest.mark.parametrize("options", [[], [{"label": ""}], [{"label": "a"}] * 21, "a", [{"x": 1}]])
async def test_options_that_are_none_are_refused(room: Room, options: Json) -> None:
    with pytest.raises(ToolError, match="options"):
        await room.prepare("AskUserQuestion", question="Where?", options=options)
