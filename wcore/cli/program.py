"""The engine as a program: from the command line to an exit code, whatever goes wrong."""

import gc
import os
import signal
import socket
import sys
import traceback
from contextlib import suppress

from wcore.approval.redaction import Secrets
from wcore.cli import EXIT_CONFIG, EXIT_USAGE, keys, options
from wcore.errors import Code, ConfigError, UsageError, WcoreError


def serve(argv: list[str], link: socket.socket, pid: int) -> int:
    """Serve one host until it closes stdin; `link` is our end of the supervisor `pid`.

    Whatever it returns or raises, the supervisor and all that it started have ended.
    """
    out_fd = 1
    supervisor = None
    secrets = Secrets()
    try:
        chosen = options.read(argv, os.environ)
        provided = keys.taken(chosen.keys_fd, os.environ)
        for key in provided.values():
            secrets.add(key)
        from wcore import stdio  # noqa: PLC0415 - `--version` needs none of this

        in_fd, out_fd = stdio.claim()
        gc.disable()  # what is imported stays: looking through it again and again takes 15 ms
        from wcore.cli import serve as serving  # noqa: PLC0415 - nothing may print before the claim
        from wcore.supervisor.client import Supervisor  # noqa: PLC0415

        gc.freeze()
        gc.enable()
        supervisor = Supervisor(link, pid)
        return serving.run(chosen, provided, (in_fd, out_fd), supervisor, secrets)
    except ConfigError as error:
        hint = " (see wcore --help)" if isinstance(error, UsageError) else ""
        _tell(out_fd, error.code, secrets.redact(f"Engine failed to start: {error}{hint}"))
        return EXIT_USAGE if isinstance(error, UsageError) else EXIT_CONFIG
    except WcoreError as error:
        _tell(out_fd, error.code, secrets.redact(str(error)))
        return EXIT_CONFIG
    except Exception as error:  # noqa: BLE001 - a host must be told of our own mistakes too
        if sys.stderr is not None:
            sys.stderr.write(secrets.redact(traceback.format_exc()))
        text = f"Engine failed to start: internal error: {error!r}"
        _tell(out_fd, Code.INIT, secrets.redact(text))
        return EXIT_CONFIG
    finally:
        if supervisor is None:  # it holds nothing yet
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        else:
            supervisor.close()


def _tell(out_fd: int, code: Code, message: str) -> None:
    """Tell the host in one event why we end, and a person on stderr."""
    from wcore.protocol import codec, events  # noqa: PLC0415 - needed on this path only

    if sys.stderr is not None:
        sys.stderr.write(f"wcore: {message}\n")
    problem = events.Problem(code=code, message=message)
    with suppress(OSError):  # nobody listens; the exit code still says it
        os.write(out_fd, codec.encode(events.Error(error=problem)))
