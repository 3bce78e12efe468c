"""The log is read by whoever helps: no secret stands in it, not even in another's traceback."""

import fcntl
import json
import logging
import os

from wcore.approval.redaction import Secrets
from wcore.cli.log import LINES_MAX, Lines, Writer

KEY = "sk-test-0123456789+/'\"\\x"


def test_what_a_library_says_of_a_secret_is_taken_out_of_message_and_traceback() -> None:
    secrets = Secrets()
    lines = Lines(secrets.redact)
    secrets.add(KEY)
    error = ValueError(f"illegal header value {KEY.encode()!r}")
    told = (logging.WARNING, "x.py", 1, "failed %r", (KEY,), (ValueError, error, None))
    line = lines.format(logging.LogRecord("wcore", *told))
    found = json.loads(line)
    assert found["event"] == "failed '[REDACTED]'"
    assert "illegal header value b'[REDACTED]'" in found["traceback"]
    assert "0123456789" not in line


def test_what_nobody_reads_is_dropped_and_counted() -> None:
    reads, writes = os.pipe()
    size = fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writes, b"x" * size)
    log = Writer(writes)
    log.setFormatter(Lines(str))
    for number in range(LINES_MAX + 100):
        log.emit(logging.LogRecord("wcore", logging.INFO, "x.py", 1, f"{number}", None, None))
    assert os.read(reads, size) == b"x" * size
    found = b""
    while b"log.dropped" not in found:
        found += os.read(reads, size)
    *lines, dropped = map(json.loads, found.splitlines())
    assert [line["event"] for line in lines] == [str(number) for number in range(len(lines))]
    assert dropped == {
        "level": "WARNING",
        "event": "log.dropped",
        "lines": LINES_MAX + 100 - len(lines),
    }
    log.drain()
    os.close(writes)
    os.close(reads)
