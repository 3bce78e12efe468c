"""The log is read by whoever helps: no secret stands in it, not even in another's traceback."""

import json
import logging

from wcore.approval.redaction import Secrets
from wcore.cli.log import Lines

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
