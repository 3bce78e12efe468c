"""When a prefix grant covers a shell command. Pure, total, bounded: any `str` gets an answer.

This is the conservative rule: a command is understood only when it is made of plain words,
quotes, `&&`, `||`, `;`, `|` and newlines. Everything else is not covered, with a reason.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

TEXT_BYTES_MAX: Final = 16 * 1024  # longer commands are not read by the person either
COMMANDS_MAX: Final = 200
GRANT_CHARS_MAX: Final = 1024
SUGGESTIONS_MAX: Final = 3

_GRANT_WORD: Final = re.compile(r"[A-Za-z0-9_@%+=:,./-]+|\[")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_TOKEN: Final = re.compile(
    r"(?P<blank>[ \t]+)|(?P<op>&&|\|\||;|\||\n)"
    r"|(?P<word>(?:[A-Za-z0-9_@%+=:,./~*?-]|\[|\]|'[^'\n]*'|\"[^\"\\$`!\n]*\")+)"
)
_RESERVED: Final = frozenset(
    [
        "if",
        "then",
        "elif",
        "else",
        "fi",
        "for",
        "in",
        "do",
        "done",
        "while",
        "until",
        "case",
        "esac",
        "select",
        "function",
        "time",
        "coproc",
        "{",
        "}",
        "!",
        "[[",
        "]]",
    ]
)
_BUILTINS_HONOURED: Final = frozenset(
    [":", "true", "false", "echo", "pwd", "exit", "type", "test", "["]
)
_BUILTINS_REFUSED: Final = frozenset(
    [
        ".",
        "source",
        "eval",
        "exec",
        "command",
        "builtin",
        "export",
        "declare",
        "typeset",
        "local",
        "readonly",
        "unset",
        "set",
        "shopt",
        "trap",
        "alias",
        "unalias",
        "hash",
        "read",
        "mapfile",
        "readarray",
        "let",
        "enable",
        "bind",
        "caller",
        "compgen",
        "complete",
        "compopt",
        "cd",
        "pushd",
        "popd",
        "dirs",
        "printf",
        "getopts",
        "jobs",
        "fg",
        "bg",
        "wait",
        "kill",
        "disown",
        "suspend",
        "umask",
        "ulimit",
        "times",
        "return",
        "break",
        "continue",
        "shift",
        "history",
        "fc",
        "help",
        "logout",
    ]
)
_RUNNERS: Final = frozenset(
    [
        "env",
        "timeout",
        "nohup",
        "setsid",
        "nice",
        "ionice",
        "stdbuf",
        "sudo",
        "doas",
        "xargs",
        "watch",
        "bash",
        "sh",
        "zsh",
        "dash",
        "ksh",
        "fish",
        "su",
        "chroot",
        "unshare",
        "nsenter",
        "flock",
        "script",
        "parallel",
        "busybox",
        "strace",
        "gdb",
        "find",
        "awk",
        "perl",
        "python",
        "python3",
        "ruby",
        "node",
        "eval",
        "ssh",
    ]
)


@dataclass(frozen=True, slots=True)
class Word:
    """A shell word: its byte span in the text, its source, and its value without quotes."""

    span: tuple[int, int]
    source: str
    value: str


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One command of a list or pipeline."""

    words: tuple[Word, ...]

    @property
    def span(self) -> tuple[int, int]:
        return self.words[0].span[0], self.words[-1].span[1]


@dataclass(frozen=True, slots=True)
class Analysis:
    """The simple commands of a text, or the reason and place that stopped the analysis."""

    text: str
    commands: tuple[SimpleCommand, ...] = ()
    reason: str | None = None
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """A parsed prefix grant: the leading words a command must have, one for one."""

    words: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(self.words)


