"""Example conversations of which one engine is not all: resumed, with servers, with sub-agents."""

import sys
from typing import Final

from talking import call

from spec.recording import Recorded
from spec.staging import scene

DEPLOY: Final = call("Bash", "c1", command="sh deploy.sh")
NOTE: Final = call("Write", "c2", file_path="notes.txt", content="deployed\n")
SLOW: Final = {"deploy.sh": "sleep 30\n"}


@scene([DEPLOY, NOTE], flags=("--session-id", "release"), files=SLOW)
async def killed_and_resumed(host: Recorded) -> None:
    """A session that is killed and resumed.

    The engine is killed while one call runs and another waits for an answer. What had begun is not
    run twice, what waited asks again, and nothing happens before the host says so.
    """
    await host.message("deploy, and make a note of it")
    await host.hear("tool_request", call_id="c2")
    await host.approve("c1")
    await host.hear("tool_running")
    host.note("Here the engine is killed (SIGKILL): no goodbye, and no end of the turn.")
    await host.kill()
    host.note(
        "The host starts another one, with `--resume release`. `interrupted_turn` says what was "
        "left. The host asks the person first."
    )
    told: list[object] = [{"text": "I cannot tell whether it was deployed; the note is written."}]
    async with host.again(told, flags=("--resume", "release")) as later:
        await later.ready()
        await later.say(type="resume_turn", request_id="r1", action="continue")
        await later.hear("tool_request", call_id="c2")
        later.note("The same card under the same `call_id`. The first call is over: nobody knows.")
        await later.approve("c2")
        await later.hear("stream_end")


SERVER: Final = ("-P", "-m", "wcore.conformance.mcp_server")


@scene([call("mcp__calc__add", "c1", a=20, b=22)], [{"text": "42."}])
async def mcp_servers(host: Recorded) -> None:
    """Tools of MCP servers.

    Servers are added before the first message. Their tools ask like all others. The server here is
    the small one of the conformance cases.
    """
    program = {"command": sys.executable, "args": list(SERVER)}
    await host.say(type="add_mcp_server", name="calc", transport="stdio", **program)
    await host.hear("mcp_ready")
    host.note("One that cannot be started: an `error`, an `mcp_failed`, and the session goes on.")
    gone = {"command": "/opt/no-such-server"}
    await host.say(type="add_mcp_server", name="ghost", transport="stdio", **gone)
    await host.hear("mcp_failed")
    await host.message("add 20 and 22")
    await host.hear("tool_request")
    await host.approve("c1")
    await host.hear("stream_end")
    host.note("After the first message it is too late for another server.")
    await host.say(type="add_mcp_server", name="late", transport="stdio", **program)
    await host.hear("mcp_failed")


REVIEWER: Final = """\
---
name: reviewer
description: reads and judges
tools: [Read, Grep]
---
You review changes.
"""


@scene(
    [call("Spawn", "c1", task="read notes.txt and say what is wrong", agent="reviewer")],
    [call("Read", "c2", file_path="notes.txt")],
    [{"text": "Line two is missing."}],
    [{"text": "The reviewer found a gap."}],
    files={"notes.txt": "one\nthree\n", ".wcore/agents/reviewer.md": REVIEWER},
)
async def sub_agents(host: Recorded) -> None:
    """A sub-agent.

    Its own words come inside `sub_agent_event`; its calls are top level, with its path in `agent`,
    and ask like all others. What it says last is the result of the call that started it.
    """
    await host.message("have my notes reviewed")
    await host.hear("tool_request", call_id="c1")
    await host.approve("c1")
    await host.hear("tool_request", call_id="c2")
    await host.approve("c2")
    await host.hear("stream_end")
