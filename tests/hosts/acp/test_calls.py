"""Calls in an editor: what its cards show, what its answers do."""

from collections.abc import Callable
from typing import Any

import pytest
from hosts.acp.editor import Editor, Frame, choose
from hosts.places import Place
from talking import call

pytestmark = pytest.mark.anyio

WRITE = call("Write", "w", file_path="new.txt", content="one\ntwo\n")
EDIT = call("Edit", "e", file_path="a.txt", old_string="beta", new_string="BETA")
TEXT = "alpha\nbeta\ngamma\n"


async def test_a_person_sees_the_diff_and_an_allowed_edit_is_made(place: Place) -> None:
    place.file("a.txt").write_text(TEXT)
    model = place.script([EDIT], [{"text": "done"}])
    async with Editor(place, "--model", model, answers=choose("allow_once")) as editor:
        end = await editor.prompt(await editor.open())
        card = editor.cards()[0]["toolCall"]
        path = str(place.file("a.txt"))
        assert card["content"][1] == {
            "type": "diff", "path": path, "oldText": TEXT, "newText": TEXT.replace("beta", "BETA"),
        }  # fmt: skip
        assert card["locations"] == [{"path": path, "line": 2}]
        assert (card["kind"], card["status"]) == ("edit", "pending")
        meta = card["_meta"]["wcore"]
        assert meta["why"]["row"] == "default"
        assert meta["digest"].startswith("v2:")
        assert editor.call("e")["status"] == "completed"
        assert editor.call("e")["content"][0]["type"] == "diff"
        assert (end["stopReason"], editor.said()) == ("end_turn", "done")
    assert place.file("a.txt").read_text() == "alpha\nBETA\ngamma\n"


async def test_a_new_file_has_no_old_text(place: Place) -> None:
    model = place.script([WRITE])
    async with Editor(place, "--model", model) as editor:
        await editor.prompt(await editor.open())
        assert "oldText" not in editor.cards()[0]["toolCall"]["content"][1]


async def test_a_rejected_call_does_nothing_and_the_turn_goes_on(place: Place) -> None:
    model = place.script([WRITE], [{"text": "as you wish"}])
    async with Editor(place, "--model", model, answers=choose("reject_once")) as editor:
        end = await editor.prompt(await editor.open())
        assert editor.call("w")["status"] == "failed"
        assert "denied by the user" in str(editor.call("w")["content"])
        assert (end["stopReason"], editor.said()) == ("end_turn", "as you wish")
    assert not place.file("new.txt").exists()


@pytest.mark.parametrize("answer", [choose("something else"), choose("")])
async def test_an_option_that_was_not_offered_is_a_no(
    place: Place, answer: Callable[[str, Frame], Frame]
) -> None:
    async with Editor(place, "--model", place.script([WRITE]), answers=answer) as editor:
        await editor.prompt(await editor.open())
        assert editor.call("w")["status"] == "failed"
    assert not place.file("new.txt").exists()


async def test_a_dismissed_card_ends_the_turn(place: Place) -> None:
    def dismiss(_method: str, _params: Frame) -> Frame:
        return {"outcome": {"outcome": "cancelled"}}

    model = place.script([WRITE], [{"text": "never said"}])
    async with Editor(place, "--model", model, answers=dismiss) as editor:
        end = await editor.prompt(await editor.open())
        assert (end["stopReason"], editor.said()) == ("cancelled", "")


async def test_always_covers_later_calls_of_the_tool_only(place: Place) -> None:
    again = call("Write", "w2", file_path="b.txt", content="x")
    model = place.script([WRITE], [again], [call("Delete", "d", file_path="b.txt")])

    def answer(_method: str, params: Frame) -> Frame:
        chosen = "allow_always" if params["toolCall"]["toolCallId"] == "w" else "reject_once"
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    async with Editor(place, "--model", model, answers=answer) as editor:
        await editor.prompt(await editor.open())
        assert [card["toolCall"]["toolCallId"] for card in editor.cards()] == ["w", "d"]
    assert place.file("b.txt").read_text() == "x"


