"""The command line of `wcore-acp`. What it does not know belongs to the engine."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from wcore_host.headless import engine_flags as engines

EDITORS: Final = ("--cwd", "--resume", "--session-id")  # the editor chooses these per session
DESCRIPTION: Final = """\
Puts the engine into an editor that speaks the Agent Client Protocol (ACP). The editor starts this
program and talks JSON-RPC over its stdin and stdout; you do not run it by hand.
Every session gets an engine process of its own."""
EPILOG: Final = """\
All other flags go to the engine, see wcore --help:
  wcore-acp --provider anthropic --model NAME
  wcore-acp --max-mode auto_edit           no session may run commands unasked
Without --mode or --force a session starts in mode read_only: reading the folder runs unasked,
everything else asks in the editor. The editor's mode menu changes it.

How to configure Zed, JetBrains, Neovim, Emacs, VS Code and Toad: hosts/acp/README.md
"""


class UsageError(Exception):
    """The command line makes no sense; says why."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see wcore-acp --help)")


@dataclass(frozen=True)
class AcpOptions(engines.EngineOptions):
    """What the command line asks for."""

    place: tuple[str, ...]  # flags that say which store, for `sessions list`


def read(argv: Sequence[str]) -> AcpOptions:
    """Return the options; `--help` exits.

    Raises:
        UsageError: they make no sense.
    """
    parser = _Parser(
        prog="wcore-acp",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    engines.add_version(parser)
    parser.add_argument("--engine", help="command line of another engine of this protocol")
    parser.add_argument("--store", metavar="PLACE", help="where sessions are kept")
    parser.add_argument("--user-id", metavar="UUID", help="whose sessions and grants")
    named, flags = parser.parse_known_args(argv)
    for flag in flags:
        if flag.split("=")[0] in EDITORS:
            name = flag.split("=")[0]
            raise UsageError(f"{name} is chosen by the editor for each session; leave it out")
    stored = (("--store", named.store), ("--user-id", named.user_id))
    place = tuple(f"{flag}={value}" for flag, value in stored if value)
    return AcpOptions(engines.engine_of(named), (*flags, *place), place)
