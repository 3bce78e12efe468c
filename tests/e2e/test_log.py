"""The log on stderr: whoever does not read it holds nothing up."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import waiting

PIPE_BYTES = 4096


@pytest.mark.parametrize("ends", ["eof", "TERM"])
def test_an_engine_whose_log_nobody_reads_answers_and_leaves(tmp_path: Path, ends: str) -> None:
    reads, writes = os.pipe()
    fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    os.write(writes, b"x" * PIPE_BYTES)  # full before the engine starts
    folder = tmp_path / "workspace"
    folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "wcore", "--verbose", "--force"],
        cwd=folder,
        env={**os.environ, "HOME": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=writes,
        text=True,
    )
    assert process.stdin is not None
    assert json.loads(waiting.line(process))["type"] == "ready"
    for number in range(3):
        said = {"type": "message", "msg_id": f"m{number}", "content": "run echo hi"}
        process.stdin.write(json.dumps(said) + "\n")
        process.stdin.flush()
        while json.loads(waiting.line(process))["type"] != "stream_end":
            pass
    if ends == "TERM":
        process.send_signal(signal.SIGTERM)
        waiting.wait_until(lambda: process.poll() is not None, "the end by a signal")
    assert waiting.finish(process).returncode == (128 + signal.SIGTERM if ends == "TERM" else 0)
    os.close(writes)
    assert os.read(reads, 2 * PIPE_BYTES) == b"x" * PIPE_BYTES
    os.close(reads)