async def test_each_suggested_grant_is_an_option_with_its_exact_text(place: Place) -> None:
    status = [
        call("Bash", name, command=f"git status {flag}")
        for name, flag in (("b1", "-s"), ("b2", "-b"))
    ]
    model = place.script([status[0]], [status[1]])
    async with Editor(place, "--model", model, answers=choose("grant-2")) as editor:
        session_id = await editor.open()
        await editor.prompt(session_id)
        options = {o["optionId"]: (o["kind"], o["name"]) for o in editor.cards()[0]["options"]}
        kind, name = options["grant-2"]
        assert kind == "allow_always"
        assert "'git status' (" in name
        assert name.endswith(") in this session")
        assert options["grant-2-project"][1].endswith(") in this project, also later")
        assert len(editor.cards()) == 1, "the second command is covered"
        await editor.prompt(session_id, {"type": "text", "text": "/grants"})
        assert "commands that begin with 'git status'" in editor.said()


async def test_cards_of_one_reply_are_answered_in_any_order(place: Place) -> None:
    held: list[Frame] = []
    model = place.script(
        [call("Write", f"w{n}", file_path=f"{n}.txt", content=str(n)) for n in range(3)]
    )
    async with Editor(place, "--model", model, answers=lambda _m, p: held.append(p)) as editor:
        turn = await editor.begin("session/prompt", sessionId=await editor.open(), prompt=[])
        await editor.until(lambda: len(editor.asked) == 3)
        for (number, _, params), option in zip(
            reversed(editor.asked), ("allow_once", "reject_once", "allow_once"), strict=True
        ):
            assert params["toolCall"]["toolCallId"].startswith("w")
            await editor.answer(number, {"outcome": {"outcome": "selected", "optionId": option}})
        assert (await editor.result(turn))["stopReason"] == "end_turn"
    assert [place.file(f"{n}.txt").exists() for n in range(3)] == [True, False, True]


async def test_output_streams_while_a_command_runs(place: Place) -> None:
    place.file("go").unlink(missing_ok=True)
    waits = "echo first; while [ ! -e go ]; do sleep 0.05; done; echo last"
    model = place.script([call("Bash", "b", command=waits)])
    async with Editor(place, "--model", model, answers=choose("allow_once")) as editor:
        turn = await editor.begin("session/prompt", sessionId=await editor.open(), prompt=[])
        await editor.until(lambda: "first" in str(editor.call("b").get("content", [])[1:]))
        assert editor.call("b")["status"] == "in_progress"
        place.file("go").touch()
        await editor.result(turn)
        shown = editor.call("b")
        assert (shown["status"], shown["kind"]) == ("completed", "execute")
        assert "first\nlast" in shown["content"][1]["content"]["text"]


async def test_hostile_text_stays_inside_its_block(place: Place) -> None:
    nasty = "echo '```'\n# [link](http://x)\u202e\x1b[31m `````"
    model = place.script([call("Bash", "b", command=nasty)])
    async with Editor(place, "--model", model) as editor:
        await editor.prompt(await editor.open())
        card = editor.cards()[0]["toolCall"]
        text = card["content"][1]["content"]["text"]
        assert text.startswith("``````sh\n")
        assert text.endswith("\n``````")
        shown: list[Any] = [card["title"], *(o["name"] for o in editor.cards()[0]["options"]), text]
        assert not {"\u202e", "\x1b"} & set("".join(shown))


async def test_arguments_that_the_preview_does_not_show_are_on_the_card(place: Place) -> None:
    place.file("a.txt").write_text(TEXT)
    bash = call("Bash", "b", command="make", timeout_s=60)
    edit = call("Edit", "e", file_path="a.txt", old_string="a", new_string="b", replace_all=True)
    async with Editor(place, "--model", place.script([bash, edit, WRITE])) as editor:
        await editor.prompt(await editor.open())
        shown = {card["toolCall"]["toolCallId"]: card["toolCall"] for card in editor.cards()}
        last = {name: card["content"][-1] for name, card in shown.items()}
        assert '"timeout_s": 60' in last["b"]["content"]["text"]
        assert "make" not in last["b"]["content"]["text"]
        assert '"replace_all": true' in last["e"]["content"]["text"]
        assert last["w"]["type"] == "diff", "nothing is left to show"


async def test_two_questions_after_each_other_in_an_unanswered_card_expire(place: Place) -> None:
    model = place.script([WRITE], [{"text": "went on"}])
    flags = ("--approval-ttl", "1", "--reap-interval", "1")
    async with Editor(place, "--model", model, *flags, answers=lambda _m, _p: None) as editor:
        end = await editor.prompt(await editor.open())
        assert (end["stopReason"], editor.said()) == ("end_turn", "went on")
        assert "approval timed out" in str(editor.call("w")["content"])
        number = editor.asked[0][0]
        await editor.answer(number, {"outcome": {"outcome": "selected", "optionId": "allow_once"}})
    assert not place.file("new.txt").exists()
