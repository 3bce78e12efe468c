"""The command line of `wcore-web`: what is ours, and what is the engine's."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wcore_host.headless import engine_flags as engines

PORT_MAX: Final = 65_535  # of TCP
STORE_FLAGS: Final = ("--store",)  # what `wcore audit` and `wcore sessions` must be told too
USER_FLAGS: Final = ("--user-id",)
EPILOG: Final = """\
wcore-web prints a link. It works once and for 60 seconds; the page that it opens keeps talking to
this server until you close it, also after a reload. Press Enter in this terminal for another link.

The server listens on 127.0.0.1 only. To use it from another machine, let ssh carry it, with the
same port on both sides:  ssh -L 8080:127.0.0.1:8080 HOST  and  wcore-web --port 8080

Without --mode or --force the conversation starts in mode read_only: reading the folder runs
unasked, everything else asks first, with what exactly will happen.

Everything after -- goes to the engine:  wcore-web -- --max-turns 5
Ctrl-C ends the server, the engine and whatever it runs.
"""


@dataclass(frozen=True)
class WebOptions(engines.EngineOptions):
    """What the command line asks for. `port` 0 is any free one."""

    port: int
    opens: bool

    @property
    def folder(self) -> Path:
        """The folder that the engine works in."""
        told = self.told(("--cwd",))
        return Path(told[-1].removeprefix("--cwd=")) if told else Path()

    def again(self, session_id: str | None) -> tuple[str, ...]:
        """Return how it is started again: with that session, or with a new one."""
        kept = engines.without(self.flags, engines.SESSION_FLAGS)
        wanted = () if session_id is None else (f"--resume={session_id}",)
        return (*self.engine, *kept, *wanted)

    def told(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return those of the engine's flags, for its other commands."""
        return engines.only(self.flags, names)


def read(argv: Sequence[str]) -> WebOptions:
    """Return the options; exits with a usage message if they make no sense."""
    ours, rest = engines.split(argv)
    named = _parser().parse_args(ours)
    flags = engines.flags_of(named, rest)
    return WebOptions(engines.engine_of(named), flags, named.port, named.open)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="wcore-web",
        description="Talk with an agent in a browser on this machine. It asks before it acts.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--port", type=_port, default=0, help="where to listen (default: any)")
    parser.add_argument("--open", action="store_true", help="open the link in the browser")
    engines.add_flags(parser)
    return parser


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text[:6]) > PORT_MAX:
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is no port: 0 to {PORT_MAX}")
    return int(text)
