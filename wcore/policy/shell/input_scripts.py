"""Commands that run what they read on standard input or as a text, and what is known of that."""

import re
from collections.abc import Sequence
from typing import Final

from wcore.policy.shell.program_places import PARTS_MAX, ProgramPlaces, puts_input_into_words
from wcore.policy.shell.runners import SHELLS, is_device, may_start_any, program

PRINTED_CHARS_MAX: Final = 64 * 1024  # `printf` repeats its format for each argument

_VALUED: Final = re.compile(r"[-+][A-Za-z]*[oO]|--rcfile|--init-file")
_TEXT: Final = re.compile(r"-[A-Za-z]*c[A-Za-z]*")
_ONLY_TELL: Final = frozenset(["--version", "--help"])
#: They run each line that they read, or all of it, where no command stands behind them.
_OTHERS: Final = frozenset("su runuser crontab script newgrp sg parallel rush".split())
_ALWAYS: Final = frozenset(["at", "batch"])
_REPLACES: Final = re.compile(r"-[A-Za-z0-9]*[IiJ]|--replace")
_SPLIT_STRING: Final = re.compile(r"-[A-Za-z0]*S(?P<short>.*)|--s[a-z-]*=?(?P<long>.*)", re.DOTALL)
_ESCAPES: Final = {"\\n": "\n", "\\t": "\t", "\\\\": "\\"}
_ESCAPE: Final = re.compile(r"\\.", re.DOTALL)
_CONVERSION: Final = re.compile(r"%(.)", re.DOTALL)

Words = Sequence[str | None]  # `None`: not known


def runs_its_input(words: Words) -> bool:
    """Whether the command `words`, of which the first is the program, runs what it reads.

    Of a runner every later word may be the program, as rules that deny read it.
    """
    if reads_here(words):
        return True
    name = _name(words[0]) if words else ""
    if name in _ALWAYS:
        return True
    if name in _OTHERS:
        return all(word is None or word.startswith("-") for word in words[1:])
    values = tuple(word or "" for word in words)
    if not name or (len(values) > PARTS_MAX and may_start_any(values[:3])):
        return bool(name)
    places = ProgramPlaces(values)
    programs = {*places.programs, *range(places.possible, len(values))}
    at = next((each for each in sorted(programs) if _name(values[each]) in SHELLS), None)
    if at is None:
        return False
    runner, given = words[:at], words[at + 1 :]
    if _ONLY_TELL & set(given[:1]):
        return False
    text, script = _text_and_script(given)
    if puts_input_into_words(runner):
        if any(word is None or _REPLACES.match(word) for word in runner):
            return True  # what is read is put into the text
        return text is None and script is None
    return text is None and (script is None or is_device(script))


def reads_here(words: Words) -> bool:
    """Whether it is the shell itself that runs what the command reads: `source /dev/stdin`."""
    at = next((i for i, word in enumerate(words) if word not in ("command", "builtin")), 0)
    sources = at < len(words) and words[at] in (".", "source")
    given = [word for word in words[at + 1 :] if word != "--"]
    return sources and any(word is None or is_device(word) for word in given[:1])


def printed(words: Words) -> str | None:
    """Return what `echo` or `printf` prints, where that is known."""
    known = [word for word in words[1:] if word is not None]
    if not words or len(known) < len(words) - 1:
        return None
    match _name(words[0]):
        case "echo":
            return _echoed(known)
        case "printf" if known and not known[0].startswith("-"):
            return _formatted(known[0], known[1:])
        case _:
            return None


def split_strings(words: Sequence[str]) -> list[str]:
    """Return the text that `env -S TEXT` makes words of, if there is one; what follows is of it."""
    for at, word in enumerate(words):
        match = _SPLIT_STRING.fullmatch(word)
        if match is not None:
            attached = match["short"] or match["long"]
            behind = words[at + 1 :]
            whole = " ".join([attached, *behind] if attached else behind)
            return [whole.replace("\\_", " ")]  # which is a blank there
    return []


def _name(word: str | None) -> str:
    return program(word).casefold() if word else ""


def text_of(given: Words) -> int | None:
    """Return which of the words behind a shell is the text that it runs, `-c TEXT`; or `None`."""
    return _text_and_script(given)[0]


def _text_and_script(given: Words) -> tuple[int | None, str | None]:
    """Return the same, and the script that the shell runs; empty where the word is not known."""
    at, reads = 0, False
    while at < len(given):
        word = given[at] or ""
        if _TEXT.fullmatch(word):
            behind = at + 1
            while behind < len(given) and (given[behind] or "").startswith(("-", "+")):
                behind += 1  # `bash -c -x TEXT`
            return (behind if behind < len(given) else None), None
        if not word.startswith(("-", "+")) or word in ("-", "--"):
            at += word in ("-", "--")
            break
        reads = reads or ("s" in word and not word.startswith("--"))
        at += 2 if _VALUED.fullmatch(word) else 1
    return None, None if reads or at >= len(given) else given[at] or ""


def _echoed(words: list[str]) -> str | None:
    options = [word for word in words if re.fullmatch(r"-[neE]+", word)]
    text = " ".join(words[len(options) :])
    return _unescaped(text) if any("e" in option for option in options) else text


def _formatted(template: str, words: list[str]) -> str | None:
    kinds = [match[1] for match in _CONVERSION.finditer(template)]
    plain = _unescaped(template)
    if plain is None or not set(kinds) <= {"s", "%"}:
        return None
    each = kinds.count("s")
    parts = [words[at : at + each] for at in range(0, len(words), each)] if each else []
    if len(parts) * len(plain) > PRINTED_CHARS_MAX:
        return None
    return "".join(_filled(plain, part) for part in parts or [[]])


def _filled(template: str, words: list[str]) -> str:
    left = iter(words)
    return _CONVERSION.sub(lambda m: "%" if m[1] == "%" else next(left, ""), template)


def _unescaped(text: str) -> str | None:
    """Return the text with its escapes, where they are the usual ones."""
    if any(match[0] not in _ESCAPES for match in _ESCAPE.finditer(text)):
        return None
    return _ESCAPE.sub(lambda match: _ESCAPES[match[0]], text)
