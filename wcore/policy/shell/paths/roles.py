"""What well-known programs do with the paths among their words. Tables; best effort.

Known writers make a word something that is written; known readers something that is only read.
All others may do either.
"""

import re
from collections.abc import Sequence
from enum import Enum
from typing import Final

from wcore.policy.shell.paths import git_words
from wcore.policy.shell.paths.ignored_words import left_out
from wcore.policy.shell.paths.transfers import transfer
from wcore.policy.shell.runners import may_start_any
from wcore.policy.stops import program

READERS: Final = frozenset(
    "cat tac nl head tail less more ls wc grep egrep fgrep rg file stat du cmp comm diff md5sum"
    " sha1sum sha256sum sha512sum cksum b2sum od hexdump strings"
    " which type cd pushd pwd jq cut rev column fold"
    " paste join bat exa eza tree fd ag ack source . hash".split()
)
WRITERS: Final = frozenset(
    "rm rmdir unlink mv tee ln link touch mkdir mkfifo mknod truncate shred chmod chown chgrp"
    " chattr setfacl sponge split csplit patch ed ex vi vim nvim nano emacs wipefs"
    " gzip gunzip bzip2 bunzip2 xz unxz zip script ar fallocate mktemp objcopy strip"
    " ssh-keygen".split()
)
COPIERS: Final = frozenset("cp install rsync scp".split())
#: Words of these are printed or compared: a text that nobody knows is no path for them.
TELLERS: Final = frozenset(
    "echo printf : true false test [ [[ case realpath readlink basename dirname df tr expr".split()
)
_HAND_ON: Final = frozenset("find fd fdfind xargs parallel".split())  # their words to a writer
_EDITORS: Final = frozenset("sed perl ruby gawk awk".split())  # with `-i`
_IN_PLACE: Final = re.compile(r"-[A-Za-z0-9]*i|--in-place")
_GIT_READS: Final = frozenset(
    "add diff log status show blame commit ls-files grep rev-parse branch describe".split()
)
_GIT_WRITES: Final = frozenset(["restore", "rm", "mv"])
_OUT: Final = re.compile(
    r"--?(?:out|output|output-file|outfile|output-document|target-directory|dump-header|cookie-jar"
    r"|index-file|listed-incremental|trace|trace-ascii|etag-save|libcurl|log-file|logfile)=|of="
)
_OUT_NEXT: Final = frozenset(
    "-o -O --output --output-file --out --outfile --output-document -t --target-directory".split()
)
_TAKES_OUT: Final = re.compile(r"-[A-Za-z]*[oO]")
_TAKES_OUT_NEXT: Final = re.compile(r"-[A-Za-z]*[oO]|--out(?:p|pu|put)?")
#: Options of one program, the next word of which is written.
_OWN_OUT: Final = {
    "find": re.compile(r"-fprint0?|-fprintf|-fls"),
    "openssl": re.compile(r"--?out"),
    "unzip": re.compile(r"-[A-Za-z]*d"),
    "tree": re.compile(r"-[A-Za-z]*o"),
    "less": re.compile(r"-[A-Za-z]*[oO]|--(?:log-file|LOG-FILE)"),
    **dict.fromkeys(("wget", "sort"), _TAKES_OUT_NEXT),
    "curl": re.compile(
        _TAKES_OUT_NEXT.pattern
        + r"|-[A-Za-z]*[Dc]|--(?:dump-header|cookie-jar|trace|trace-ascii|stderr"
        r"|etag-save|hsts|alt-svc|libcurl|output-dir)"
    ),
    **dict.fromkeys(("gcc", "cc", "clang"), re.compile(_TAKES_OUT_NEXT.pattern + r"|-M[FD]|-MMD")),
}
_TAR_MAKES: Final = re.compile(r"--(?:create|append|update|catenate|concatenate|delete)")
_TAR_FILE: Final = re.compile(
    r"(?:-?[A-Za-z]*f|--file)(?:$|(?==)|(?<=f)(?=[^A-Za-z]))=?(?P<attached>.*)"
)
_TAR_FOLDER: Final = re.compile(r"(?:-?[A-Za-z]*C|--(?:directory|cd))=?(?P<attached>.*)")
_TAR_LIST: Final = re.compile(r"--(?:index-file|listed-incremental)$|-g$")
_GIT_FILE: Final = re.compile(r"(?:-f|--file(?:=|$))(?P<attached>.*)")
_GIT_GETS: Final = re.compile(r"--get.*|-l|--list|get|list")
#: Options of readers whose value is run.
_STARTS: Final = {
    "git": re.compile(r"-O.*|--open-files-in-pager(?:=.*)?"),
    "rg": re.compile(r"--(?:pre|hostname-bin)(?:=.*)?"),
    **dict.fromkeys(("bat", "ag", "ack"), re.compile(r"--pager(?:=.*)?")),
    **dict.fromkeys(("fd", "fdfind"), re.compile(r"-[A-Za-z]*[xX]|--exec(?:-batch)?(?:=.*)?")),
}
_LINKS: Final = re.compile(r"-[A-Za-z]*[ls][A-Za-z]*|--(?:link|sym.*)")  # options of `cp`
_MAKES_FOLDERS: Final = re.compile(r"-[A-Za-z]*d.*|--directory")  # options of `install`
_OUT_OPERAND: Final = {"uniq": 2, "xxd": 2}  # which of their operands is written


