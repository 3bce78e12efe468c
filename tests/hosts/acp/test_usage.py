"""How full the window is and what a session is called, as the editor is told."""

from dataclasses import replace

import pytest
from hosts.acp.editor import Editor
from hosts.places import Place
from models.dialects import CHAT, Reply, say
from models.serving import serving
from wcore_host import decode
from wcore_host.acp.usage import UsageTracker
from wcore_host.events import JsonObject

from wcore.vocabulary import Usage

pytestmark = pytest.mark.anyio

COST: JsonObject = {"type": "session_cost", "session_id": "s", "total_cost_usd": 0.25}
END: JsonObject = {"type": "stream_end", "msg_id": "m", "usage": {"context_tokens": 50}}


async def test_after_each_turn_the_editor_learns_how_full_the_window_is(place: Place) -> None:
    async with serving() as provider:
        provider.will_say(say(CHAT, Reply(text=("ok",), usage=Usage(900, 100, 2_000))))
        flags = ("--provider", CHAT.provider, "--model", "gpt-5", "--base-url", provider.url)
        place = replace(place, env={**place.env, "NO_PROXY": "*", "OPENAI_API_KEY": "sk-12345678"})
        async with Editor(place, *flags) as editor:
            session_id = await editor.open()
            turn = await editor.prompt(session_id, {"type": "text", "text": " do\n\u202eit "})
            assert turn["usage"]["totalTokens"] == 3_000
            (told,) = editor.updates("usage_update")
            assert (told["used"], told["size"]) == (3_000, 272_000)
            assert "cost" not in told
            (named,) = editor.updates("session_info_update")
            assert named["title"] == "do⏎⟨U+202E⟩it"


async def test_a_stand_in_without_a_window_tells_of_none(place: Place) -> None:
    async with Editor(place, "--model", place.script([{"text": "hi"}])) as editor:
        await editor.prompt(await editor.open())
        assert not editor.updates("usage_update")


@pytest.mark.parametrize(("continued", "cost"), [(False, 0.25), (True, None)])
def test_a_cost_is_told_only_where_it_is_all_of_it(*, continued: bool, cost: float | None) -> None:
    meter = UsageTracker()
    meter.knows_cost = not continued
    meter.begin(100)
    assert meter.take(decode.event(COST)) is None
    told = meter.take(decode.event(END))
    assert told is not None
    assert (told.used, told.size) == (50, 100)
    assert (told.cost.amount if told.cost else None) == cost
    meter.begin(100)
    again = meter.take(decode.event(END))
    assert again is not None
    assert again.cost is None, "an engine that died takes its bill along"
