"""What changes what is allowed is for a person, and never for what a tool call has started."""

import json
import os
import pty
import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import pytest
import waiting
from policy.asking import trust, wcore

from wcore.cli.main import SUBCOMMANDS
from wcore.cli.subcommand import Parser
from wcore.store import Kind, Location, Record, identity, journal, locate, sessions
from wcore.store.opening import open_database, opened

SUPERVISED = Path(__file__).parent / "supervised.py"
ASKS = (
    "import sys; from wcore.supervisor.ancestry import is_inside_call; "
    "open(sys.argv[1], 'w').write(str(is_inside_call()))"
)
ALLOW_ALL = 'default = "allow"\n'
CODEX = 'prefix_rule(pattern=["ls"], decision="allow")\n'
#: Every subcommand. `changes`: it changes what is allowed or deletes records, so it asks.
#: `narrows` can only forbid; `reads` changes nothing that a later decision looks at.
CONSEQUENCES = {
    "audit list": "reads",
    "audit verify": "reads",
    "conformance": "reads",
    "policy check": "reads",
    "policy explain": "reads",
    "policy import": "reads",
    "policy import --output": "changes",
    "policy lint": "reads",
    "policy rules": "reads",
    "policy simulate": "reads",
    "policy test": "reads",
    "sandbox": "narrows",
    "sessions export": "reads",
    "sessions list": "reads",
    "sessions purge": "changes",
    "sessions show": "reads",
    "trust": "changes",
    "trust --list": "reads",
    "trust --revoke": "narrows",
}
CHANGING = [name for name, what in CONSEQUENCES.items() if what == "changes"]


def answer_of(*before: str, tmp_path: Path, supervised: bool = True) -> str:
    """Return what `is_inside_call` says below the command `before`, which must end after it."""
    told = tmp_path / "told"
    inner = [sys.executable, "-c", ASKS, str(told)]
    if before and before[-1] == "-c":  # a shell, which goes on with a text
        inner = [f"{shlex.join(inner)} {'& wait' if 'wait' in before else ''}"]
        before = tuple(word for word in before if word != "wait")
    command = [*before, *inner]
    if supervised:
        command = [sys.executable, str(SUPERVISED), *command]
    waiting.run(command, check=True)
    return told.read_text()


@pytest.mark.parametrize(
    "before",
    [
        (),
        ("/bin/sh", "-c"),
        ("/usr/bin/env", "-i"),
        ("/usr/bin/setsid", "--wait"),
        ("/usr/bin/nohup",),
        ("/usr/bin/env", "bash", "-c"),
    ],
)
def test_a_descendant_of_a_supervisor_is_inside_a_call(
    before: tuple[str, ...], tmp_path: Path
) -> None:
    assert answer_of(*before, tmp_path=tmp_path) == "True"
    assert answer_of(*before, tmp_path=tmp_path, supervised=False) == "False"


def test_what_has_left_its_parents_is_inside_all_the_same(tmp_path: Path) -> None:
    told = tmp_path / "told"
    twice = (
        "import os, subprocess, sys\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "subprocess.run(sys.argv[1:], check=True, env={})\n"
    )
    inner = [sys.executable, "-c", ASKS, str(told)]
    command = [sys.executable, str(SUPERVISED), sys.executable, "-c", twice, *inner]
    waiting.run(command, check=True)
    assert told.read_text() == "True"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can take /proc away for sure")
def test_without_proc_nothing_is_known_and_so_it_is_inside(tmp_path: Path) -> None:
    hide = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$0" "$@"')
    probe = waiting.run([*hide, "true"])
    if probe.returncode:
        pytest.skip(f"no mount here: {probe.stderr}")
    assert answer_of(*hide, tmp_path=tmp_path, supervised=False) == "True"


def test_a_name_that_only_looks_like_it_is_none(tmp_path: Path) -> None:
    copy = tmp_path / "x (wcore-supervise) S 1"
    copy.symlink_to("/bin/sh")
    assert answer_of(str(copy), "-c", tmp_path=tmp_path, supervised=False) == "False"


# --- the table ------------------------------------------------------------------------------------


class _FoundParserError(Exception):
    """Carries the parser of a subcommand out, before it reads anything."""


