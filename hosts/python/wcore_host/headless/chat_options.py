"""The command line of `wcore-chat`: what is ours, and what is the engine's."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from wcore_host.headless import engine_flags as engines

EPILOG: Final = """\
Without --mode or --force the chat starts in mode read_only: reading the folder runs unasked,
everything else asks first, with what exactly will happen. A card is answered with the arrow keys
and Enter (Esc: no); letters never answer it. /help in the chat lists keys and commands.

  wcore-chat                              on the full screen, if wcore[tui] is installed
  wcore-chat --plain 'run make test'      by lines, with a first message
  wcore-chat --resume ID                  a session of `wcore sessions list`

Everything after -- goes to the engine:  wcore-chat -- --max-turns 5
From a pipe every line is a message, or the answer to the card that is shown; at its end every
open card is refused:  printf 'run git log\\ny\\n' | wcore-chat
The exit code is then 1 if a line was not sent, a turn failed or was cut short, or a card was left.
The answer p (a lasting yes) asks on, a line each: which one, if there are several; the words that
it covers, if they can be edited; how long it is kept (an empty line: this session). b goes back.
"""


@dataclass(frozen=True)
class ChatOptions(engines.EngineOptions):
    """What the command line asks for."""

    prompt: str
    plain: bool = False  # the line host, also where the full screen could be had

    def resuming(self, session_id: str) -> "ChatOptions":
        """Return the same, going on with a stored session."""
        kept = engines.without(self.flags, engines.SESSION_FLAGS)
        return replace(self, flags=(*kept, f"--resume={session_id}"), prompt="")

    def resumes(self, session_id: str) -> bool:
        """Whether this goes on with that stored session."""
        return f"--resume={session_id}" in self.flags

    def fresh(self) -> "ChatOptions":
        """Return the same for a session of its own."""
        return replace(self, flags=engines.without(self.flags, engines.SESSION_FLAGS), prompt="")

    def values(self, *names: str) -> tuple[str, ...]:
        """Return those flags among `names` that are set, for another command of the engine."""
        return tuple(flag for name in names for flag in self.flags if flag.startswith(f"{name}="))


def read(argv: Sequence[str]) -> ChatOptions:
    """Return the options; exits with a usage message if they make no sense."""
    ours, rest = engines.split(argv)
    named = _parser().parse_args(ours)
    flags, prompt = engines.flags_of(named, rest), " ".join(named.prompt)
    return ChatOptions(engines.engine_of(named), flags, prompt, named.plain)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="wcore-chat",
        description="Talk with an agent in this terminal. It asks before it acts.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("prompt", nargs="*", help="the first message")
    engines.add_flags(parser)
    parser.add_argument(
        "--plain", action="store_true", help="lines instead of the full screen (also in a pipe)"
    )
    return parser
