"""`wcore-web` as a process: how it starts, and that nothing of it is left."""

import os
import signal
import stat
import sys
from pathlib import Path
from subprocess import CompletedProcess

import processes
import pytest
import waiting
from hosts.places import FAKE_ENGINE
from talking import call
from wcore_host.web import __main__ as door
from wcore_host.web import options
from web.conftest import Serve
from web.served import until

WEB = [sys.executable, "-P", "-m", "wcore_host.web"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.real
def test_a_signal_ends_server_engine_and_what_it_runs(serve: Serve, number: signal.Signals) -> None:
    server = serve([call("Bash", command="sleep 600")], flags=("--mode", "force"))
    token = server.enter()
    with server.events(token) as events:
        server.post("/api/say", {"type": "message", "msg_id": "m1", "content": "go"}, token)
        until(events, "tool_running")
        left = processes.below(server.process.pid)
        assert left
        assert server.stop(number) == 0
    waiting.wait_until(lambda: not any(child.is_running() for child in left), f"the end of {left}")
    assert server.said == ""


@pytest.mark.real
def test_an_idle_engine_dies_even_when_the_server_is_killed(serve: Serve) -> None:
    server = serve()
    left = processes.below(server.process.pid)
    server.process.kill()
    waiting.wait_until(lambda: not any(child.is_running() for child in left), f"the end of {left}")


def run(*flags: str) -> CompletedProcess[str]:
    return waiting.run([*WEB, *flags])


def test_an_engine_that_does_not_start_is_an_error_on_one_line() -> None:
    done = run("--engine", f"{sys.executable} -P {FAKE_ENGINE} refuse_start")
    assert done.returncode == 1
    assert done.stderr == "wcore-web: the engine does not start: no key\n"
    assert run("--engine", "/nonexistent").returncode == 1


def test_a_port_that_is_taken_is_an_error_on_one_line(serve: Serve) -> None:
    taken = serve().port
    done = run("--port", str(taken))
    assert done.returncode == 1
    assert done.stderr.startswith(f"wcore-web: cannot listen on 127.0.0.1:{taken}")
    assert len(done.stderr.splitlines()) == 1


def test_help_teaches_and_wrong_usage_is_refused() -> None:
    told = run("--help").stdout
    for needed in ("60 seconds", "127.0.0.1", "ssh -L", "Ctrl-C", "--open"):
        assert needed in told
    assert run("--port", "70000").returncode == 2


def test_engine_flags_are_kept_for_another_engine_but_not_its_session() -> None:
    given = ["--resume=a", "--model", "offline", "--", "--store", "x.db", "--session-id", "b"]
    chosen = options.read(given)
    assert chosen.again("s")[-4:] == ("--model=offline", "--store", "x.db", "--resume=s")
    assert chosen.again(None)[-3:] == ("--model=offline", "--store", "x.db")
    assert chosen.told(options.STORE_FLAGS) == ("--store", "x.db")


def test_the_file_that_leads_a_browser_here_is_private_and_goes_away() -> None:
    with door.private_page("http://127.0.0.1:1/#code=secret") as address:
        assert "secret" not in address
        file = Path(address.removeprefix("file://"))
        assert "#code=secret" in file.read_text()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert file.stat().st_uid == os.getuid()
    assert not file.parent.exists()