class Role(Enum):
    """What happens to a path among the words."""

    READ = "read"
    WRITE = "write"
    UNKNOWN = "unknown"
    TOLD = "told"  #: printed or compared: the program opens no path
    LEFT_OUT = "left out"  #: named so that it is not touched


def roles(words: Sequence[str | None]) -> list[Role]:
    """Return the role of each word of a command; `None` stands for one that is not known."""
    head = program(words[0]) if words and words[0] else ""
    found = _roles(head, words)
    plain = tuple(word or "" for word in words)
    if head == "git" or (head and may_start_any(plain)):
        for at in range(1, len(words)):
            inner = program(words[at] or "")
            if inner in WRITERS or inner in COPIERS or inner in _EDITORS or inner == "dd":
                if head in _HAND_ON and inner in WRITERS:  # which gets what the runner was given
                    found = [Role.WRITE] * at
                return [*found[:at], *_roles(inner, words[at:])]
    return found


def _roles(head: str, words: Sequence[str | None]) -> list[Role]:
    usual = _usual(head, words)
    found = [usual] * len(words)
    if head in COPIERS:
        found = _copied(head, words)
    for at, word in enumerate(words):
        if word is None or at == 0:
            continue
        if _OUT.match(word) or (word.startswith("-") and _is_output(head, word)):
            found[at] = Role.WRITE
            if word in _OUT_NEXT and at + 1 < len(words):
                found[at + 1] = Role.WRITE
    for at in _written(head, words):
        found[at] = Role.WRITE
    for at in left_out(head, words):
        found[at] = Role.LEFT_OUT
    for at in _told_to_start(head, words):
        found[at] = Role.UNKNOWN
    return found


def _told_to_start(head: str, words: Sequence[str | None]) -> list[int]:
    """Return which words of a reader may be commands that it runs."""
    found = [*range(1, git_words.command_at(words))] if head == "git" else []
    option = _STARTS.get(head)
    if option is not None:
        starts = (at for at in range(1, len(words)) if option.fullmatch(words[at] or ""))
        found += [at for start in starts for at in (start, start + 1)]
    return [at for at in found if at < len(words)]


