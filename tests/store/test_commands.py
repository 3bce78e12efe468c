"""`wcore audit` and `wcore sessions`, as people and scripts use them."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import waiting
from msgspec.structs import replace
from store.samples import USER, decided, record

from wcore.cli import audit as audit_command
from wcore.cli import sessions as sessions_command
from wcore.errors import ConfigError, UsageError
from wcore.store import (
    AuditDecision,
    AuditSource,
    Kind,
    Record,
    SessionMissingError,
    StoreError,
    audit,
)
from wcore.store import journal as journals
from wcore.store import sessions as stored_sessions
from wcore.store.audit import Entry
from wcore.store.identity import user_id
from wcore.store.location import Location
from wcore.store.opening import opened
from wcore.vocabulary import Json

EVENTS = [
    decided("c1", tool_name="Read", source=AuditSource.MODE),
    decided("c2", decision=AuditDecision.DENIED, source=AuditSource.RULE, rule_id="user:12"),
    decided("c3", decision=AuditDecision.DENIED_WITH_REASON, reason="not on a Friday"),
    decided("c4", tool_name="mcp__github__push", with_override=True),
]


@pytest.fixture
def store(tmp_path: Path) -> Location:
    path = str(tmp_path / "wcore.db")
    return Location(path, path)


@pytest.fixture
def recorded(store: Location) -> Location:
    with opened(store) as database:
        audit.append(database, [Entry.of(event) for event in EVENTS])
    return store


@pytest.fixture
def run(store: Location, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command in this process; return what it printed."""

    def run(*argv: str, code: int = 0) -> str:
        command = {"audit": audit_command, "sessions": sessions_command}[argv[0]]
        assert command.run([*argv[1:]], {"WCORE_STORE": store.path}) == code
        return capsys.readouterr().out

    return run


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.usefixtures("recorded")
def test_the_list_shows_the_newest_decision_first_with_its_cause(run: Callable[..., str]) -> None:
    lines = run("audit", "list").splitlines()
    assert [line.split()[0] for line in lines] == ["4", "3", "2", "1"]
    assert "mcp__github__push  by user (approve always)" in lines[0]
    assert "denied    Bash              by user  c3  “not on a Friday”" in lines[1]
    assert "by rule user:12" in lines[2]
    assert "approved  Read              by mode" in lines[3]


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("flags", "calls"),
    [
        (["--tool", "Bash"], ["c3", "c2"]),
        (["--tool", "mcp__*"], ["c4"]),
        (["--decision", "denied"], ["c2"]),
        (["--decision", "approved", "--limit", "1"], ["c4"]),
        (["--since", "1h"], ["c4", "c3", "c2", "c1"]),
        (["--since", "2999-01-01"], []),
    ],
)
def test_the_list_can_be_narrowed(
    run: Callable[..., str], flags: list[str], calls: list[str]
) -> None:
    rows = objects(run("audit", "list", "--json", *flags))
    assert [row["tool_call_id"] for row in rows] == calls


@pytest.mark.usefixtures("recorded")
def test_a_program_gets_every_column_of_every_row(run: Callable[..., str]) -> None:
    row = objects(run("audit", "list", "--json"))[1]
    assert tuple(row) == audit.COLUMNS
    assert (row["decision"], row["reason"]) == ("denied_with_reason", "not on a Friday")


def test_hostile_text_is_shown_and_not_obeyed(store: Location, run: Callable[..., str]) -> None:
    hostile = "x\x1b[2K\u202egpj\ny"
    event = decided(hostile, tool_name=hostile, rule_id=hostile)
    event = replace(event, decision=AuditDecision.DENIED_WITH_REASON, reason=hostile)
    with opened(store) as database:
        audit.append(database, [Entry.of(event)])
    (line,) = run("audit", "list").splitlines()
    assert line.count("⟨U+001B⟩[2K⟨U+202E⟩gpj⏎y") == 4
    assert run("audit", "list", "--json").isascii()


@pytest.mark.usefixtures("recorded")
def test_verify_prints_the_head_and_what_it_cannot_see(run: Callable[..., str]) -> None:
    said = run("audit", "verify")
    assert said.startswith("4 rows, intact\nhead: 4:")
    assert "cannot be seen without --head" in said
    head = said.split("head: ")[1].split()[0]
    assert "without --head" not in run("audit", "verify", "--head", head)


