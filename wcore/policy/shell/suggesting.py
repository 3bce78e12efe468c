"""Which grants to offer for a command: narrow, honoured, and covering this very command."""

import re
from typing import Final

from wcore.policy.shell.analysis import lex
from wcore.policy.shell.characters import ASSIGNMENT
from wcore.policy.shell.grants import Grant, parse_grant
from wcore.policy.shell.matching import matches
from wcore.policy.shell.model import Analysis, SimpleCommand
from wcore.policy.shell.runners import is_runner, program

SUGGESTIONS_MAX: Final = 3  # a card with more choices is not read

_SUBCOMMAND: Final = re.compile(r"[A-Za-z][A-Za-z0-9:_-]*")
_SCRIPT: Final = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./-]*\.[A-Za-z0-9]+")

#: Programs that do what their arguments say, or that destroy: each use is worth a question.
_NEVER: Final = frozenset(
    "find fd awk gawk mawk nawk sed ed ex vi vim nvim emacs perl ruby lua php tclsh osascript"
    " expect ssh scp rsync tmux screen at batch crontab entr parallel time taskset chrt numactl"
    " prlimit fakeroot rlwrap unbuffer socat nc ncat netcat telnet curl wget npx bunx pnpx uvx pipx"
    " rm rmdir shred unlink dd mkfs mv cp ln install chmod chown chgrp truncate tee tar unzip kill"
    " pkill killall reboot shutdown halt poweroff mount umount systemctl service apt apt-get dnf"
    " yum brew iptables passwd useradd usermod visudo git-shell open xdg-open start".split()
)
#: Programs of which a grant without a subcommand would say too little.
_SUBCOMMAND_NEEDED: Final = frozenset(
    "git gh hg svn npm pnpm yarn bun deno pip pip3 uv poetry pdm hatch conda go dotnet docker"
    " podman kubectl helm terraform aws gcloud az make just task rake gradle mvn ninja bazel"
    " bundle gem composer cmake flutter dart swift mix stack cabal rustup tox nox nix php".split()
)
#: Programs of which the next word is the name of something else to run.
_RUN: Final = {
    "npm": ("run", "run-script"),
    "pnpm": ("run",),
    "yarn": ("run",),
    "bun": ("run",),
    "deno": ("task",),
    "poetry": ("run",),
    "uv": ("run",),
    "bundle": ("exec",),
    "pdm": ("run",),
    "hatch": ("run",),
}
#: Subcommands that run what their arguments name, or that change what other subcommands do.
_SUBCOMMANDS_NEVER: Final = frozenset(
    "exec x dlx eval repl alias config bisect filter-branch submodule difftool mergetool daemon"
    " shell ssh debug attach cp apply login publish repl2 -".split()
)
_SUBCOMMANDS_NEVER_OF: Final = frozenset(
    ["docker run", "podman run", "kubectl run", "go run", "go generate", "go tool", "aws ssm"]
)
_INTERPRETERS: Final = frozenset(["python", "node", "nodejs", "pypy", "tsx", "ts-node"])
_ASSIGNMENTS_OFFERED: Final = frozenset(
    "CI DEBUG NO_COLOR FORCE_COLOR COLUMNS LINES TERM TZ RUST_BACKTRACE RUST_LOG NODE_ENV"
    " PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONHASHSEED GOOS GOARCH CGO_ENABLED".split()
)


def suggest(command: Analysis | str) -> list[str]:
    """Return at most `SUGGESTIONS_MAX` grants, the longest first.

    Each is accepted by `parse_grant` and alone covers the whole text. A `str` is read by the
    lexer only; give an `Analysis` where the text may be long.
    """
    analysis = lex(command) if isinstance(command, str) else command
    if analysis.reason is not None or not analysis.commands:
        return []
    found: list[str] = []
    for count in _lengths(analysis.commands[0]):
        words = (word.source for word in analysis.commands[0].words[:count])
        grant = parse_grant(" ".join(words))
        if isinstance(grant, Grant) and matches(analysis, [grant]).covered:
            found.append(grant.text)
    return found[:SUGGESTIONS_MAX]


def _lengths(command: SimpleCommand) -> list[int]:
    """Return how many leading words sensible grants would have, longest first."""
    words = [word.source if word.is_plain else "" for word in command.words]
    assigned = 0
    while assigned < len(words) and (match := ASSIGNMENT.match(words[assigned])):
        if match[1] not in _ASSIGNMENTS_OFFERED:
            return []
        assigned += 1
    return [assigned + count for count in _sensible(words[assigned:])]


def _sensible(words: list[str]) -> list[int]:
    if not words or not words[0] or is_runner(words[0]):
        return []
    name, second, third = program(words[0]), *(*words[1:3], "", "")[:2]
    if name in _NEVER:
        return []
    if name in _INTERPRETERS:
        return _of_interpreter(second, third)
    if name in _RUN and second in _RUN[name]:
        runs_code = is_runner(third) or program(third) in _NEVER | _INTERPRETERS
        return [3] if _SUBCOMMAND.fullmatch(third) and not runs_code else []
    has_subcommand = _SUBCOMMAND.fullmatch(second) is not None
    if name in _SUBCOMMAND_NEEDED:
        never = second in _SUBCOMMANDS_NEVER or f"{name} {second}" in _SUBCOMMANDS_NEVER_OF
        return [2] if has_subcommand and not never else []
    return [2, 1] if has_subcommand else [1]


def _of_interpreter(second: str, third: str) -> list[int]:
    if second == "-m" and _SUBCOMMAND.fullmatch(third.replace(".", "_")):
        return [3]
    return [2] if _SCRIPT.fullmatch(second) else []