@dataclass(frozen=True, slots=True)
class GrantRefused:
    """A text that grants nothing, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """Whether every command of a text is covered; else the reason and the place."""

    covered: bool
    reason: str | None = None
    span: tuple[int, int] | None = None


def parse_grant(text: str) -> Grant | GrantRefused:
    """Return the words of a grant, or why it cannot be honoured."""
    if len(text) > GRANT_CHARS_MAX:
        return GrantRefused(f"longer than {GRANT_CHARS_MAX} characters")
    words = tuple(re.split(r"[ \t]+", text.strip(" \t"))) if text.strip(" \t") else ()
    if not words:
        return GrantRefused("it is empty")
    if not all(_GRANT_WORD.fullmatch(word) for word in words):
        return GrantRefused("it has characters other than letters, digits and _ @ % + = : , . / -")
    head = words[0]
    if not re.search(r"[A-Za-z0-9\[:]", head) or head.endswith("/"):
        return GrantRefused("it does not begin with a whole command word")
    if _ASSIGNMENT.match(head):
        return GrantRefused("it begins with a variable assignment")
    if head in _RESERVED or head in _BUILTINS_REFUSED:
        return GrantRefused(f"`{head}` changes the shell itself")
    if head.rsplit("/", 1)[-1] in _RUNNERS and len(words) == 1:
        return GrantRefused(f"`{head}` runs other programs")
    return Grant(words)


def analyse(text: str) -> Analysis:
    """Return the simple commands of `text`; linear time, at most `TEXT_BYTES_MAX` bytes."""
    if len(text) > TEXT_BYTES_MAX:
        return Analysis(text, reason="too_long")
    commands: list[SimpleCommand] = []
    words: list[Word] = []
    at = start = 0  # characters, bytes
    joined = False  # the last thing was && || or |: a command must follow
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            width = len(text[at].encode("utf-8", "replace"))
            return Analysis(text, reason="not_plain", span=(start, start + width))
        size = len(token[0].encode())
        match token.lastgroup:
            case "word":
                words.append(_word(token[0], start))
            case "op":
                if not words and token[0] != "\n":
                    return Analysis(text, reason="syntax", span=(start, start + size))
                if words:
                    commands.append(SimpleCommand(tuple(words)))
                    joined = token[0] in ("&&", "||", "|")
                words = []
            case _:
                pass
        at, start = token.end(), start + size
    if words:
        commands.append(SimpleCommand(tuple(words)))
    if not commands or (joined and not words):
        return Analysis(text, reason="empty" if not commands else "syntax")
    return _judged(text, commands)


def matches(analysis: Analysis, grants: Sequence[Grant]) -> Coverage:
    """Return whether each simple command begins with the words of one of `grants`."""
    if analysis.reason is not None:
        return Coverage(covered=False, reason=analysis.reason, span=analysis.span)
    for command in analysis.commands:
        if not any(_begins(command, grant) for grant in grants):
            return Coverage(covered=False, reason="no_grant", span=command.span)
    return Coverage(covered=True)


def covers(command: str, grants: Sequence[Grant]) -> Coverage:
    """Analyse and match in one step."""
    return matches(analyse(command), grants)


def suggest(analysis: Analysis) -> list[str]:
    """Return at most three grants that would cover this very command, narrowest first."""
    if analysis.reason is not None or len(analysis.commands) != 1:
        return []
    words = [word.source for word in analysis.commands[0].words]
    found: list[str] = []
    for count in (2, 1):
        grant = parse_grant(" ".join(words[:count])) if len(words) >= count else None
        if isinstance(grant, Grant) and matches(analysis, [grant]).covered:
            found.append(grant.text)
    return found[:SUGGESTIONS_MAX]


def _judged(text: str, commands: list[SimpleCommand]) -> Analysis:
    if len(commands) > COMMANDS_MAX:
        return Analysis(text, reason="too_many_commands")
    for command in commands:
        head = command.words[0]
        if _ASSIGNMENT.match(head.source):
            return Analysis(text, reason="assignment", span=head.span)
        if head.source in _RESERVED:
            return Analysis(text, reason="compound", span=head.span)
    return Analysis(text, tuple(commands))


def _begins(command: SimpleCommand, grant: Grant) -> bool:
    return tuple(word.source for word in command.words[: len(grant.words)]) == grant.words


def _word(source: str, start: int) -> Word:
    return Word((start, start + len(source.encode())), source, re.sub(r"['\"]", "", source))