def _copied(head: str, words: Sequence[str | None]) -> list[Role]:
    """Return the roles of the words of a copier: options may have a destination attached."""
    makes = {"cp": _LINKS, "install": _MAKES_FOLDERS}.get(head)
    if makes is not None and any(makes.fullmatch(word or "") for word in words):
        return [Role.WRITE] * len(words)  # a link is a way to write what it leads to
    found = transfer(words)
    to = found.to if found else None
    return [
        Role.WRITE if at == to or (word or "").startswith("-") else Role.READ
        for at, word in enumerate(words)
    ]


def _written(head: str, words: Sequence[str | None]) -> list[int]:
    """Return which words one of the programs that have ways of their own writes."""
    if head in ("tar", "gtar", "bsdtar"):
        return _written_by_tar(words)
    if head == "git":
        return _written_by_git(words)
    option = _OWN_OUT.get(head)
    if option is not None:
        return [at for at in range(2, len(words)) if option.fullmatch(words[at - 1] or "")]
    operands = [at for at, word in enumerate(words) if at and (word or "x")[:1] != "-"]
    return operands[_OUT_OPERAND[head] - 1 :] if head in _OUT_OPERAND else []


def _written_by_tar(words: Sequence[str | None]) -> list[int]:
    """Return the archive that is made, or the folder into which one is unpacked."""
    plain = [word or "" for word in words]
    bundles = [word for at, word in enumerate(plain) if at == 1 or re.match(r"-[^-]", word)]
    letters = "".join(word.lstrip("-") for word in bundles if re.fullmatch(r"-?[A-Za-z]+", word))
    makes = not set("crua").isdisjoint(letters) or any(map(_TAR_MAKES.fullmatch, plain))
    unpacks = not makes and ("x" in letters or "--extract" in plain or "--get" in plain)
    found = [at for at in range(1, len(words)) if _TAR_LIST.match(plain[at - 1])]
    if makes or unpacks:
        option = _TAR_FILE if makes else _TAR_FOLDER
        for at in range(1, len(words)):
            is_option = at == 1 or plain[at].startswith("-")
            if is_option and (match := option.match(plain[at])):
                found.append(at if match["attached"] else at + 1)
    return [at for at in found if at < len(words)]


def _written_by_git(words: Sequence[str | None]) -> list[int]:
    """Return which words of a git command are folders and files that it makes."""
    first = git_words.command_at(words)
    plain = [word or "-" for word in words]
    operands = [at for at in range(first + 1, len(words)) if not plain[at].startswith("-")]
    match [*plain[first : first + 1], *(plain[at] for at in operands[:1])]:
        case ["init", _]:
            return operands
        case ["clone", _]:
            return operands[1:][-1:]
        case ["worktree" | "bundle", "add" | "move" | "create"]:
            return operands[1:]
        case ["submodule", "add"]:
            return operands[2:][-1:]
        case ["config", *_] if not any(map(_GIT_GETS.fullmatch, plain)):
            return [
                at if match["attached"] else at + 1
                for at, word in enumerate(plain[:-1])
                if (match := _GIT_FILE.match(word))
            ]
        case _:
            return []


def _is_output(head: str, word: str) -> bool:
    if word in _OUT_NEXT:
        return head not in READERS
    return _TAKES_OUT.match(word) is not None and head in ("curl", "wget", "gcc", "sort", "cc")


def _usual(head: str, words: Sequence[str | None]) -> Role:
    if head in WRITERS:
        return Role.WRITE
    if head in TELLERS:
        return Role.TOLD
    if head in READERS or (head == "command" and words[1:2] in (["-v"], ["-V"])):
        return Role.READ
    if head in _EDITORS and any(word and _IN_PLACE.match(word) for word in words[1:]):
        return Role.WRITE
    if head == "find" and "-delete" in words:
        return Role.WRITE
    if head == "git":
        command = git_words.command(words)
        if command in _GIT_WRITES or (command == "checkout" and "--" in words):
            return Role.WRITE
        return Role.READ if command in _GIT_READS else Role.UNKNOWN
    return Role.UNKNOWN
