"""Plays one round: a random host against a real engine. What is wrong raises AssertionError."""

import signal
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

import anyio
import waiting
from talking import Conversation, write_script

from soak import checks
from soak.grammar import LINE_BYTES, Command, commands, definitions, judged, made, mutated
from soak.scripted import Scripted
from wcore.engine.engine import SHUTDOWN_S

ENDS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PAUSE_S: Final = 0.02  # so that commands meet a turn at every point of it
FLAGS: Final[tuple[tuple[str, ...], ...]] = (
    *((), (), ("--mode", "read_only"), ("--mode", "auto_edit"), ("--force",)),
    *(("--max-mode", "auto_edit"), ("--max-turns", "3"), ("--hitl-suspend",)),
    *(("--prompts", "none"), ("--approval-ttl", "1", "--reap-interval", "1")),
)


@dataclass(slots=True)
class Said:
    """What the host sent: lines that are commands, and how many are none."""

    commands: list[Command] = field(default_factory=list[Command])
    malformed: int = 0

    def of(self, *kinds: str) -> list[Command]:
        return [each for each in self.commands if each["type"] in kinds]


class Player:
    """One host. All its choices come from one seed."""

    def __init__(self, host: Conversation, chance: Random, *, hostile: bool) -> None:
        self.said = Said()
        self._host = host
        self._chance = chance
        self._hostile = hostile

    async def play(self, steps: int) -> None:
        """Say `steps` things, at random times."""
        for _ in range(steps):
            if self._hostile and self._chance.random() < 0.35:
                await self._say_line(self._odd_line())
            else:
                await self.say(self._sensible())
            if self._chance.random() < 0.5:
                await anyio.sleep(self._chance.random() * PAUSE_S)

    async def say(self, command: Command) -> None:
        await self._say_line(checks.line_of(command))

    async def _say_line(self, line: bytes) -> None:
        """Send one line, perhaps in two writes; note what it is by the specification."""
        end = self._chance.choice((b"\n", b"\r\n"))
        found = judged(line, end)
        if found is not None:
            self.said.commands.append(found)
        elif line.strip(b" \t\r"):
            self.said.malformed += 1
        at = self._chance.randrange(len(line) + 1) if self._hostile else 0
        for part in (line[:at], line[at:] + end):
            if part:
                await self._host.say_raw(part)

    def _sensible(self) -> Command:
        chance = self._chance
        match chance.randrange(10):
            case 0 | 1 | 2:
                return {"type": "message", "msg_id": f"m{chance.randrange(10**6)}", "content": "go"}
            case 3 | 4 | 5 | 6:
                return self._answer()
            case 7:
                return {"type": chance.choice(("ping", "list_pending", "list_grants"))}
            case 8 if chance.random() < 0.5:
                return {"type": "stop"}
            case _:
                return self._from_grammar() if self._hostile else {"type": "get_history"}

    def _answer(self) -> Command:
        """Answer a question, most often one that is open."""
        call_id = self._chance.choice(self._call_ids())
        answer: Command = {"type": "tool_approve", "call_id": call_id, "answer": "a"}
        if self._chance.random() < 0.35:
            answer = {"type": "tool_deny", "call_id": call_id, "stop": self._chance.random() < 0.2}
        return answer

    def _call_ids(self) -> list[str]:
        settled = {event["call_id"] for event in self._host.of("call_settled")}
        asked = [event["call_id"] for event in self._host.of("tool_request")]
        return [each for each in asked if each not in settled] or [*asked[-2:], "never"]

    def _from_grammar(self) -> Command:
        """Return a command made from the schema, with ids that mean something, perhaps."""
        chance = self._chance
        command: Command = made(definitions()[chance.choice(commands())], chance)
        known = {
            "call_id": self._call_ids(),
            "resume_token": [e["resume_token"] for e in self._host.of("suspend")],
            "digest": [e["digest"] for e in self._host.of("tool_request")],
            "after": self._call_ids(),
        }
        for name, values in known.items():
            if name in command and values and chance.random() < 0.8:
                command[name] = chance.choice(values[-5:])
        if "request_id" in command and chance.random() < 0.8:
            command["request_id"] = f"r{chance.randrange(10**9)}"
        if command["type"] == "add_mcp_server":  # it may start nothing and reach nobody
            command = {"type": "add_mcp_server", "name": "n", "transport": "stdio"}
            command["command"] = "/nonexistent/server"
        if command.get("args") is not None:
            command["args"] = {"command": "touch marker-edited", "file_path": "marker-edited"}
        return command

    def _odd_line(self) -> bytes:
        if self._chance.random() < 0.01:
            size = LINE_BYTES - 60 + self._chance.randrange(100)
            return b'{"type":"ping","pad":"' + b"x" * size + b'"}'
        command = self._sensible()
        if command["type"] in ("add_mcp_server", "tool_approve"):  # they start things
            command = {"type": "tool_deny", "call_id": "never", "reason": "é"}
        return mutated(command, self._chance)


