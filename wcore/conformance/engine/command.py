"""The engine's command line: what a person wrote, with its places filled in."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from wcore.conformance.process import absolute

TTL_FLAG: Final = "--approval-ttl"
DEFAULT_TTL_S: Final = 300.0  # the protocol's own
MODEL: Final = "conformance"
HELP_S: Final = 10.0  # to print its help; no case waits for more
#: What hosts of the protocol family pass, and so what every engine of it takes.
HOST_FLAGS: Final = frozenset(
    "--json-stream --provider --model --max-tokens --max-turns --system-prompt --auto-approve"
    " --base-url --version".split()
)
SESSION_FLAGS: Final = frozenset({"--resume", "--session-id"})  # likewise, if it keeps sessions


class HookMissingError(Exception):
    """The command has no place for what the case needs."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What one start of the engine needs to know."""

    base_url: str
    script: str
    provider: str
    workspace: str
    ttl_s: float | None
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """A command with places: `{base_url} {provider} {model} {script} {workspace} {ttl_s} {flags}`.

    Without `{base_url}` and `{script}` the arguments of existing hosts are added at its end.
    `slack` multiplies every time limit.
    """

    words: tuple[str, ...]
    slack: float = 1.0

    @classmethod
    def of(cls, words: Sequence[str], slack: float = 1.0) -> "Command":
        """Return a command with absolute words; without words it is our own engine.

        Raises:
            UsageError: there is no such program.
        """
        if not words:
            return cls((sys.executable, "-P", "-m", "wcore"), slack)
        return cls(absolute(words), slack)

    @property
    def is_host_style(self) -> bool:
        """Whether the arguments of existing hosts are added."""
        return not self.has("{base_url}") and not self.is_scripted

    @property
    def is_scripted(self) -> bool:
        """Whether the engine replays a file, instead of asking a provider."""
        return self.has("{script}")

    def has(self, place: str) -> bool:
        """Whether the command has this place."""
        return any(place in word for word in self.words)

    @cached_property
    def help_text(self) -> str:
        """What the engine prints for `--help`; empty if it does not."""
        pairs = zip(self.words, (*self.words[1:], ""), strict=True)
        bare = [
            word
            for word, after in pairs
            if "{" not in word and not (word.startswith("-") and "{" in after)
        ]
        try:
            done = subprocess.run(
                [*bare, "--help"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=HELP_S * self.slack,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.decode(errors="replace")

    def argv(self, setting: Setting) -> list[str]:
        """Return the whole command line of one start.

        Raises:
            HookMissingError: a case needs what the command has no place for.
        """
        flags = list(setting.flags)
        if setting.ttl_s is not None and not self.has("{ttl_s}"):
            flags += [TTL_FLAG, f"{setting.ttl_s:g}"]
        self._check(flags, setting)
        fill = {
            "{base_url}": setting.base_url,
            "{script}": setting.script,
            "{provider}": setting.provider,
            "{model}": MODEL,
            "{workspace}": setting.workspace,
            "{ttl_s}": f"{setting.ttl_s or DEFAULT_TTL_S:g}",
        }
        argv: list[str] = []
        for word in self.words:
            if word == "{flags}":
                argv += flags
                continue
            for place, value in fill.items():
                word = word.replace(place, value)  # noqa: PLW2901
            argv.append(word)
        if self.is_host_style:
            argv += ["--json-stream", "--provider", setting.provider, "--model", MODEL]
            argv += ["--base-url", setting.base_url]
        return argv if self.has("{flags}") else [*argv, *flags]

    def need(self, word: str) -> None:
        """Make sure that the engine has a flag, or another part that its help names.

        Raises:
            HookMissingError: neither do all hosts use it, nor does `--help` name it.
        """
        if word in HOST_FLAGS or word in self.help_text:
            return
        if word in SESSION_FLAGS and not any(flag in self.help_text for flag in HOST_FLAGS):
            return  # an engine that has no help has not said that it keeps no sessions
        place = ", and the command has no {ttl_s}" if word == TTL_FLAG else ""
        raise HookMissingError(f"the engine's --help does not name {word}{place}")

    def _check(self, flags: Sequence[str], setting: Setting) -> None:
        names = [word for word in flags if word.startswith("--")]
        if names and not self.is_host_style and not self.has("{flags}"):
            raise HookMissingError(f"the command has no {{flags}} for {names[0]}")
        for name in names:
            self.need(name)
        if setting.provider != "openai" and not self.is_host_style and not self.has("{provider}"):
            raise HookMissingError("the command has no {provider}")
