"""Reads the records of one run: strace's system calls and bash's own trace."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from .sandbox import MARK, PARTS, PROBE_END

_HEX_STRING: Final = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(?:\.\.\.)?')
_FORK: Final = re.compile(r"(?:clone3?|fork|vfork)\(.* = (\d+)$")
_CALL: Final = re.compile(r"(\w+)\((.*)\) += (-?\d+|\?)")
_EXEC: Final = re.compile(r'(?:[^"]*, )?("[^"]*"(?:\.\.\.)?), (\[.*?\]|NULL), (\[.*\]|NULL|0x.*)$')
_WRITING: Final = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND")
# Read when a name is looked up, which on other machines means a socket of the name service.
ACCOUNTS: Final = frozenset(["/etc/passwd", "/etc/nsswitch.conf"])
_CHANGING: Final = frozenset(
    "mkdir mkdirat unlink unlinkat rename renameat renameat2 link linkat symlink symlinkat "
    "truncate mknod mknodat chmod fchmodat".split()
)
_TRACE_LINE: Final = re.compile(re.escape(MARK[0]) + "+" + re.escape(MARK[1:]))
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v",
                   "E": "\x1b", "e": "\x1b"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Started:
    """A program was started, or was to be started, by the process image `by`."""

    by: "Image"
    path: str
    argv: tuple[str, ...]
    environ: Mapping[str, str]
    ok: bool
    moved: bool  # the working directory had been changed


@dataclass(frozen=True, slots=True)
class Touched:
    """The process image `by` did something to the world; `what` says what."""

    by: "Image"
    kind: str  # write, change, connect or account lookup
    what: str


@dataclass(frozen=True, slots=True)
class Image:
    """The program a process is running, and the image that started it."""

    path: str
    argv: tuple[str, ...] = ()
    parent: "Image | None" = None


@dataclass(frozen=True, slots=True)
class _Fork:
    child: int


@dataclass(frozen=True, slots=True)
class _Moved:
    pass


_Raw = tuple[str, tuple[str, ...], Mapping[str, str], bool]
_Step = _Fork | _Moved | _Raw | tuple[str, str]


def events(calls: Mapping[int, str]) -> Iterator[Started | Touched]:
    """Yield what happened, each with the image it was done by; order is kept per process."""
    parsed = {pid: list(_parsed(text)) for pid, text in calls.items()}
    children = {step.child for steps in parsed.values() for step in steps
                if isinstance(step, _Fork)}  # fmt: skip
    waiting = [(pid, Image("(strace)"), False) for pid in sorted(set(parsed) - children)]
    while waiting:
        pid, image, moved = waiting.pop(0)
        for step in parsed.get(pid, ()):
            match step:
                case _Fork(child):
                    waiting.append((child, image, moved))
                case _Moved():
                    moved = True
                case (path, argv, environ, ok):
                    yield Started(image, path, argv, environ, ok, moved)
                    image = Image(path, argv, image) if ok else image
                case (kind, what):
                    yield Touched(image, kind, what)


def _parsed(text: str) -> Iterator[_Step]:
    for line in text.splitlines():
        fork = _FORK.match(line)
        call = _CALL.match(line)
        if fork:
            yield _Fork(int(fork[1]))
        elif call and call[1] in ("execve", "execveat"):
            yield _exec(call[2].removesuffix(" <unfinished ...>"), ok=call[3] == "0")
        elif call and call[1] in ("chdir", "fchdir"):
            if call[3] == "0":
                yield _Moved()
        elif call:
            yield from _touch(call[1], call[2])


def _touch(name: str, body: str) -> Iterator[tuple[str, str]]:
    if name in ("open", "openat", "openat2", "creat"):
        if name == "creat" or _WRITING.search(body):
            yield "write", _first(body)
        elif _first(body) in ACCOUNTS:
            yield "account lookup in", _first(body)
    elif name in _CHANGING:
        yield "change", f"{name} {_first(body)}"
    elif name == "connect":
        yield "connect", body[:120]


def _exec(body: str, *, ok: bool) -> _Raw:
    parts = _EXEC.match(body)
    assert parts is not None, f"strace wrote an execve that cannot be read: {body[:200]}"
    split = (item.partition("=") for item in _strings(parts[3]))
    environ = {name: value for name, _, value in split}
    return _strings(parts[1])[0], tuple(_strings(parts[2])), environ, ok


def _strings(text: str) -> list[str]:
    return [
        bytes.fromhex(found[1].replace("\\x", "")).decode("utf-8", "surrogateescape")
        for found in _HEX_STRING.finditer(text)
    ]


def _first(body: str) -> str:
    return next(iter(_strings(body)), "?")


def traced(trace: str) -> Iterator[tuple[str, ...]]:
    """Yield the expanded words of every simple command that bash says it ran."""
    for line in _TRACE_LINE.split(trace)[1:]:
        words = tuple(unquoted(line.partition("\n")[0]))
        if words and words != ("set", "+x", PROBE_END):
            yield words


def unquoted(line: str) -> Iterator[str]:
    r"""Split a line of bash's trace: it quotes with '…', $'…' and backslash only."""
    word: list[str] | None = None
    at = 0
    while at < len(line):
        char = line[at]
        if char == " ":
            if word is not None:
                yield "".join(word)
            word, at = None, at + 1
            continue
        word = [] if word is None else word
        if line.startswith("$'", at):
            piece, at = _ansi_c(line, at + 2)
        elif char == "'":
            end = line.find("'", at + 1)
            end = len(line) if end < 0 else end
            piece, at = line[at + 1 : end], end + 1
        elif char == "\\" and at + 1 < len(line):
            piece, at = line[at + 1], at + 2
        else:
            piece, at = char, at + 1
        word.append(piece)
    if word is not None:
        yield "".join(word)


def _ansi_c(line: str, at: int) -> tuple[str, int]:
    out = ""
    while at < len(line) and line[at] != "'":
        if line[at] != "\\":
            out, at = out + line[at], at + 1
            continue
        octal = re.match(r"[0-7]{3}", line[at + 1 :])
        if octal:
            out, at = out + chr(int(octal[0], 8)), at + 4
        else:
            follower = line[at + 1 : at + 2]
            out, at = out + _ESCAPES.get(follower, follower), at + 2
    return out, at + 1


def shell_state(state: str) -> dict[str, frozenset[str]] | None:
    """Return the parts of the shell's state as sets of lines; None if it did not get to say."""
    if "@ end\n" not in state:
        return None
    found: dict[str, set[str]] = {part: set() for part in PARTS}
    part = "variables"
    for line in re.split(r"\n(?=declare |alias |@ |set |shopt |enable |trap )", state):
        entry = line.rstrip("\n")
        if entry.startswith("@ "):
            part = entry[2:] if entry[2:] in found else part
        else:
            found[part].add(entry)
    return {name: frozenset(lines) for name, lines in found.items()}