@dataclass(slots=True)
class Played:
    """One round, over: what was sent, what was heard, how it ended."""

    flags: tuple[str, ...]
    said: Said
    heard: list[dict[str, Any]]
    exit_code: int
    ended_by: signal.Signals | None
    log: str
    workspace: Path
    cut_short: bool  # the time to say goodbye was over before the turn had ended


async def round_of(seed: int, *, host: bool, model: bool) -> Played:
    """Play and check the round of `seed`; `host` and `model` say who is hostile.

    Raises:
        AssertionError: the engine broke a promise, or hung.
    """
    chance = Random(f"{seed}{host}{model}")
    with (
        tempfile.TemporaryDirectory(prefix="wcore-soak-") as place,
        waiting.patience("the end of a round", limit_s=waiting.LONG_S),
    ):
        workspace = Path(place) / "workspace"
        workspace.mkdir()
        (workspace / "seen.txt").write_text("seen\n")
        replies = Scripted(chance, hostile=model).replies(chance.randint(3, 15))
        script = write_script(Path(place), tuple(replies))
        flags = chance.choice(FLAGS)
        told = ["--model", f"script:{script}", *flags]
        with (Path(place) / "log").open("w+b") as log:
            talk = Conversation(workspace, told, {}, home=Path(place) / "home")
            talk.log = log
            try:
                played = await _play(talk, chance, hostile=host)
            finally:
                await checks.nothing_left(workspace)
            log.seek(0)
            played.flags, played.log = flags, log.read().decode(errors="replace")
        checks.check(played)
        return played


async def _play(talk: Conversation, chance: Random, *, hostile: bool) -> Played:
    ended_by = chance.choice((None, None, None, *ENDS))
    player = Player(talk, chance, hostile=hostile)
    leaving = time.monotonic()
    async with talk:
        async with anyio.create_task_group() as tasks:
            await talk.ready()
            tasks.start_soon(talk.ended)
            await player.play(chance.randint(5, 150 if hostile else 50))
            calm = chance.random() < 0.5
            if calm:
                await _calm(talk, player)
            leaving = time.monotonic()
            await _end(talk, player, ended_by, calm=calm)
        # A machine without a second for us in the time that a signal leaves: no promise is broken.
        late = ended_by is not None and time.monotonic() - leaving > SHUTDOWN_S
        talk.killed = late and not checks.idle(talk.heard)
    assert talk.exit_code is not None
    ended = (talk.exit_code, ended_by, "", talk.workspace, talk.killed)
    return Played((), player.said, talk.heard, *ended)


async def _end(
    talk: Conversation, player: Player, ended_by: signal.Signals | None, *, calm: bool
) -> None:
    if ended_by:
        talk.signal(ended_by)
        return
    if not calm:  # a stalled model never ends by itself; what else runs is cut by the end
        await player.say({"type": "stop"})
    assert talk.process.stdin
    await talk.process.stdin.aclose()


async def _calm(talk: Conversation, player: Player) -> None:
    """Stop the turn and see that everything sent has been answered, as long as nobody leaves."""
    await player.say({"type": "stop"})
    await player.say({"type": "ping"})
    await waiting.until(
        lambda: _answered(talk, player.said), "all answers", seen=lambda: talk.heard[-5:]
    )
    number = checks.descriptors(talk.process.pid)
    assert number <= checks.DESCRIPTORS_MAX, f"{number} descriptors at rest"


def _answered(talk: Conversation, said: Said) -> bool:
    answers = (("pong", "ping"), ("mcp_failed", "add_mcp_server"))
    each = all(len(talk.of(event)) == len(said.of(command)) for event, command in answers)
    return each and checks.idle(talk.heard)
