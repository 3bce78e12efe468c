"""The engine's flags on the command lines of hosts: what hosts of people have in common."""

import argparse
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from wcore_host.spawn import DEFAULT_COMMAND

MODE_FLAGS: Final = frozenset(
    {"--mode", "--force", "--auto-approve", "--dangerously-skip-permissions"}
)
SESSION_FLAGS: Final = frozenset({"--resume", "--session-id"})
PASSED_ON: Final = {  # the engine's flags that are worth teaching in a host
    "--model": "the language model, e.g. offline (the default, with a key too) or script:FILE",
    "--provider": "who runs the model",
    "--base-url": "where the provider answers",
    "--cwd": "the folder to work in (default: this one)",
    "--mode": "what runs unasked: plan, default, read_only, auto_edit, auto_run or force",
    "--max-mode": "the highest mode this session may reach",
    "--approval-ttl": "seconds until an unanswered card counts as no",
    "--resume": "go on with an earlier session (`wcore sessions list` names them)",
    "--session-id": "the name of this session, to resume it by",
    "--store": "where sessions, grants and audit are kept",
}


@dataclass(frozen=True)
class EngineOptions:
    """What the command line of a host says of its engines."""

    engine: tuple[str, ...]  # the program, without flags
    flags: tuple[str, ...]  # what it is told
    env: Mapping[str, str] | None = field(default=None, repr=False, kw_only=True)  # None: ours

    @property
    def command(self) -> tuple[str, ...]:
        """The whole command line of the engine."""
        return (*self.engine, *self.flags)

    @property
    def has_mode(self) -> bool:
        """Whether the person chose a mode: ours is not sent then."""
        return any(flag.split("=")[0] in MODE_FLAGS for flag in self.flags)


class Version(argparse.Action):
    """Prints the program's name and version, which is looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version  # noqa: PLC0415 - not for every start

        print(parser.prog, version("wcore"))  # noqa: T201 - what was asked for
        parser.exit()


def add_version(parser: argparse.ArgumentParser) -> None:
    """Let a parser take `--version`."""
    parser.add_argument("--version", action=Version, nargs=0, help="print the version and exit")


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Let a parser take what goes to the engine, and another engine."""
    add_version(parser)
    for flag, about in PASSED_ON.items():
        parser.add_argument(flag, help=about, metavar=flag.rsplit("-", 1)[-1].upper())
    parser.add_argument("--force", action="store_true", help="nothing asks (same as --mode force)")
    parser.add_argument("--engine", help="command line of another engine of this protocol")


def split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the host's words and, from behind `--`, the engine's."""
    words = list(argv)
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def engine_of(named: argparse.Namespace) -> tuple[str, ...]:
    """Return the program that is the engine."""
    return tuple(shlex.split(named.engine)) if named.engine else DEFAULT_COMMAND


def flags_of(named: argparse.Namespace, rest: Sequence[str]) -> tuple[str, ...]:
    """Return what the engine is told: the flags that were taken, then the words behind `--`."""
    given = ((flag, getattr(named, flag[2:].replace("-", "_"))) for flag in PASSED_ON)
    flags = [f"{flag}={value}" for flag, value in given if value is not None]
    return (*flags, *(["--force"] if named.force else []), *rest)


def without(flags: Sequence[str], names: Collection[str]) -> tuple[str, ...]:
    """Return the flags but those of these names, and their values."""
    return tuple(word for flag in _pairs(flags) if _name(flag) not in names for word in flag)


def only(flags: Sequence[str], names: Collection[str]) -> tuple[str, ...]:
    """Return the flags of these names, and their values."""
    return tuple(word for flag in _pairs(flags) if _name(flag) in names for word in flag)


def _name(flag: Sequence[str]) -> str:
    return flag[0].split("=")[0]


def _pairs(flags: Sequence[str]) -> list[list[str]]:
    """Return each flag with its value, if that stands in a word of its own."""
    found: list[list[str]] = []
    for word in flags:
        if word.startswith("-") or not found:
            found.append([word])
        else:
            found[-1].append(word)
    return found