def leaves(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    def give(parser: ArgumentParser, *_: object) -> NoReturn:
        raise _FoundParserError(parser)

    monkeypatch.setattr(Parser, "parse_args", give)
    for name, module in SUBCOMMANDS.items():
        try:
            import_module(module).run([], {})
            commands: list[str] = []
        except _FoundParserError as found:
            parser: ArgumentParser = found.args[0]
            actions: list[Any] = parser._actions
            below: list[Any] = [each.choices for each in actions if hasattr(each, "add_parser")]
            commands = [f"{name} {each}" for each in (below[0] if below else ())]
        yield from commands or [name]


def test_every_subcommand_says_what_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    known = set(CONSEQUENCES)
    found = set(leaves(monkeypatch))
    assert found <= known
    assert {name.partition(" --")[0] for name in known} == found


# --- the commands ---------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Location:
    """A store with one session of this user."""
    place = locate(None, {"HOME": str(tmp_path / "home")})
    database = open_database(place)
    lease = sessions.begin(database, identity.user_id(), "s1", "/w")
    ended = [Record(Kind.TURN_STARTED, {"text": "hi"}), Record(Kind.TURN_ENDED, {})]
    journal.append(database, lease, ended, durable=False)
    sessions.release(database, lease)
    database.close()
    return place


def changing(workspace: Path) -> dict[str, list[str]]:
    """Return a command line for each command that changes something, with all that agrees."""
    (workspace / ".wcore").mkdir(exist_ok=True)
    (workspace / ".wcore" / "policy.toml").write_text(ALLOW_ALL)
    (workspace / "theirs").write_text(CODEX)
    listed = json.loads(wcore("trust", ".", "--list", "--json", cwd=workspace).stdout)
    return {
        "trust": ["trust", ".", "--yes", "--digest", listed["digest"]],
        "policy import --output": [
            *("policy", "import", "codex", "theirs", "--output", "made.toml", "--yes"),
        ],
        "sessions purge": ["sessions", "purge", "--all", "--yes"],
    }


def test_the_commands_that_change_something_are_tried(workspace: Path) -> None:
    assert set(changing(workspace)) == set(CHANGING)


def state(workspace: Path, place: Location) -> tuple[bool, bool, int]:
    trusted = json.loads(wcore("trust", ".", "--list", "--json", cwd=workspace).stdout)["trusted"]
    with opened(place) as database:
        kept = len(sessions.list_sessions(database, identity.user_id()))
    return trusted, (workspace / "made.toml").exists(), kept


@pytest.mark.parametrize("name", CHANGING)
def test_inside_a_call_nothing_changes_whatever_is_said(
    name: str, workspace: Path, tmp_path: Path, store: Location
) -> None:
    argv = changing(workspace)[name]
    env = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    inside = [sys.executable, str(SUPERVISED), sys.executable, "-m", "wcore", *argv]
    for more in ([], ["--json"]):
        done = waiting.run([*inside, *more], cwd=workspace, env=env)
        assert (done.returncode, done.stdout) == (1, "")
        assert "inside a tool call" in done.stderr
        assert "Traceback" not in done.stderr
    assert state(workspace, store) == (False, False, 1)


@pytest.mark.parametrize("name", CHANGING)
def test_without_a_terminal_somebody_must_have_agreed(
    name: str, workspace: Path, store: Location
) -> None:
    argv = changing(workspace)[name]
    unsaid = [word for word in argv if word != "--yes"]
    for words in (unsaid, [*unsaid, "--json"]):
        done = wcore(*words, cwd=workspace, stdin=b"y\n")
        assert (done.returncode, done.stdout) == (1, "")
        assert "--yes" in done.stderr
    assert state(workspace, store) == (False, False, 1)
    assert wcore(*argv, cwd=workspace).returncode in (0, 10)  # 10: looser in places, and says so
    assert state(workspace, store) != (False, False, 1)


def test_trust_without_a_terminal_needs_the_digest_of_what_was_listed(workspace: Path) -> None:
    argv = changing(workspace)["trust"]
    assert wcore("trust", ".", "--yes", cwd=workspace).returncode == 1
    (workspace / ".wcore" / "more.md").write_text("x")
    done = wcore(*argv, cwd=workspace)
    assert done.returncode == 1
    assert "not those of that digest" in done.stderr
    assert trust(workspace).returncode == 0


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 1), ("", 1)])
def test_in_a_terminal_the_files_are_shown_and_a_person_is_asked(
    workspace: Path, tmp_path: Path, answer: str, code: int
) -> None:
    changing(workspace)
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "wb", buffering=0) as terminal:
        terminal.write(f"{answer}\n".encode())
        done = waiting.run(
            [sys.executable, "-m", "wcore", "trust", "."],
            cwd=workspace,
            env={"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]},
            stdin=theirs,
        )
    os.close(theirs)
    assert done.returncode == code, done.stderr
    assert 'default = "allow"' in done.stdout
    assert "as shown?" in done.stdout


def test_trust_may_be_taken_back_and_looked_at_inside_a_call(
    workspace: Path, tmp_path: Path
) -> None:
    changing(workspace)
    assert trust(workspace).returncode == 0
    env = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    for more in ("--list", "--revoke"):
        inside = [sys.executable, str(SUPERVISED), sys.executable, "-m", "wcore", "trust", "."]
        done = waiting.run([*inside, more], cwd=workspace, env=env)
        assert done.returncode == 0
