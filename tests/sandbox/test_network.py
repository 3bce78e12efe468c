"""What programs in a sandbox reach, and what they keep: conversations with the real command."""

import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import processes
import psutil
import pytest
import waiting
from sandbox.test_calls import REQUIRED, Talk, policy
from sandbox.test_command import run, ws
from talking import call

__all__ = ["ws"]
HERE: Final = "127.0.0.2"  # of this machine; not one that programs reach without a proxy
ASK: Final = (
    "exec 3<>/dev/tcp/127.0.0.1/3128;"
    " printf 'GET http://%s:%s/ HTTP/1.0\\r\\n\\r\\n' {host} {port} >&3; head -n 1 <&3"
)


@pytest.fixture
def port() -> Iterator[int]:
    """A server that says what it is."""

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = server.accept()
                with client:
                    client.recv(65536)
                    client.sendall(b"HTTP/1.0 200 here\r\n\r\n")

    with socket.create_server((HERE, 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def test_hosts_are_reached_that_were_named_and_others_told(ws: Path, port: int) -> None:
    script = ASK.format(host=HERE, port=port)
    done = run(ws, script, "--host", f"{HERE}:{port}")
    assert (done.stdout, done.stderr) == ("HTTP/1.0 200 here\r\n", "")
    done = run(ws, script, "--host", "pypi.org")
    assert done.stdout == "HTTP/1.1 403 Forbidden\r\n"
    assert done.stderr == (
        f"wcore sandbox: not among the hosts of the sandbox, so not reached: {HERE}:{port}\n"
    )


def test_the_policy_of_the_person_names_hosts(ws: Path, port: int) -> None:
    config = ws.parent / ".config" / "wcore"
    config.mkdir(parents=True)
    (config / "policy.toml").write_text(f'[sandbox]\nhosts = ["{HERE}:{port}"]\n')
    assert run(ws, ASK.format(host=HERE, port=port)).stdout == "HTTP/1.0 200 here\r\n"


@pytest.mark.parametrize("host", ["a b", "https://pypi.org", ""])
def test_what_is_no_host_is_said(ws: Path, host: str) -> None:
    done = run(ws, "true", "--host", host)
    assert done.returncode == 2
    assert "names no host: write pypi.org" in done.stderr


async def test_a_call_tells_what_it_could_not_reach(talk: Talk, tmp_path: Path, port: int) -> None:
    policy(tmp_path, f'["{HERE}:{port}"]')
    command = f"{ASK.format(host=HERE, port=port)}; {ASK.format(host='a.example', port=80)}"
    async with talk([call("Bash", command=command)], [], flags=REQUIRED) as host:
        await host.ready()
        await host.message()
        found = await host.hear("tool_result")
        await host.hear("stream_end")
    assert found["metadata"]["sandbox"]["hosts"] == [f"{HERE}:{port}"]
    assert found["metadata"]["sandbox"]["refused_hosts"] == ["a.example:80"]
    assert found["output"].splitlines() == [
        "HTTP/1.0 200 here",
        "HTTP/1.1 403 Forbidden",
        "[not among the hosts of the sandbox, so not reached: a.example:80]",
    ]


async def test_a_proxy_that_was_killed_is_made_anew_and_ends_with_the_engine(talk: Talk) -> None:
    ask = call("Bash", command=ASK.format(host="a.example", port=80))
    async with talk([ask], [ask], [], flags=REQUIRED) as host:
        await host.ready()
        await host.message()
        await host.hear("tool_result")
        (first,) = proxies(host.process.pid)
        first.kill()
        first.wait(waiting.PATIENCE_S)
        found = await host.hear("tool_result")
        await host.hear("stream_end")
        assert "403 Forbidden" in found["output"]
        (second,) = proxies(host.process.pid)
    await waiting.gone(second.pid)


def proxies(engine: int) -> list[psutil.Process]:
    below = processes.below(engine)
    return [each for each in below if any("proxy.py" in word for word in processes.words(each))]


def test_caches_stay_from_one_program_to_the_next(ws: Path) -> None:
    (ws.parent / ".cache").mkdir()
    (ws.parent / ".cache" / "theirs").write_text("of the person")
    assert run(ws, "ls ~/.cache; echo mine >~/.cache/x").stdout == ""
    assert run(ws, "cat ~/.cache/x").stdout == "mine\n"
    assert not (ws.parent / ".cache" / "x").exists()


def test_what_was_loaded_is_read_where_nothing_can_be_loaded(ws: Path) -> None:
    """Where hosts can be reached, the person's own is not written to."""
    (ws.parent / ".npm").mkdir()
    (ws.parent / ".npm" / "theirs").write_text("x")
    assert run(ws, "ls ~/.npm; touch ~/.npm/x").stdout == "theirs\n"
    assert run(ws, "ls ~/.npm; touch ~/.npm/mine", "--host", "a.example").stdout == ""
    assert run(ws, "ls ~/.npm").stdout == "mine\n"
    assert os.listdir(ws.parent / ".npm") == ["theirs"]


def test_temporary_files_stay_and_are_nobody_elses(ws: Path) -> None:
    """Those of /tmp as well, where nothing is mounted below it: not the workspace, nor Python."""
    assert run(ws, "ls -A /var/tmp; echo x >/var/tmp/x; stat -c %a /var/tmp").stdout == "1777\n"
    assert run(ws, "cat /var/tmp/x").stdout == "x\n"
    other = ws.parent / "other"
    other.mkdir()
    assert run(other, "ls -A /var/tmp").stdout == ""


def test_nothing_is_mounted_through_what_was_left_there(ws: Path) -> None:
    """What a program leaves in /tmp beside the workspace is gone with it."""
    run(ws, f"mv {ws.parent.parent} /tmp/x; ln -s /etc {ws.parent.parent}; ls /tmp")
    assert run(ws, "pwd; echo y >y").stdout == f"{ws}\n"
    assert (ws / "y").read_text() == "y\n"


def closed(folder: Path) -> None:
    folder.chmod(0)


@pytest.mark.parametrize("make", [shutil.rmtree, closed])
def test_a_folder_that_is_gone_is_made_anew(ws: Path, make: Callable[[Path], object]) -> None:
    (ws.parent / ".cache").mkdir()
    run(ws, "true")
    (own,) = (ws.parent / ".local/state/wcore/sandbox").glob("*/")
    make(own / ".cache")
    assert run(ws, "echo x >~/.cache/x; cat ~/.cache/x").stdout == "x\n"


def test_no_mask_is_made_through_what_was_left_there(ws: Path) -> None:
    """bubblewrap sees the machine at /oldroot while it makes what masks need."""
    token, target = ws.parent / ".cache/huggingface/token", ws.parent / "target"
    token.parent.mkdir(parents=True)
    token.write_text("secret")
    target.mkdir()
    run(ws, f"ln -s /oldroot{target} ~/.cache/huggingface")
    done = run(ws, "readlink ~/.cache/huggingface; cat ~/.cache/huggingface/token")
    assert done.stdout == f"/oldroot{target}\n"
    assert list(target.iterdir()) == []
