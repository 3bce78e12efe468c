"""The examples of `hosts/README.md` run as they are printed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import waiting
from hosts.places import Place

README = Path(__file__).parents[2] / "hosts" / "README.md"


@pytest.fixture
def examples() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def run(
    place: Place, program: str, *args: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a program with a `wcore` on its PATH."""
    folder = place.workspace.parent / "bin"
    folder.mkdir(exist_ok=True)
    command = folder / "wcore"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m wcore "$@"\n')
    command.chmod(0o755)
    return waiting.run(
        [sys.executable, "-P", "-c", program, *args],
        cwd=place.workspace,
        env={**place.env, "PATH": f"{folder}:{place.env['PATH']}"},
        said=stdin,
    )


@pytest.mark.parametrize(("answer", "outcome"), [("y\n", "42"), ("n\n", "denied")])
def test_the_host_without_a_library_asks_and_obeys(
    place: Place, examples: list[str], answer: str, outcome: str
) -> None:
    said = run(place, examples[0], "run echo $((6*7))", stdin=answer)
    assert said.returncode == 0, said.stderr
    assert "Bash wants to run" in said.stdout
    assert outcome in said.stdout
    assert len(examples[0].split("\n")) - examples[0].count("\n\n") <= 30, "it stays short"


def test_the_host_with_the_library_follows_its_policy(place: Place, examples: list[str]) -> None:
    said = run(place, examples[1])
    assert said.returncode == 0, said.stderr
    assert place.file("a.md").read_text().strip() == "# Hello"


def test_the_policy_of_the_example_refuses_commands(place: Place, examples: list[str]) -> None:
    said = run(place, examples[1].replace("write a.md: # Hello", "run touch owned"))
    assert "no commands in this session" in said.stdout
    assert not place.file("owned").exists()