def test_verify_names_what_is_wrong_and_has_an_exit_code_for_it(
    recorded: Location, run: Callable[..., str]
) -> None:
    head = objects(run("audit", "verify", "--json"))[0]["head"]
    with opened(recorded) as database, database.writing():
        database.change("DROP TRIGGER audit_is_never_changed")
        database.change("DROP TRIGGER audit_is_never_deleted")
        database.change("UPDATE agent_tool_approval_audit SET decision = 'approved' WHERE seq = 2")
        database.change("DELETE FROM agent_tool_approval_audit WHERE seq = 4")
    said = run("audit", "verify", code=3)
    assert "altered: row 2 is not as it was written\n3 rows, NOT intact\n" in said
    (result,) = objects(run("audit", "verify", "--head", head, "--json", code=3))
    assert (result["intact"], result["head_checked"]) == (False, True)
    assert [(p["kind"], p["seq"]) for p in result["problems"]] == [("altered", 2), ("truncated", 4)]


def test_without_a_store_nothing_is_made_and_nothing_was_recorded(
    store: Location, run: Callable[..., str]
) -> None:
    assert "nothing has been recorded yet" in run("audit", "list")
    assert run("audit", "list", "--json") == ""
    with pytest.raises(ConfigError, match=r"there is no .*: nothing can be verified"):
        run("audit", "verify")
    assert "truncated" in run("audit", "verify", "--head", f"3:{'a' * 64}", code=3)
    assert run("sessions", "list") == "no session is stored\n"
    assert run("sessions", "list", "--json") == ""
    assert run("sessions", "purge", "--yes", "--all") == "there was nothing to delete\n"
    with pytest.raises(SessionMissingError, match="no stored session 's1'"):
        run("sessions", "show", "s1")
    assert not store.exists


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["audit"], "missing command: list or verify"),
        (["audit", "list", "--since", "tomorrow"], "is no time; write 2026-11-21"),
        (["audit", "list", "--limit", "0"], "not a whole number above 0"),
        (["audit", "list", "--decision", "maybe"], "denied_with_reason"),
        (["audit", "verify", "--head", "12"], "a head is SEQ:HASH"),
        (["sessions"], "missing command: list, show, export or purge"),
        (["sessions", "show"], "required: ID"),
        (["sessions", "list", "--user-id", "me"], "is not a UUID"),
        (["sessions", "purge"], "missing sessions"),
        (["sessions", "purge", "s1", "--all"], "missing sessions"),
        (["sessions", "purge", "--older-than", "-1"], "older-than"),
    ],
)
def test_wrong_usage_is_told(run: Callable[..., str], argv: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        run(*argv)


def test_a_store_of_an_unknown_kind_is_told() -> None:
    with pytest.raises(StoreError, match="give a file or a postgresql:// URL"):
        audit_command.run(["list", "--store", "mysql://x"], {})


# --- sessions ---------------------------------------------------------------------------------


@pytest.fixture
def conversations(store: Location) -> Location:
    """`open` was interrupted in a turn, `done` is idle; both are of this machine's user."""
    with opened(store) as database:
        for name, last in (("open", Kind.STARTED), ("done", Kind.TURN_ENDED)):
            lease = stored_sessions.begin(database, user_id(), name, os.path.realpath("."))
            records = [record(Kind.TURN_STARTED, text="hi\x1b[2J"), record(last)]
            journals.append(database, lease, records, durable=False)
            stored_sessions.release(database, lease)
        stored_sessions.begin(database, USER, "of somebody else", "/w")
    return store


@pytest.mark.usefixtures("conversations")
def test_the_sessions_of_this_user_are_listed_with_their_state(run: Callable[..., str]) -> None:
    done, interrupted = run("sessions", "list").splitlines()
    assert done.startswith("done  hi⟨U+001B⟩[2J  20")
    assert "2 records  idle" in done
    assert "interrupted in a turn" in interrupted
    (theirs,) = run("sessions", "list", "--user-id", str(USER)).splitlines()
    assert f"in use by process {os.getpid()} on this machine" in theirs
    assert "nobody  (without words)  20" in theirs.replace("of somebody else", "nobody")
    listed = objects(run("sessions", "list", "--json"))[1]
    assert (listed["state"], listed["title"]) == ("in_turn", "hi⟨U+001B⟩[2J")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("  mend the\n\tparser\n", "mend the⏎⇥parser"),
        ('say "text":"no" \\ \u202e', 'say "text":"no" \\ ⟨U+202E⟩'),
        ("a" * 81, "a" * 79 + "…"),
        ("\U0001f600" * 5000, "\U0001f600" * 79 + "…"),
        ("\ud800", "⟨U+D800⟩"),
        (" \n", None),
    ],
)
def test_a_session_is_called_after_its_first_message_on_one_line(
    store: Location, run: Callable[..., str], text: str, title: str | None
) -> None:
    first: dict[str, Json] = {"msg_id": '"text":"m1"', "text": text, "files": []}
    with opened(store) as database:
        lease = stored_sessions.begin(database, user_id(), "s", "/w")
        started = [Record(Kind.TURN_STARTED, first), Record(Kind.TURN_STARTED, {"text": "next"})]
        records = [Record(Kind.OPENED, {}), *started]
        journals.append(database, lease, records, durable=False)
    (listed,) = objects(run("sessions", "list", "--json"))
    assert listed["title"] == title


