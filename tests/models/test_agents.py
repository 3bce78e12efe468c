"""What the model of a sub-agent is told, and what the model of its parent is told of it."""

import json

import pytest
from models.conftest import Engine
from models.dialects import Call, Dialect, Reply, say
from models.serving import Provider

pytestmark = pytest.mark.anyio


async def test_an_agent_and_its_parent_see_nothing_of_each_others_conversation(
    engine: Engine, provider: Provider, dialect: Dialect
) -> None:
    task = Call("s1", "Spawn", (json.dumps({"task": "count the melons"}),))
    provider.will_say(
        say(dialect, Reply(calls=(task,))),
        say(dialect, Reply(text=("I go and count",), calls=(Call("b1", "Bash", ("{}",)),))),
        say(dialect, Reply(text=("seven melons",))),
        say(dialect, Reply(text=("done",))),
        say(dialect, Reply(text=("bye",))),
    )
    async with engine(dialect, "--force") as host:
        await host.ready()
        await host.turn("the launch code is swordfish", "m1")
        await host.turn("and now?", "m2")
    first, begun, went_on, parent, later = (str(asked.body) for asked in provider.asked)
    assert "swordfish" in first
    for agent in (begun, went_on):
        assert "count the melons" in agent
        assert "swordfish" not in agent
    for main in (parent, later):
        assert "seven melons" in main, "the report"
        assert "I go and count" not in main
