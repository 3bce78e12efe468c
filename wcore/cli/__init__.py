"""From argv and environment to a running engine, and from its end to an exit code.

Exit codes: 0 the host closed stdin, 1 the engine could not start, 2 wrong usage, 128+n ended by
signal n (141: the host closed stdout).
"""

import gc
import os
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from typing import Final, NoReturn

from wcore.cli import keys, options
from wcore.errors import Code, ConfigError, UsageError, WcoreError

EXIT_CONFIG: Final = 1
EXIT_USAGE: Final = 2
EXIT_CLOSED: Final = 141  # nobody reads our stdout
EXIT_INTERRUPTED: Final = 130  # Ctrl-C before the engine could say goodbye itself

#: Each module has `run(argv, environ) -> exit code` and is loaded when it is named.
SUBCOMMANDS: Final = {
    "audit": "wcore.cli.audit",
    "conformance": "wcore.cli.conformance",
    "policy": "wcore.cli.policy",
    "sessions": "wcore.cli.sessions",
    "trust": "wcore.cli.trust",
}


def main() -> NoReturn:
    """Serve one host over stdin and stdout until it closes stdin.

    Leaves by `os._exit`: everything that matters is flushed and every child is dead by then, and
    nothing (a thread parked in a write, an atexit handler of a library) may keep us alive.
    """
    try:
        argv = sys.argv[1:]
        code = _subcommand(argv) if argv and argv[0] in SUBCOMMANDS else _serve(argv)
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except SystemExit as done:  # --help and --version, and nothing else
        code = int(done.code or 0)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, AttributeError):  # closed by the host, or never open
            stream.flush()
    os._exit(code)


def _serve(argv: list[str]) -> int:
    out_fd = 1
    try:
        chosen = options.read(argv, os.environ)
        provided = keys.taken(chosen.keys_fd, os.environ)
        from wcore import stdio  # noqa: PLC0415 - `--version` needs none of this

        in_fd, out_fd = stdio.claim()
        gc.disable()  # what is imported stays: looking through it again and again takes 15 ms
        from wcore.cli import starting  # noqa: PLC0415 - nothing may print before the claim

        gc.freeze()
        gc.enable()

        return starting.run(chosen, provided, in_fd, out_fd)
    except ConfigError as error:
        hint = " (see wcore --help)" if isinstance(error, UsageError) else ""
        _tell(out_fd, error.code, f"Engine failed to start: {error}{hint}")
        return EXIT_USAGE if isinstance(error, UsageError) else EXIT_CONFIG
    except WcoreError as error:
        _tell(out_fd, error.code, str(error))
        return EXIT_CONFIG
    except Exception as error:  # noqa: BLE001 - a host must be told of our own mistakes too
        traceback.print_exc()
        _tell(out_fd, Code.INIT, f"Engine failed to start: internal error: {error!r}")
        return EXIT_CONFIG


def _subcommand(argv: list[str]) -> int:
    """Run what a person or script asked for on the command line; errors go to stderr."""
    try:
        return import_module(SUBCOMMANDS[argv[0]]).run(argv[1:], os.environ)
    except UsageError as error:
        sys.stderr.write(f"wcore {argv[0]}: {error} (see wcore {argv[0]} --help)\n")
        return EXIT_USAGE
    except WcoreError as error:
        sys.stderr.write(f"wcore {argv[0]}: {error}\n")
        return EXIT_CONFIG
    except BrokenPipeError:
        return EXIT_CLOSED


def _tell(out_fd: int, code: Code, message: str) -> None:
    """Tell the host in one event why we end, and a person on stderr."""
    from wcore.protocol import codec, events  # noqa: PLC0415 - needed on this path only

    if sys.stderr is not None:
        sys.stderr.write(f"wcore: {message}\n")
    problem = events.Problem(code=code, message=message)
    with suppress(OSError):  # nobody listens; the exit code still says it
        os.write(out_fd, codec.encode(events.Error(error=problem)))