@pytest.mark.usefixtures("conversations")
@pytest.mark.parametrize("name", ["done", "latest"])
def test_a_session_is_shown_with_its_records_and_hostile_text_is_visible(
    run: Callable[..., str], name: str
) -> None:
    head, first, second = run("sessions", "show", name, "--journal").splitlines()
    assert head.startswith("done  ")
    assert 'turn_started  {"text": "hi\\u001b[2J"}' in first
    assert "turn_ended    {}" in second


@pytest.mark.usefixtures("conversations")
def test_an_export_is_the_session_and_then_its_records(run: Callable[..., str]) -> None:
    head, *records = objects(run("sessions", "export", "open"))
    assert (head["session_id"], head["records"]) == ("open", 2)
    assert [(entry["seq"], entry["kind"]) for entry in records] == [
        (1, "turn_started"),
        (2, "started"),
    ]
    assert records[0]["body"] == {"text": "hi\x1b[2J"}
    assert objects(run("sessions", "show", "open", "--json")) == [head, *records]


@pytest.mark.usefixtures("conversations")
def test_purging_deletes_what_was_named_and_says_so(run: Callable[..., str]) -> None:
    assert run("sessions", "purge", "--yes", "done") == "deleted done\n"
    (purged,) = objects(run("sessions", "purge", "--yes", "--all", "--json"))
    assert purged == {"purged": ["open"], "in_use": [], "remains": False}
    in_use = run("sessions", "purge", "--yes", "--all", "--user-id", str(USER))
    assert in_use == "in use, not deleted: of somebody else\n"
    with pytest.raises(SessionMissingError):
        run("sessions", "purge", "--yes", "done")


@pytest.mark.usefixtures("conversations")
def test_purging_by_age_keeps_what_is_younger(run: Callable[..., str]) -> None:
    assert run("sessions", "purge", "--yes", "--older-than", "1") == "there was nothing to delete\n"
    assert len(run("sessions", "purge", "--yes", "--older-than", "0").splitlines()) == 2


# --- as a program -----------------------------------------------------------------------------


def wcore(*argv: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return waiting.run([sys.executable, "-m", "wcore", *argv], env={**os.environ, **(env or {})})


@pytest.mark.parametrize("argv", [["audit"], ["audit", "verify"], ["sessions"]])
def test_help_teaches(argv: list[str]) -> None:
    done = wcore(*argv, "--help")
    assert done.returncode == 0
    assert "exit codes" in done.stdout or "examples" in done.stdout


def test_a_broken_store_is_one_line_without_a_stack_trace(tmp_path: Path) -> None:
    path = tmp_path / "wcore.db"
    path.write_text("no database")
    done = wcore("audit", "list", "--store", str(path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"wcore audit: the store {path} cannot be used")
    assert done.stderr.count("\n") == 1


def test_the_store_of_the_state_folder_is_used(recorded: Location, tmp_path: Path) -> None:
    state = tmp_path / "state"
    (state / "wcore").mkdir(parents=True)
    Path(recorded.path).rename(state / "wcore" / "wcore.db")
    done = wcore("audit", "list", env={"XDG_STATE_HOME": str(state), "WCORE_STORE": ""})
    assert len(done.stdout.splitlines()) == 4
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(("no_color", "coloured"), [(None, True), ("1", False)])
def test_colours_are_for_terminals_of_people_who_want_them(
    recorded: Location, no_color: str | None, *, coloured: bool
) -> None:
    ours, theirs = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"}
    with subprocess.Popen(
        [sys.executable, "-m", "wcore", "audit", "list", "--store", recorded.path],
        stdout=theirs,
        env=env | ({"NO_COLOR": no_color} if no_color else {}),
    ) as process:
        os.close(theirs)
        shown = os.read(ours, 65536)
        assert waiting.finish(process).returncode == 0
    os.close(ours)
    assert (b"\x1b[32m" in shown) is coloured
