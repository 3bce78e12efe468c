"""Who may change what is allowed, or delete records, from the command line: a person.

A program that a tool runs is not one, whatever it says. Somebody who is not at a terminal says
so with `--yes`.
"""

import sys
from argparse import ArgumentParser

from wcore.cli.subcommand import write
from wcore.errors import Code, WcoreError
from wcore.supervisor.ancestry import INSIDE_CALL, is_inside_call


class NotAgreedError(WcoreError):
    """Nobody who may has agreed; nothing was changed."""

    code = Code.REFUSED


def add_yes(parser: ArgumentParser) -> None:
    """Add the option by which somebody agrees who is not at a terminal."""
    parser.add_argument("--yes", action="store_true", help="do it without asking")


def refuse_inside_call() -> None:
    """Refuse to go on below a tool call.

    Raises:
        NotAgreedError: a tool call has started this process.
    """
    if is_inside_call():
        raise NotAgreedError(f"{INSIDE_CALL}; run this command yourself, in a terminal")


def require(question: str, *, yes: bool, as_json: bool) -> None:
    """Let a person agree: by `yes`, or by an answer to `question` in a terminal.

    Nothing is asked of somebody who wants JSON only.

    Raises:
        NotAgreedError: it was no, or nobody is there to be asked.
    """
    refuse_inside_call()
    if yes:
        return
    if as_json or not sys.stdin.isatty():
        raise NotAgreedError("nobody is asked here, so somebody must have agreed: add --yes")
    write(f"{question} [y/N] ")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotAgreedError("nothing was changed")
