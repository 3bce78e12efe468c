"""Judges a host: runs it once a scenario, with an engine of ours in place of its own."""

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio

from wcore.conformance.cases import Case, Tier
from wcore.conformance.host.fake_engine import Scenario, When
from wcore.conformance.host.scenarios import SCENARIOS
from wcore.conformance.json_object import JsonObject
from wcore.conformance.outcomes import Outcome, Status
from wcore.conformance.process import killed, temporary_folder

PLACE: Final = "{engine}"
HOST_S: Final = 60.0  # for a host to come to its end, the slow start included
CAUGHT_SIGNAL: Final = 128  # shells report a death by signal n as 128 + n
OPTIONAL: Final = frozenset(  # commands and fields that need a flag
    "list_pending list_grants revoke_grant get_history list_permissions set_agent_tools"
    " set_tool_override trust_workspace resume_turn remove_mcp_server".split()
)
_OTHER_HOSTS: Final = {
    When.ASKS: "the host approves by itself (--approves)",
    When.APPROVES: "the host asks a person; of one that does not, --approves says so",
}
OPTIONAL_FIELDS: Final = frozenset({"args", "persist"})


@dataclass(frozen=True, slots=True)
class HostRunner:
    """Judges one host command. `typed` is what is written to its stdin, which then ends.

    `approves`: it is told to say yes by itself, so that scenarios about a person do not apply.
    """

    words: tuple[str, ...]
    typed: bytes
    slack: float = 1.0
    approves: bool = False

    async def run(self, case: Case) -> Outcome:
        """Run one scenario."""
        began = time.monotonic()
        when = SCENARIOS[case.id].when
        if when is (When.ASKS if self.approves else When.APPROVES):
            return Outcome(case, Status.SKIP, _OTHER_HOSTS[when])
        with temporary_folder() as folder:
            seen = await self._run(case.id, Path(folder))
        reason = _problem(SCENARIOS[case.id], case.id, seen)
        seconds = round(time.monotonic() - began, 3)
        if reason is None:
            return Outcome(case, Status.PASS, seconds=seconds)
        transcript = (*(("→", text) for text in seen.commands), ("!", reason))
        log = seen.output[-2000:]
        return Outcome(case, Status.FAIL, reason, "", case.requires, transcript[-15:], log, seconds)

    async def _run(self, scenario: str, folder: Path) -> "Seen":
        engine, report, output = folder / "engine", folder / "report", folder / "output"
        program = [sys.executable, "-P", "-m", "wcore.conformance.host.scenarios"]
        command = shlex.join([*program, scenario, str(report), str(self.slack)])
        engine.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        engine.chmod(0o755)
        report.touch()
        workspace = folder / "workspace"
        workspace.mkdir()
        argv = [word.replace(PLACE, str(engine)) for word in self.words]
        code: int | None = None
        with output.open("wb") as out:
            process = await anyio.open_process(
                argv,
                cwd=workspace,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
            try:
                with anyio.move_on_after(HOST_S * self.slack):
                    assert process.stdin
                    with suppress(anyio.BrokenResourceError):  # a host that reads no input
                        await process.stdin.send(self._typed_in(SCENARIOS[scenario]))
                        await process.stdin.aclose()
                    code = await process.wait()
            finally:
                await killed(process)
        notes: list[JsonObject] = [json.loads(line) for line in report.read_text().splitlines()]
        return Seen(code, notes, output.read_bytes().decode(errors="backslashreplace"))

    def _typed_in(self, scenario: Scenario) -> bytes:
        if scenario.answers is None or not self.typed:
            return self.typed
        return self.typed.partition(b"\n")[0] + b"\n" + scenario.answers.encode()


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of a host: its exit code (`None`: it did not end), what its engine saw."""

    exit_code: int | None
    notes: Sequence[JsonObject]
    output: str

    @property
    def commands(self) -> list[str]:
        """What the host sent."""
        return [note["text"] for note in self.notes if note["kind"] == "heard"]

    def shows(self, texts: Sequence[str]) -> bool:
        """Whether one of these is in what the host showed."""
        return any(text in self.output for text in texts)

    def has(self, kind: str) -> bool:
        """Whether the engine noted this."""
        return any(note["kind"] == kind for note in self.notes)


def host_cases() -> tuple[Case, ...]:
    """Return the scenarios as cases, for lists and reports."""
    return tuple(
        Case(
            id=name,
            title=scenario.title,
            tier=Tier.ADVISORY if scenario.advisory else Tier.MANDATORY,
            requires=scenario.requires,
            steps=(),
            source="host",
        )
        for name, scenario in SCENARIOS.items()
    )


def _problem(scenario: Scenario, name: str, seen: Seen) -> str | None:
    """Return what the host did wrong."""
    if not seen.has("started"):
        return "the host did not start the engine"
    if seen.exit_code is not None and not 0 <= seen.exit_code <= CAUGHT_SIGNAL:
        return f"the host died (exit code {seen.exit_code})"
    for note in seen.notes:
        if note["kind"] == "wrong":
            return note["text"]
    if seen.exit_code is None:
        return "the host does not end after its input and the engine have ended"
    if scenario.crashes and seen.exit_code == 0:
        return "the engine failed, and the host ended with 0 as if nothing had happened"
    if not seen.has("done"):
        return "the host left before the turn was over"
    return _too_much(seen) if name == "baseline" else _unmet(scenario, seen)


def _unmet(scenario: Scenario, seen: Seen) -> str | None:
    """Return what the scenario asks for besides survival, and did not get."""
    approved = ("answered", "tool_approve") in {(n["kind"], n["text"]) for n in seen.notes}
    if scenario.shows and scenario.shows not in seen.output:
        return f"the host does not show {scenario.shows!r} on its stdout or stderr"
    if scenario.hides and scenario.hides in seen.output:
        return "the host shows escape sequences as they are"
    if scenario.told and not seen.has("told"):
        return "the host did not tell the engine to exit, by SIGTERM, when its stdin was closed"
    if scenario.approves_only and approved and not seen.shows(scenario.approves_only):
        return "the host approved what it neither showed in full nor said that it does not"
    return None


def _too_much(seen: Seen) -> str | None:
    for text in seen.commands:
        try:
            command = json.loads(text)
        except (ValueError, RecursionError):
            continue  # shortened for the report
        if command["type"] in OPTIONAL or OPTIONAL_FIELDS & set(command):
            return f"the host uses what no flag announced: {text[:200]}"
    return None
