"""A session that is killed and resumed, in each kind of store."""

from collections.abc import Callable

import pytest
from talking import Conversation, call

from wcore.store.location import Location

Talk = Callable[..., Conversation]
pytestmark = pytest.mark.anyio

ASKS = call("Bash", "c1", command="echo x >> ran")


async def test_a_killed_session_goes_on(talk: Talk, location: Location) -> None:
    place = ("--store", location.url or location.path)
    async with talk([ASKS], flags=(*place, "--session-id", "s1"), dies="after:decided:1") as first:
        await first.ready()
        await first.message()
        await first.hear("tool_request")
        await first.approve("c1")
        first.killed = True
        await first.ended()
    async with talk([{"text": "done"}], flags=(*place, "--resume", "s1")) as second:
        ready = await second.ready()
        assert ready["interrupted_turn"] == {"msg_id": "m1", "pending": ["c1"], "unknown": []}
        await second.say(type="resume_turn", action="continue")
        await second.hear("stream_end")
        assert second.of("tool_request") == [], "the yes stands"
        assert (second.workspace / "ran").read_text() == "x\n"
    async with talk([], flags=(*place, "--resume", "latest")) as third:
        assert "interrupted_turn" not in await third.ready()
        await third.say(type="get_history")
        assert len((await third.hear("command_result"))["messages"]) == 4
