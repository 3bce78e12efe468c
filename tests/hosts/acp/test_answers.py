"""What a person can say to a card beyond yes and no: how long, why not, and what instead."""

import shlex
from collections.abc import Callable
from typing import Any

import pytest
from hosts.acp.editor import Editor, Frame, choose
from hosts.places import FAKE_ENGINE, PYTHON, Place
from talking import call

pytestmark = pytest.mark.anyio

WRITE = call("Write", "w", file_path="new.txt", content="one\n")
STATUS = call("Bash", "b", command="git status -s")
FORMS: Frame = {"elicitation": {"form": {}}}
Answer = Callable[[str, Frame], Frame]


def choose_with(option_id: str, /, **more: Any) -> Answer:
    """Answer with an option and with what only an editor that knows us would say."""
    outcome = {"outcome": "selected", "optionId": option_id, "_meta": {"wcore": more}}
    return lambda _method, _params: {"outcome": outcome}


def names(editor: Editor) -> dict[str, str]:
    return {option["optionId"]: option["name"] for option in editor.cards()[0]["options"]}


async def test_a_yes_can_last_for_the_session_the_project_or_everywhere(place: Place) -> None:
    model = place.script([STATUS], [{"text": "end"}])
    for option in ("grant-2-user", "reject_once"):
        async with Editor(place, "--model", model, answers=choose(option)) as editor:
            session_id = await editor.open()
            await editor.prompt(session_id)
            if option == "grant-2-user":
                note = (
                    "(It covers options that only read: others ask. It holds in any folder of the "
                )
                note += "workspace.)"
                assert names(editor)["grant-2"].endswith(f"'git status' {note} in this session")
                assert names(editor)["grant-2-project"].endswith("in this project, also later")
                assert names(editor)["grant-2-user"].endswith("everywhere, also later")
            await editor.prompt(session_id, {"type": "text", "text": "/grants"})
            assert "commands that begin with 'git status'` (user, used" in editor.said()
            assert not editor.cards() or option == "grant-2-user", "it lasts"


async def test_the_first_option_of_each_kind_is_the_narrowest(place: Place) -> None:
    async with Editor(place, "--model", place.script([STATUS])) as editor:
        await editor.prompt(await editor.open())
        first: dict[str, str] = {}
        for option in editor.cards()[0]["options"]:
            first.setdefault(option["kind"], option["optionId"])
        narrowest = ("allow_once", "grant-1", "reject_once")
        assert tuple(first.values()) == narrowest


async def test_a_sub_agents_yes_cannot_last_everywhere(place: Place) -> None:
    model = place.script([call("Spawn", "s", task="look")], [STATUS], [{"text": "end"}], [])

    def answer(_method: str, params: Frame) -> Frame:
        chosen = "allow_once" if params["toolCall"]["toolCallId"] == "s" else "reject_once"
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    async with Editor(place, "--model", model, answers=answer) as editor:
        await editor.prompt(await editor.open())
        options = [option["optionId"] for option in editor.cards()[1]["options"]]
        assert "grant-2-project" in options
        assert "grant-1-user" not in options


@pytest.mark.parametrize(
    ("filled", "told"),
    [
        ({"action": "accept", "content": {"reason": "use b.txt"}}, "use b.txt"),
        ({"action": "accept", "content": {}}, "denied by the user"),
        ({"action": "cancel"}, "denied by the user"),
    ],
)
async def test_an_editor_with_forms_asks_for_the_reason_of_a_no(
    place: Place, filled: Frame, told: str
) -> None:
    def answer(method: str, _params: Frame) -> Frame:
        if method == "elicitation/create":
            return filled
        return {"outcome": {"outcome": "selected", "optionId": "reject_why"}}

    model = place.script([WRITE], [{"text": "went on"}])
    async with Editor(place, "--model", model, answers=answer) as editor:
        await editor.prompt(await editor.open(**FORMS))
        assert told in str(editor.call("w")["content"])
        assert editor.said() == "went on"
    assert not place.file("new.txt").exists()


async def test_without_forms_a_no_can_end_the_turn_so_that_the_next_message_says_why(
    place: Place,
) -> None:
    model = place.script([WRITE], [{"text": "never"}])
    async with Editor(place, "--model", model, answers=choose("reject_stop")) as editor:
        end = await editor.prompt(await editor.open())
        assert "reject_why" not in names(editor)
        assert (end["stopReason"], editor.said()) == ("end_turn", "")
    assert not place.file("new.txt").exists()


async def test_an_editor_that_knows_us_says_the_reason_at_once(place: Place) -> None:
    answer = choose_with("reject_once", reason="not in this folder")
    async with Editor(place, "--model", place.script([WRITE]), answers=answer) as editor:
        await editor.prompt(await editor.open())
        assert "not in this folder" in str(editor.call("w")["content"])


async def test_an_editor_that_knows_us_changes_the_arguments(place: Place) -> None:
    changed = {"file_path": "new.txt", "content": "two\n"}

    def answer(_method: str, params: Frame) -> Frame:
        digest = params["toolCall"]["_meta"]["wcore"]["digest"]
        return choose_with("allow_once", args=changed, digest=digest)(_method, params)

    async with Editor(place, "--model", place.script([WRITE]), answers=answer) as editor:
        await editor.prompt(await editor.open())
        shown = editor.call("w")
        assert (shown["status"], shown["rawInput"]) == ("completed", changed)
        assert "were changed" in str(shown["content"])
    assert place.file("new.txt").read_text() == "two\n"


@pytest.mark.parametrize(
    "more",
    [
        {"args": {"file_path": "new.txt", "content": "two\n"}},
        {"args": {"file_path": "new.txt", "content": "two\n"}, "digest": "v2:0"},
        {"args": "two"},
        {"args": None},
    ],
)
async def test_changed_arguments_that_belong_to_no_card_run_nothing(
    place: Place, more: Frame
) -> None:
    answer = choose_with("allow_once", **more)
    async with Editor(place, "--model", place.script([WRITE]), answers=answer) as editor:
        await editor.prompt(await editor.open())
        assert "no answer to this card" in str(editor.call("w")["content"])
    assert not place.file("new.txt").exists()


@pytest.mark.parametrize("more", [{"file_path": "new.txt", "content": float("nan")}, {"x": 1}])
async def test_changed_arguments_that_the_engine_does_not_take_end_as_a_no(
    place: Place, more: Frame
) -> None:
    def answer(method: str, params: Frame) -> Frame:
        digest = params["toolCall"]["_meta"]["wcore"]["digest"]
        return choose_with("allow_once", args=more, digest=digest)(method, params)

    async with Editor(place, "--model", place.script([WRITE]), answers=answer) as editor:
        end = await editor.prompt(await editor.open())
        assert end["stopReason"] == "end_turn"
        assert editor.call("w")["status"] == "failed"
    assert not place.file("new.txt").exists()


async def test_an_engine_that_takes_no_changes_is_told_no(place: Place) -> None:
    engine = shlex.join((*PYTHON, str(FAKE_ENGINE), "baseline"))
    answer = choose_with("allow_once", args={"command": "true"}, digest="")
    async with Editor(place, "--engine", engine, answers=answer) as editor:
        await editor.prompt(await editor.open())
        assert '"tool_deny"' in editor.said()
