"""Beginnings of commands, from other engines' patterns to what `Bash(…)` takes here."""

import re
from collections.abc import Sequence
from typing import Final

from wcore.policy.patterns import WILD
from wcore.policy.rules.command_globs import WORDS_MAX
from wcore.policy.shell.characters import PLAIN_WORD
from wcore.policy.shell.parser import RESERVED
from wcore.policy.shell.word_parts import ASSIGNMENT

_LITERAL: Final = re.compile(r"[^'\"\\$;&|<>(){}`\n\r#!]*")  # what the shell takes as it is


def words_of(text: str) -> tuple[list[str], bool]:
    """Return the words that `text` begins with, and whether that is all of it.

    When it is not, the last word may be the beginning of one.
    """
    literal = _LITERAL.match(text)
    found = literal[0] if literal else ""
    whole = found == text
    words = found.split()
    if not whole and found[-1:].isspace():
        words.append("")  # another word begins where the text stops being literal
    return words, whole


def grant_text(words: Sequence[str]) -> str | None:
    """Return what `Bash(…)` takes to allow commands that begin with `words`, if anything."""
    if not words or not all(map(PLAIN_WORD.fullmatch, words)) or "=" in words[0]:
        return None
    return " ".join(words)


def stop_text(words: Sequence[str], *, open_end: bool) -> str | None:
    """Return what `Bash(…)` takes to stop at least every command that begins with `words`.

    `open_end`: the last word may go on. `None`: nothing less than every command will do.
    """
    kept = list(words)
    while len(kept) > open_end and (kept[0] in RESERVED or ASSIGNMENT.match(kept[0])):
        kept.pop(0)
    if len(kept) > WORDS_MAX:
        kept, open_end = kept[:WORDS_MAX], False
    globs = [_as_glob(word) for word in kept]
    if open_end and globs:
        globs[-1] += "*"
        if globs[-1] == "*":
            globs.pop()
    if not globs or "" in globs or ASSIGNMENT.match(kept[0]):
        return None
    return None if len(globs) == 1 and open_end and _may_be_grammar(kept[0]) else " ".join(globs)


def _may_be_grammar(beginning: str) -> bool:
    return any(word.startswith(beginning) for word in RESERVED)


def _as_glob(word: str) -> str:
    return "".join(map(_char, word))


def _char(char: str) -> str:
    if char in WILD:
        return f"[{char}]"
    plain = char.isprintable() and not char.isspace() and char not in "{}"
    return char if plain else "?"
