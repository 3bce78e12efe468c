"""What must be true of a round when it is over, whatever was played."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import waiting

from wcore.errors import Code
from wcore.protocol.commands import Introspection

if TYPE_CHECKING:
    from soak.playing import Played

Event = dict[str, Any]

DESCRIPTORS_MAX: Final = 40  # an idle engine has about 15; a leak adds one a call
BROKEN: Final = ("Traceback (most recent call last)", "engine.crashed", "command.failed")
INTROSPECTION: Final = tuple(
    kind.model_fields["type"].default for kind in Introspection.__subclasses__()
)


def line_of(command: dict[str, Any]) -> bytes:
    return json.dumps(command).encode()


def idle(heard: list[Event]) -> bool:
    """Return whether no turn is open."""
    kinds = Counter(event["type"] for event in heard)
    return kinds["stream_start"] == kinds["stream_end"]


def check(played: "Played") -> None:
    """Check everything. Wire, turns and calls were checked by the conversation already."""
    broken = [word for word in BROKEN if word in played.log]
    assert not broken, f"{broken} on stderr: {played.log[-4000:]}"
    errors = [event["error"] for event in played.heard if event["type"] == "error"]
    internal = [error for error in errors if error["code"] == Code.INTERNAL]
    assert not internal, internal
    expected = 128 + played.ended_by if played.ended_by else 0
    assert played.exit_code == expected, f"exit code {played.exit_code}, not {expected}"
    _check_answers(played)
    for event in played.heard:
        if event["type"] in ("call_announced", "tool_request"):
            _check_leave(event, played)
    _check_markers(played)


def _check_answers(played: "Played") -> None:
    """Every command was answered once; after a signal some were not read any more."""
    said, heard = played.said, played.heard
    errors = Counter(e["error"]["code"] for e in heard if e["type"] == "error")
    kinds = Counter(event["type"] for event in heard)
    starts = kinds["stream_start"] + errors[Code.BUSY]
    sent: dict[str, tuple[int, int]] = {
        "pong": (kinds["pong"], len(said.of("ping"))),
        "protocol_error": (errors[Code.PROTOCOL], said.malformed),
        "turn or busy": (starts, len(said.of("message"))),
    }
    for what, (got, wanted) in sent.items():
        assert got == wanted or (played.ended_by and got < wanted), f"{what}: {got} for {wanted}"
    asked = Counter((c["type"], c.get("request_id")) for c in said.of(*INTROSPECTION))
    servers = len(said.of("add_mcp_server"))  # the end cuts a connection off without a word
    assert kinds["mcp_failed"] <= servers, "a server failed that nobody added"
    results = [event for event in heard if event["type"] == "command_result"]
    told = Counter((event["command"], event.get("request_id")) for event in results)
    missing = "" if played.ended_by else asked - told
    assert not told - asked, f"answers to nothing: {told - asked}"
    assert not missing, f"unanswered: {missing}"
    if not played.ended_by:
        configured = len(said.of("set_mode", "set_config"))
        assert kinds["info"] + sum(errors.values()) >= configured, "a setting without an answer"


def _check_leave(event: Event, played: "Played") -> None:
    """A call that ran had a yes: of a person, who answered it, or of a rule somebody set."""
    call_id = event["call_id"]
    ran = any(e["type"] == "tool_running" and e["call_id"] == call_id for e in played.heard)
    if not ran:
        return
    if event["type"] == "tool_request":
        assert _approved(call_id, played), f"{call_id} ran without a yes: {event}"
        return
    said = played.said
    row = event["why"]["row"]
    raised = [c for c in said.of("set_mode") if c["mode"] not in ("default", "ask_every_time")]
    leave = {
        "mode": raised or "--mode" in played.flags or "--force" in played.flags,
        "grant": _granting(played) or said.of("set_tool_override"),
        "tier": said.of("set_agent_tools", "set_tool_override"),
    }
    assert leave.get(row), f"{call_id} ran unasked by the row {row}: {event}"


def _granting(played: "Played") -> list[Event]:
    """Return what the host said that gives a grant."""
    lasting = [c for c in played.said.of("tool_approve") if c.get("scope") not in (None, "once")]
    return lasting + played.said.of("give_grant")


def _approved(call_id: str, played: "Played") -> bool:
    """Return whether a person said yes, and the engine that it was taken as one."""
    about = [e for e in played.heard if e.get("call_id") == call_id]
    tokens = [e["resume_token"] for e in about if e["type"] == "approval_required"]
    said = played.said
    yes = any(each["call_id"] == call_id for each in said.of("tool_approve")) or any(
        each["approved"] and each["resume_token"] in tokens for each in said.of("approval_resume")
    )
    approved_by = [e["by"] for e in about if e.get("outcome") == "approved"]
    if approved_by == ["policy"]:  # a grant that was given while it waited
        return bool(_granting(played))
    return yes and bool(approved_by)


def _check_markers(played: "Played") -> None:
    """What lies in the workspace was put there by calls that were said to run."""
    ran = {e["call_id"] for e in played.heard if e["type"] == "tool_running"}
    shown = [e["tool"]["args"] for e in played.heard if "tool" in e and e["call_id"] in ran]
    settled = [e for e in played.heard if e["type"] == "call_settled"]
    shown += [event.get("args", {}) for event in settled if event["call_id"] in ran]
    allowed = json.dumps(shown)
    found = [path.name for path in played.workspace.rglob("*") if path.is_file()]
    for name in found:
        assert name == "seen.txt" or name.removesuffix("-b") in allowed, f"{name}: nobody said yes"


async def nothing_left(workspace: Path, but: int = 0) -> None:
    """Assert that no process lives in the workspace any more, but one."""
    what = f"the end of all in {workspace}"
    await waiting.until(
        lambda: not _living(workspace, but), what, seen=lambda: _living(workspace, but)
    )


def descriptors(pid: int) -> int:
    return len([*Path(f"/proc/{pid}/fd").iterdir()])


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def _living(workspace: Path, but: int) -> list[str]:
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            inside = (process / "cwd").readlink().is_relative_to(workspace)
            if inside and process.name != str(but):
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found
