"""The command line of `wcore-chat`: what is ours, and what is the engine's."""

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from wcore_host.spawning import DEFAULT_COMMAND

MODE_FLAGS: Final = frozenset(
    {"--mode", "--force", "--auto-approve", "--dangerously-skip-permissions"}
)
PASSED_ON: Final = {  # the engine's flags that are worth teaching here
    "--model": "the language model, e.g. offline (the default without a key) or script:FILE",
    "--provider": "who runs the model",
    "--base-url": "where the provider answers",
    "--cwd": "the folder to work in (default: this one)",
    "--mode": "what runs unasked: default, read_only, auto_edit or force",
    "--max-mode": "the highest mode this session may reach",
    "--approval-ttl": "seconds until an unanswered card counts as no",
    "--resume": "go on with an earlier session",
}
EPILOG: Final = """\
Without --mode or --force the chat starts in mode read_only: reading the folder runs unasked,
everything else asks first, with what exactly will happen. /help in the chat lists the answers.

Everything after -- goes to the engine:  wcore-chat -- --max-turns 5
From a pipe every line is a message, or the answer to the card that is shown; at its end every
open card is refused:  printf 'run git log\\ny\\n' | wcore-chat
"""


@dataclass(frozen=True)
class Options:
    """What the command line asks for."""

    command: tuple[str, ...]
    prompt: str
    has_mode: bool  # the person chose a mode: ours is not sent


def read(argv: Sequence[str]) -> Options:
    """Return the options; exits with a usage message if they make no sense."""
    ours, _, rest = _split(argv)
    named = _parser().parse_args(ours)
    engine = tuple(shlex.split(named.engine)) if named.engine else DEFAULT_COMMAND
    flags: list[str] = []
    for flag in PASSED_ON:
        value = getattr(named, flag[2:].replace("-", "_"))
        if value is not None:
            flags.append(f"{flag}={value}")
    if named.force:
        flags.append("--force")
    flags += rest
    has_mode = any(flag.split("=")[0] in MODE_FLAGS for flag in flags)
    return Options((*engine, *flags), " ".join(named.prompt), has_mode)


def _split(argv: Sequence[str]) -> tuple[list[str], str, list[str]]:
    words = list(argv)
    if "--" not in words:
        return words, "", []
    at = words.index("--")
    return words[:at], "--", words[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="wcore-chat",
        description="Talk with an agent in this terminal. It asks before it acts.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("prompt", nargs="*", help="the first message")
    for flag, about in PASSED_ON.items():
        parser.add_argument(flag, help=about, metavar=flag.rsplit("-", 1)[-1].upper())
    parser.add_argument("--force", action="store_true", help="nothing asks (same as --mode force)")
    parser.add_argument("--engine", help="command line of another engine of this protocol")
    return parser
