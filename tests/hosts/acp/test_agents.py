"""Sub-agents in an editor: what they say and do stands in the call that started them."""

import pytest
from hosts.acp.editor import Editor, Frame, choose
from hosts.places import Place
from talking import call

pytestmark = pytest.mark.anyio

SPAWN = call("Spawn", "s", task="look at a.txt")
READ = call("Read", "r", file_path="a.txt")
ALLOW = choose("allow_once")


def shown(editor: Editor, call_id: str) -> list[str]:
    """Return every text that a call has shown, one update after another."""
    return [
        "\n".join(part["content"]["text"] for part in update.get("content", []))
        for update in editor.updates("tool_call_update")
        if update["toolCallId"] == call_id
    ]


async def test_what_an_agent_says_thinks_and_does_stands_in_the_call_that_started_it(
    place: Place,
) -> None:
    place.file("a.txt").write_text("words")
    child: list[object] = [{"thinking": "where is it?"}, {"text": "let me read"}, READ]
    model = place.script([SPAWN], child, [{"text": "the report"}], [{"text": "all done"}])
    async with Editor(place, "--model", model, answers=ALLOW) as editor:
        await editor.prompt(await editor.open())
        assert editor.said() == "all done", "an agent's words are no answer"
        assert not editor.updates("agent_thought_chunk")
        last = shown(editor, "s")[-1]
        parts = ("thinks:", "where is it?", "let me read", "a.txt`: done", "the report")
        assert [last.count(part) for part in parts] == [1] * 5
        assert sorted(parts, key=last.index) == list(parts)
        assert editor.call("s")["status"] == "completed"
        meta = editor.call("r")["_meta"]["wcore"]
        assert (meta["agent"], meta["parent_call_id"]) == (["general"], "s")
        assert editor.call("r")["title"].startswith("`general (look at a.txt)`: ")


async def test_a_card_of_an_agent_says_whose_it_is_and_a_no_stands_in_its_call(
    place: Place,
) -> None:
    write = call("Write", "w", file_path="b.txt", content="x")
    model = place.script([SPAWN], [write], [{"text": "as you wish"}], [{"text": "end"}])

    def answer(_method: str, params: Frame) -> Frame:
        chosen = "allow_once" if params["toolCall"]["toolCallId"] == "s" else "reject_once"
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    async with Editor(place, "--model", model, answers=answer) as editor:
        await editor.prompt(await editor.open())
        assert editor.cards()[1]["toolCall"]["title"].startswith("`general (look at a.txt)`: ")
        assert "b.txt`: did not run" in shown(editor, "s")[-1]
    assert not place.file("b.txt").exists()


async def test_of_two_agents_of_one_name_no_call_is_shown_at_the_wrong_one(place: Place) -> None:
    spawns = [call("Spawn", name, task=f"task {name}") for name in ("s1", "s2")]
    writes = [[call("Write", name, file_path=name, content="x")] for name in ("w1", "w2")]
    model = place.script(spawns, *writes, [{"text": "a"}], [{"text": "b"}], [{"text": "end"}])

    def answer(_method: str, params: Frame) -> Frame | None:
        if params["toolCall"]["toolCallId"] in ("w1", "w2"):
            return None
        return {"outcome": {"outcome": "selected", "optionId": "allow_once"}}

    async with Editor(place, "--model", model, answers=answer) as editor:
        turn = await editor.begin("session/prompt", sessionId=await editor.open(), prompt=[])
        await editor.until(lambda: len(editor.asked) == 4)
        second = editor.asked[3][2]["toolCall"]["toolCallId"]
        assert "parent_call_id" not in editor.call(second)["_meta"]["wcore"]
        for number, _, _ in editor.asked[2:]:
            await editor.answer(number, {"outcome": {"outcome": "cancelled"}})
        await editor.result(turn)
        assert f"`Write {second}" not in "".join(shown(editor, "s1") + shown(editor, "s2"))


async def test_hostile_words_of_an_agent_stay_inside_their_block(place: Place) -> None:
    nasty = "```\n**Allow everything** \u202e [x](http://x)"
    model = place.script([SPAWN], [{"text": nasty}, READ], [{"text": "ok"}], [{"text": "end"}])
    async with Editor(place, "--model", model, answers=ALLOW) as editor:
        await editor.prompt(await editor.open())
        last = shown(editor, "s")[-1]
        assert "````\n```\n**Allow everything** ⟨U+202E⟩" in last
        assert "\u202e" not in last


async def test_of_an_agent_that_talks_for_ever_the_end_is_shown(place: Place) -> None:
    long: list[object] = [{"text": "word {n} ", "repeat": 4000}, READ]
    place.file("a.txt").write_text("words")
    model = place.script([SPAWN], long, [{"text": "ok"}], [{"text": "end"}])
    async with Editor(place, "--model", model, answers=ALLOW) as editor:
        await editor.prompt(await editor.open())
        last = shown(editor, "s")[-1]
        assert len(last) < 20_000
        assert "word 3999" in last
        assert last.startswith("(what came before is not shown)")
