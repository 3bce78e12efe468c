"""How far the options in front of a subcommand reach, read generously: for saying no.

The tables say of an option whether the next word is its value. Of an option that they do not know,
and of programs that stand in none, both readings count. Words behind an operand are not skipped:
`git log --grep push` is no `git push`.
"""

from functools import lru_cache
from typing import Final

from wcore.policy.shell import runners
from wcore.policy.shell.coverage import COMMANDS, GROUPS
from wcore.policy.shell.option_specs import OptionArgument, OptionSpec, option_spec

#: What some programs take as the value of an option that needs none: `npm --silent true publish`.
_OF_FLAGS: Final = frozenset("true false null always never auto".split())

Words = tuple[str, ...]


def program_key(name: str) -> str:
    """Return the name under which the tables know a program."""
    return name if name in COMMANDS or name in GROUPS else runners.program(name)


def deeper(key: str, word: str) -> str:
    """Return the command that `key` and the word behind it name; of no table: empty, or `key`."""
    below = f"{key} {word}"
    if below in COMMANDS or below in GROUPS:
        return below
    return key if key in COMMANDS else ""


@lru_cache(4096)  # the same command is held against every rule
def behind_options(words: Words, start: int, key: str) -> tuple[int, ...]:
    """Return where the next word of the command `key` may stand: at `start` or behind options."""
    spec = option_spec(COMMANDS.get(key) or GROUPS.get(key) or "*")
    found, known = [start], {start}
    for at in found:  # grows
        if at >= len(words) or not words[at].startswith(("-", "+")) or words[at] == "-":
            continue
        after = words[at + 1] if at + 1 < len(words) else ""
        for count in _taken(words[at], after, spec):
            behind = min(at + count, len(words))
            if behind not in known:
                known.add(behind)
                found.append(behind)
    return tuple(found)


def _taken(word: str, after: str, spec: OptionSpec) -> tuple[int, ...]:
    """Return how many words an option may take, itself included."""
    if word == "--" or word.startswith("+"):  # `cargo +nightly publish`
        return (1,)
    if word.startswith("--") or spec.single_dash:
        name, equals, _ = word.partition("=")
        takes = _takes("--" + name.lstrip("-"), spec)
        if equals:
            return (1,)
    else:
        takes, attached = _of_bundle(word[1:], spec)
        if attached:
            return (1,)
    if takes is None:
        return (1, 2)
    if takes is OptionArgument.VALUE:
        return (2,)
    return (1, 2) if after in _OF_FLAGS else (1,)


def _of_bundle(letters: str, spec: OptionSpec) -> tuple[OptionArgument | None, bool]:
    """Return what the last of several letters takes, and whether it stands right behind it."""
    for at, letter in enumerate(letters):
        takes = _takes(f"-{letter}", spec)
        if takes is None:
            return None, not letters[-1].isalpha()  # `xargs -n1`, `-I{}`
        if takes is not OptionArgument.NOTHING:
            return takes, takes is OptionArgument.VALUE and at + 1 < len(letters)
    return OptionArgument.NOTHING, False


def _takes(name: str, spec: OptionSpec) -> OptionArgument | None:
    return spec.known.get(name, spec.asks.get(name))
