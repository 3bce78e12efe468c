"""From argv and environment to a running engine, and from its end to an exit code.

This module imports next to nothing: the supervisor is forked from it, and stays as small as we are.
"""

import os
import sys
from contextlib import suppress
from socket import socket

from wcore.cli import EXIT_CLOSED, EXIT_CONFIG, EXIT_INTERRUPTED, EXIT_USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

#: Each module has `run(argv, environ) -> exit code` and is loaded when it is named.
SUBCOMMANDS = {
    "audit": "wcore.cli.audit",
    "conformance": "wcore.cli.conformance",
    "policy": "wcore.cli.policy",
    "sandbox": "wcore.cli.sandbox",
    "sessions": "wcore.cli.sessions",
    "trust": "wcore.cli.trust",
}


def main() -> "NoReturn":
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
        code = int(done.code or 0) or _flush()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, AttributeError):  # closed by the host, or never open
            stream.flush()
    os._exit(code)


def _flush() -> int:
    """Return the exit code for what was said on stdout, which may not take it."""
    try:
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]
            sys.stdout.flush()
    except BrokenPipeError:
        return EXIT_CLOSED
    except OSError as error:
        sys.stderr.write(f"wcore: stdout: {error.strerror}\n")
        return EXIT_CONFIG
    return 0


def _serve(argv: list[str]) -> int:
    """Fork the supervisor, before anything else is imported; then be the engine."""
    from wcore.supervisor import process  # noqa: PLC0415 - subcommands have none

    link, pid = process.fork(read_shell_texts)
    from wcore.cli import program  # noqa: PLC0415 - the supervisor has none of this

    return program.serve(argv, link, pid)


def read_shell_texts(link: socket) -> None:
    """Be a shell worker, which imports only from where this interpreter has its packages.

    Neither the workspace nor what the environment says has a place there.
    """
    import site  # noqa: PLC0415 - loaded by the interpreter itself, long ago

    library = os.path.dirname(os.__file__)
    ours = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path[:] = [library, os.path.join(library, "lib-dynload"), *site.getsitepackages(), ours]
    from wcore import shell_worker  # noqa: PLC0415 - the supervisor has none of this

    shell_worker.serve(link)


def _subcommand(argv: list[str]) -> int:
    """Run what a person or script asked for on the command line; errors go to stderr."""
    from importlib import import_module  # noqa: PLC0415 - the supervisor has none of this

    from wcore.errors import UsageError, WcoreError  # noqa: PLC0415

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
