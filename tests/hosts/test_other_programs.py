"""What programs of the same user can reach of host and engine: no key, no memory, no wire."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import waiting
from hosts.places import PYTHON, Place
from hosts.terminals import CHAT
from ordinary import become, give
from talking import call
from wcore_host import DEFAULT_COMMAND, ToolResult, connect

NOSY = Path(__file__).parent / "nosy.py"
KEY = "sk-live-0123456789abcdefXYZ"
NAMES = ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY")
OK: list[object] = [{"text": "ok"}]

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform != "linux", reason="/proc"),
]


def nosy(what: str) -> str:
    return f"{sys.executable} -I {NOSY} {what} {KEY[::-1]}"


def chat(place: Place, said: str, *flags: str, code: int = 0) -> str:
    """Return what a `wcore-chat` of an ordinary user prints, with keys in its environment."""
    give(place.workspace.parent)
    done = waiting.run(
        [*become(), *CHAT, *flags],
        cwd=place.workspace,
        env=place.env | dict.fromkeys(NAMES, KEY),
        said=said,
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def pried(place: Place) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(place.file("pried.json").read_text())
    assert any("-m wcore " in f"{words} " for words in found["above"]), "it saw the engine"
    assert any("wcore_host" in words for words in found["above"]), "and the host"
    return found


def test_a_tool_finds_no_key_and_reads_no_memory(place: Place) -> None:
    run: list[object] = [call("Bash", command=nosy("pry"))]
    chat(place, "go\n", "--force", "--model", place.script(run, OK))
    found = pried(place)
    assert (found["environments"], found["memory"], found["traced"]) == ([], [], [])


def test_a_tool_cannot_speak_for_the_host_nor_for_the_person(place: Place) -> None:
    """It is approved once; then it tries to give itself more."""
    run: list[object] = [call("Bash", command=nosy("pry"))]
    more: list[object] = [call("Bash", command="touch pwned")]
    told = chat(place, "go\ny\n", "--model", place.script(run, more, OK), code=1)
    assert pried(place)["pipes"] == []
    assert told.count("allow Bash?") == 2, "what comes after it asks"
    assert not place.file("pwned").exists()


def test_nobody_sees_a_key_in_an_engine_from_its_first_moment_on(place: Place) -> None:
    """Watched from beside, all the time. A host shows what it was given until it has loaded."""
    give(place.workspace.parent)
    watcher = subprocess.Popen(
        [*become(), *nosy("watch").split()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert waiting.line(watcher) == "watching\n"
    run: list[object] = [call("Bash", command="sleep 0.2"), call("Grep", pattern="x")]
    try:
        chat(place, "go\n", "--force", "--model", place.script(run, OK))
        told = waiting.finish(watcher, "").stdout
    finally:
        watcher.kill()
    seen: list[tuple[str, str, bool]] = json.loads(told)
    engines = [shown for _, words, shown in seen if "-m wcore " in f"{words} "]
    assert engines, "there was one"
    assert not any(engines), "and it never showed the key"
    others = [words for _, words, shown in seen if shown and "wcore_host" not in words]
    assert [words for words in others if "setpriv" not in words] == []


READ = """
import os, sys
from wcore_host.spawn import close_host
env = close_host()
assert env["OPENAI_API_KEY"] == sys.argv[1][::-1]
assert os.environ["KEPT"] == "kept" and "OPENAI_API_KEY" not in os.environ
print("closed", flush=True)
os.read(0, 1)
"""


@pytest.mark.parametrize("who", ["engine", "host"])
def test_not_even_root_reads_a_taken_key_in_the_first_environment(place: Place, who: str) -> None:
    program = ["-m", "wcore"] if who == "engine" else ["-c", READ, KEY[::-1]]
    process = subprocess.Popen(
        [*PYTHON, *program],
        cwd=place.workspace,
        env=place.env | {"KEPT": "kept"} | dict.fromkeys(NAMES, KEY),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert waiting.line(process)
        block = b""
        with suppress(PermissionError):  # of an ordinary user
            block = Path(f"/proc/{process.pid}/environ").read_bytes()
        assert KEY.encode() not in block
        if os.geteuid() == 0:
            assert b"\0KEPT=kept\0" in b"\0" + block
            assert all(f"{name}=".encode() in block for name in NAMES), "only values went"
    finally:
        waiting.finish(process)
    assert process.returncode == 0


TELLS_ITS_ENDS = """
import json, os, stat, sys
kinds = [stat.S_ISSOCK(os.fstat(fd).st_mode) for fd in (0, 1)]
names = ["default"]
caps = dict(tool_approval=True, thinking=False, effort=False, effort_levels=[], mcp=False,
            modes=names, current_mode="default", current_model=repr(kinds))
print(json.dumps(dict(type="ready", version="0", session_id="s", capabilities=caps)), flush=True)
sys.stdin.read()
"""


@pytest.mark.anyio
async def test_the_library_connects_by_sockets_and_leaves_its_program_as_it_is(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    async with connect([*PYTHON, "-c", TELLS_ITS_ENDS]) as engine:
        assert engine.capabilities.current_model == "[True, True]"
    flags = ("--mode", "force", "--model", place.script([call("Bash", command=SHOW)], OK))
    outputs: list[str] = []
    async with connect([*DEFAULT_COMMAND, *flags], cwd=place.workspace) as engine:
        async for event in engine.run_turn("go"):
            outputs += [event.output] if isinstance(event, ToolResult) else []
    assert os.environ["OPENAI_API_KEY"] == KEY
    (shown,) = outputs
    assert KEY not in shown, "the engine was given it, and strips it"
    assert shown.splitlines()[1] == "0"


SHOW = f"printf '%s%s\\n' {KEY[:9]} {KEY[9:]}; env | grep -c _API_KEY"


@pytest.mark.parametrize("told", ["", f'["{KEY}"]', f'{{"OPENAI_API_KEY": "{KEY}"'])
def test_keys_that_cannot_be_read_are_a_usage_error_that_tells_nothing(
    place: Place, told: str
) -> None:
    done = waiting.run(
        ["bash", "-c", 'exec 5<<<"$0"; exec "$@" --keys-fd 5', told, *DEFAULT_COMMAND],
        cwd=place.workspace,
        env=place.env,
    )
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["code"] == "init_failed"
    assert KEY not in done.stdout + done.stderr
