"""The host in bash and jq: its policy, its exit codes, its manners when the engine dies."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import waiting
from hosts.places import FAKE_ENGINE, Place
from talking import call

HOST = Path(__file__).parents[2] / "hosts" / "shell" / "wcore-ask.sh"
ECHO: list[object] = [{"echo": True}]

pytestmark = pytest.mark.skipif(shutil.which("jq") is None, reason="this host needs jq")


def program(folder: Path, *command: str) -> Path:
    """Write a program that runs `command`, in a folder whose name has a blank."""
    path = folder / "my programs" / "engine"
    path.parent.mkdir(exist_ok=True)
    words = " ".join(f"'{word}'" for word in command)
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    path.chmod(0o755)
    return path


def ask(
    place: Place, tmp_path: Path, *words: str, stdin: str = "", engine: Path | None = None
) -> subprocess.CompletedProcess[str]:
    engine = engine or program(tmp_path, sys.executable, "-P", "-m", "wcore")
    return waiting.run(
        [HOST, "--engine", engine, *words], cwd=place.workspace, env=place.env, said=stdin
    )


def test_an_allowed_tool_runs_and_the_rest_is_refused(place: Place, tmp_path: Path) -> None:
    place.file("a.txt").write_text("hello\n")
    calls: list[object] = [
        call("Read", file_path="a.txt"),
        call("Write", file_path="b", content=""),
    ]
    said = ask(
        place, tmp_path, "--allow", "Read,Grep", "go", "--", "--model", place.script(calls, ECHO)
    )
    assert "hello" in said.stderr
    assert "refused Write" in said.stderr
    assert "this script does not allow it" in said.stdout, "the model is told"
    assert not place.file("b").exists()
    assert said.returncode == 3


@pytest.mark.parametrize(
    ("more", "code"), [({}, 0), ({"hosts": ["a.example"]}, 3), ({"outside_sandbox": True}, 3)]
)
def test_a_prefix_says_nothing_of_the_sandbox(
    place: Place, tmp_path: Path, more: dict[str, Any], code: int
) -> None:
    script = place.script([call("Bash", command="echo a b", **more)], ECHO)
    flags = ("--", "--model", script, "--sandbox", "required")
    said = ask(place, tmp_path, "--allow-prefix", "echo ", "go", *flags)
    assert said.returncode == code, said.stderr


def test_everything_allowed_ends_with_zero_and_text_on_stdout(place: Place, tmp_path: Path) -> None:
    said = ask(place, tmp_path, "--allow", "Bash", "--quiet", "run echo $((6*7))")
    assert said.returncode == 0
    assert "42" in said.stdout
    assert said.stderr == ""


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("echo one", 0),
        ("echo one; touch owned", 3),
        ("echo one > owned", 3),
        ("echo $(touch owned)", 3),
        ("echoes one", 3),
    ],
)
def test_a_prefix_covers_commands_and_not_text(
    place: Place, tmp_path: Path, command: str, code: int
) -> None:
    said = ask(place, tmp_path, "--allow-prefix", "echo ", f"run {command}")
    assert said.returncode == code, said.stderr
    assert not place.file("owned").exists()


def test_hostile_text_neither_runs_nor_reaches_the_terminal(place: Place, tmp_path: Path) -> None:
    evil = "$(touch owned) `touch owned` '; touch owned; \" \\n \\x41 %s \x1b]0;x\x07\u202e\n\ttab"
    calls: list[object] = [{"text": evil}, call("Bash", command=f"printf '%s' '{evil}'")]
    said = ask(place, tmp_path, "--allow", "Bash", evil, "--", "--model", place.script(calls, ECHO))
    assert "$(touch owned) `touch owned` '; touch owned; \" \\n \\x41 %s \ufffd]0;x" in said.stdout
    assert "\x1b" not in said.stdout + said.stderr
    assert "\u202e" not in said.stdout + said.stderr
    assert not place.file("owned").exists()


def test_a_prompt_of_a_megabyte_comes_from_standard_input(place: Place, tmp_path: Path) -> None:
    said = ask(
        place, tmp_path, "-", "--", "--model", place.script([{"text": "ok"}]), stdin="x" * 1_000_000
    )
    assert said.stdout == "ok\n"
    assert said.returncode == 0


def test_a_question_gets_the_given_answer_or_a_refusal(place: Place, tmp_path: Path) -> None:
    question = call("AskUserQuestion", question="Which?", options=[{"label": "a"}])
    model = ("--", "--model", place.script([question], ECHO))
    said = ask(place, tmp_path, "--answer", 'both "x"\\n', "go", *model)
    assert 'both \\"x\\"\\\\n' in said.stdout
    assert said.returncode == 0
    assert ask(place, tmp_path, "go", *model).returncode == 3


def test_a_failing_model_is_told_by_the_exit_code(place: Place, tmp_path: Path) -> None:
    broken: list[object] = [{"error": {"message": "503 overloaded"}}]
    said = ask(place, tmp_path, "go", "--", "--model", place.script(broken))
    assert said.returncode == 5
    assert "503 overloaded" in said.stderr


@pytest.mark.parametrize("scenario", ["die_early", "crash", "crash_at_card", "refuse_start"])
def test_it_never_hangs_when_the_engine_dies(place: Place, tmp_path: Path, scenario: str) -> None:
    engine = program(tmp_path, sys.executable, "-P", str(FAKE_ENGINE), scenario)
    said = ask(place, tmp_path, "--allow", "Bash", "x" * 100_000, engine=engine)
    assert said.returncode == 1
    assert "engine" in said.stderr


def test_strange_lines_are_skipped(place: Place, tmp_path: Path) -> None:
    engine = program(tmp_path, sys.executable, "-P", str(FAKE_ENGINE), "strange")
    said = ask(place, tmp_path, "go", engine=engine)
    assert said.stdout == "still here\n"
    assert said.returncode == 0


def test_when_nobody_reads_its_output_the_turn_ends(place: Place, tmp_path: Path) -> None:
    engine = program(tmp_path, sys.executable, "-P", "-m", "wcore")
    said: list[object] = [{"text": "a\n"} for _ in range(50)]
    said.append(call("Bash", command="touch ran.txt"))
    script = place.script(said, ECHO)
    words = [HOST, "--engine", engine, "--allow", "Bash", "go", "--", "--model", script]
    with subprocess.Popen(
        words, cwd=place.workspace, env=place.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as host:
        assert host.stdout
        host.stdout.close()
        done = waiting.finish(host)
    assert done.returncode == 141
    assert "write error" not in done.stderr
    assert not place.file("ran.txt").exists()


@pytest.mark.parametrize("words", [(), ("a", "b"), ("--nope", "a"), ("a", "--allow")])
def test_wrong_usage_is_two(place: Place, tmp_path: Path, words: tuple[str, ...]) -> None:
    assert ask(place, tmp_path, *words).returncode == 2


def test_a_missing_engine_is_named(place: Place, tmp_path: Path) -> None:
    said = ask(place, tmp_path, "go", engine=Path("/nowhere/engine"))
    assert said.returncode == 1
    assert "/nowhere/engine" in said.stderr
