"""Programs that run other programs: a grant of one must say which program it is to run."""

import re
from typing import Final

from wcore.policy.shell.characters import ASSIGNMENT

_DURATION: Final = re.compile(r"[0-9]+(\.[0-9]+)?[smhd]?")
_VERSION: Final = re.compile(r"[-.]?[0-9][0-9.]*$")

#: Followed by the command, with no option before it.
_RUNNERS: Final = frozenset(
    "env timeout nohup setsid nice ionice stdbuf sudo doas xargs watch".split()
)
_SHELLS: Final = frozenset(
    "bash sh zsh dash ash ksh mksh pdksh lksh rbash rzsh yash posh fish csh tcsh elvish nu xonsh"
    " pwsh".split()
)
#: Their command lines are too rich to say what they will run.
_NEVER: Final = frozenset(
    "su chroot unshare nsenter flock script parallel busybox strace gdb"
    " sudo-rs run0 runuser pkexec setpriv systemd-run toybox ltrace proot bwrap".split()
)

Words = tuple[str, ...]


class Refused(Exception):  # noqa: N818 - an answer, in words for people
    """The grant grants nothing."""


def command_words(words: Words) -> Words:
    """Return `words` without leading `NAME=value`."""
    count = next((i for i, w in enumerate(words) if not ASSIGNMENT.match(w)), len(words))
    return words[count:]


def program(head: str) -> str:
    """Return the name by which a program is known: without folder or version."""
    name = head.rsplit("/", 1)[-1]
    return name if name in _RUNNERS or name in _NEVER else _VERSION.sub("", name) or name


def is_runner(head: str) -> bool:
    """Whether a program exists to run others."""
    return program(head) in _RUNNERS | _SHELLS | _NEVER


def check_runner(words: Words) -> Words | None:
    """Return the command within the command `words`, or `None` where there is none to look at.

    Raises:
        Refused: the words do not say which command will run.
    """
    head, rest = words[0], words[1:]
    name = program(head)
    if name in _NEVER:
        raise Refused(f"`{head}` can run any command")
    if name in _SHELLS:
        if not rest or rest[0].startswith(("-", "+", "/dev/", "/proc/")):
            raise Refused(f"`{head}` must be followed by the script that it runs")
        return None
    if name not in _RUNNERS:
        return None
    if name == "timeout":
        if not rest or not _DURATION.fullmatch(rest[0]):
            raise Refused(f"`{head}` must be followed by a duration and a command")
        rest = rest[1:]
    if not rest or rest[0].startswith(("-", "+")):
        raise Refused(f"`{head}` must be followed by the command that it runs")
    return rest


def names_relative_program(words: Words) -> bool:
    """Whether a granted command names a program or script by a path that depends on the folder."""
    inner: Words | None = words
    while inner:
        head, *rest = command_words(inner)
        if "/" in head and not head.startswith("/"):
            return True
        if program(head) in _SHELLS:
            return not rest[0].startswith("/")
        inner = check_runner((head, *rest))
    return False


def hands_to_shell(words: Words) -> bool:
    """Whether a granted command lets a shell read its further arguments again."""
    return any(program(word) == "watch" for word in words)
