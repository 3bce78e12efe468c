"""Who starts a program cannot tell whether it was forked or executed."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import forked
import pytest
import waiting

TELLING = str(Path(__file__).with_name("telling.py"))
ME = str(os.getpid())


@pytest.fixture(scope="module")
def loaded() -> Iterator[forked.Forking]:
    if sys.platform != "linux":
        pytest.skip("nothing is forked here")
    forking = forked.Forking(dict(os.environ), forked.execute_nursery)
    forking.load()
    forking.install()
    yield forking
    forking.remove()


@pytest.fixture
def forking(loaded: forked.Forking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked, "PROGRAMS", {TELLING, "telling"})
    monkeypatch.setattr(forked.Forking, "is_on", True)


async def told(words: Sequence[str], *, is_forked: bool, **options: Any) -> tuple[object, ...]:
    forked.Forking.is_on = is_forked
    done = await waiting.run_process(
        [sys.executable, *words], input=b"said", check=False, **options
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "words",
    [[TELLING, ME], ["-P", TELLING, ME, "-x", "é", ""], ["-m", "telling", ME]],
    ids=["a file", "words", "a module"],
)
@pytest.mark.parametrize("is_session", [False, True])
@pytest.mark.usefixtures("forking")
async def test_a_program_finds_itself_the_same(
    tmp_path: Path, words: list[str], is_session: bool
) -> None:
    shutil.copy(TELLING, tmp_path)
    with socket.socket() as one, socket.socket() as another:
        options = {
            "cwd": tmp_path,
            "env": {"PATH": os.environ["PATH"], "A": "\udcff"} | forked.read_at_start(os.environ),
            "start_new_session": is_session,
            "pass_fds": [another.fileno(), one.fileno()] if is_session else [],
        }
        executed = await told(words, is_forked=False, **options)
        assert await told(words, is_forked=True, **options) == executed


SPECIAL: dict[str, dict[str, Any]] = {
    "a variable that Python reads at its start": {"env": {**os.environ, "PYTHONUTF8": "1"}},
    "a mask": {"umask": 0o77},
    "a group of processes": {"process_group": 0},
    "a function": {"preexec_fn": os.getpid},
}


@pytest.mark.usefixtures("forking")
def test_a_program_is_forked_where_nothing_special_is_asked_for() -> None:
    def is_forked(*words: str, **options: Any) -> bool:
        with subprocess.Popen(
            [sys.executable, *words, TELLING, ME, "loaded"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            **options,
        ) as process:
            return json.loads(waiting.finish(process).stdout)["loaded"]

    assert is_forked()
    assert is_forked("-P")
    assert not is_forked("-I")
    assert [what for what, options in SPECIAL.items() if is_forked(**options)] == []


@pytest.mark.real
def test_a_test_that_says_so_has_real_programs() -> None:
    assert not forked.Forking.is_on
