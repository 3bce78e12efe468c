"""AskUserQuestion in an editor: a form, buttons, or a question in the text."""

from typing import Any

import pytest
from hosts.acp.editor import Editor, Frame, choose
from hosts.places import Place
from talking import call

pytestmark = pytest.mark.anyio

OPTIONS = [{"label": "staging", "description": "for trying"}, {"label": "prod"}]
FORMS: Frame = {"elicitation": {"form": {}}}


def question(**more: Any) -> dict[str, object]:
    return call("AskUserQuestion", "q", question="Where to?", **more)


async def answered(place: Place, editor: Editor, **capabilities: Any) -> str:
    """Run the turn; return what the model got as the output of its question."""
    await editor.prompt(await editor.open(**capabilities))
    shown = editor.call("q")
    assert shown["status"] in ("completed", "failed")
    return f"{shown['status']}: {shown['content'][-1]['content']['text']}"


@pytest.mark.parametrize(
    ("asked", "content", "output"),
    [
        ({"options": OPTIONS}, {"answer": "staging"}, "completed: ```\nstaging\n```"),
        ({"options": OPTIONS}, {"answer": "prod", "other": "home"}, "completed: ```\nhome\n```"),
        (
            {"options": OPTIONS, "multiSelect": True},
            {"answer": ["staging", "prod"], "other": "x"},
            'completed: ```\n["staging", "prod", "x"]\n```',
        ),
        ({"options": OPTIONS}, {}, "failed: did not run: `the user gave no answer`"),
    ],
)
async def test_an_editor_with_forms_shows_one(
    place: Place, asked: Frame, content: Frame, output: str
) -> None:
    def fill(method: str, params: Frame) -> Frame:
        assert method == "elicitation/create"
        assert (params["message"], params["toolCallId"]) == ("Where to?", "q")
        return {"action": "accept", "content": content}

    model = place.script([question(**asked)])
    async with Editor(place, "--model", model, answers=fill) as editor:
        assert await answered(place, editor, **FORMS) == output


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_form_that_is_not_filled_is_no_answer(place: Place, action: str) -> None:
    model = place.script([question(options=OPTIONS)], [{"text": "well then"}])
    async with Editor(place, "--model", model, answers=lambda _m, _p: {"action": action}) as editor:
        assert "no answer" in await answered(place, editor, **FORMS)
        assert editor.said() == "well then"


async def test_an_editor_without_forms_shows_buttons(place: Place) -> None:
    model = place.script([question(options=OPTIONS, multiSelect=True)])
    async with Editor(place, "--model", model, answers=choose("answer-2")) as editor:
        assert await answered(place, editor) == 'completed: ```\n["prod"]\n```'
        labels = [option["name"] for option in editor.cards()[0]["options"]]
        assert labels == ["staging", "prod", "No answer"]
