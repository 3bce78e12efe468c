"""What a call comes to when the system gives no more."""

import sys

import pytest
import waiting

TRY = """
import resource, threading
from wcore.turn.execution import is_exhausted
{limit}
try:
    {want}
except Exception as error:
    print(is_exhausted(error))
"""
NO_MEMORY = "resource.setrlimit(resource.RLIMIT_AS, (1, 1))"


@pytest.mark.skipif(sys.platform != "linux", reason="not every system has this limit")
@pytest.mark.parametrize(
    ("limit", "want", "told"),
    [
        (NO_MEMORY, "threading.Thread(target=print).start()", "True"),
        (NO_MEMORY, "bytearray(1 << 30)", "True"),
        ("", "raise RuntimeError(1)", "False"),
    ],
)
def test_a_system_that_gives_no_more_is_no_internal_error(limit: str, want: str, told: str) -> None:
    code = TRY.format(limit=limit, want=want)
    done = waiting.run([sys.executable, "-P", "-c", code], check=True)
    assert done.stdout.split() == [told]
