"""What the subcommands share: a parser that raises, output that never fails on odd characters."""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from wcore.errors import UsageError, WcoreError


class Parser(argparse.ArgumentParser):
    """Raises `UsageError` instead of leaving the process."""

    def __init__(self, prog: str = "", description: str = "", epilog: str = "") -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def obey(parser: Parser, argv: Sequence[str], environ: Mapping[str, str], names: str) -> int:
    """Run the one of a parser's commands that is named; return its exit code.

    Raises:
        UsageError: the command line is wrong, or names none: `names` are there.
    """
    options = parser.parse_args(argv)
    if not hasattr(options, "run"):
        raise UsageError(f"missing command: {names}")
    return options.run(options, environ)


class OutputError(WcoreError):
    """What was asked for cannot be written to stdout."""


def split_command(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return our words and, from behind `--`, those of a command to run."""
    words = list(argv)
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def write(text: str) -> None:
    """Write lines to stdout; what its encoding lacks is escaped.

    Raises:
        BrokenPipeError: nobody reads stdout any more.
        OutputError: it is closed, or its disk is full.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - closed at the start
        raise OutputError("stdout: closed")
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"stdout: {error.strerror}") from error


def write_json(value: object) -> None:
    """Write one JSON value on one line, in ASCII."""
    write(json.dumps(value) + "\n")


def has_colours() -> bool:
    """Whether stdout is a terminal of somebody who did not switch colours off."""
    wanted = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return wanted and sys.stdout is not None and sys.stdout.isatty()  # pyright: ignore[reportUnnecessaryComparison]
