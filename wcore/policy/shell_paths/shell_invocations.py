"""A text that a shell is given among its words: in what folder and with what it is run."""

import re
from collections.abc import Sequence
from typing import Final

from wcore.policy.shell.input_scripts import split_strings
from wcore.policy.shell.runners import may_start_any
from wcore.policy.stops import SHELLS, TAKE_TEXT, program

#: They start what follows in their own folder, if no option says otherwise.
_KEEPS_FOLDER: Final = frozenset(
    "env nice ionice nohup setsid stdbuf timeout time xargs command builtin exec find parallel"
    " flock unbuffer strace ltrace watch script chronic uv poetry pipenv npx bunx pnpm yarn"
    " npm".split()
)
_ELSEWHERE: Final = re.compile(
    r"-[CDSw]|--(?:chdir|directory|dir|cwd|prefix|workdir|project|split|root)|-(?:exec|ok)dir$"
)
#: They hand words to a shell of this user on this machine.
_TAKE_TEXT: Final = TAKE_TEXT - frozenset("ssh su runuser sg newgrp nix-shell rush".split())
_IS_TEXT: Final = re.compile(r"[\s;|&<>]")
_TEXT: Final = re.compile(r"-[A-Za-z]*c[A-Za-z]*")
_PLAIN: Final = re.compile(r"-[aceilmnruvx]+$")


def keeps_folder(before: Sequence[str | None]) -> bool:
    """Whether a shell behind these words is started in the folder of the text."""
    if not before:
        return True
    options = [word for word in before[1:] if word is None or word.startswith("-")]
    known = before[0] is not None and program(before[0]) in _KEEPS_FOLDER
    return known and not any(word is None or _ELSEWHERE.match(word) for word in options)


def may_unset(before: Sequence[str | None]) -> bool:
    """Whether what stands in front of a shell may take variables out of its environment."""
    return any(word is None or word.startswith("-") for word in before)


def texts(given: Sequence[str | None]) -> list[str]:
    """Return those of a shell's words that may be the text that it runs."""
    takes = any(word and _TEXT.fullmatch(word) for word in given)
    return [word for word in given if word] if takes else []


def other_texts(words: Sequence[str | None]) -> list[str]:
    """Return the texts that programs other than a shell run: `env -S TEXT`, `watch TEXT`."""
    plain = tuple(word or "" for word in words)
    heads = range(len(plain) if plain[0] and may_start_any(plain) else 1)
    found: list[str] = []
    for at in heads:
        name = program(plain[at])
        if name == "env":
            found += [f"env {text}" for text in split_strings(plain[at + 1 :])[:1]]
        elif name in _TAKE_TEXT:
            found += [word for word in plain[at + 1 :] if _IS_TEXT.search(word)]
    return list(dict.fromkeys(found))


def has_options(given: Sequence[str | None]) -> bool:
    """Whether options change how the shell reads its text."""
    options = [word for word in given if word is None or word[:1] in ("-", "+")]
    return any(word is None or (word != "--" and not _PLAIN.match(word)) for word in options)


def reads_file(given: Sequence[str | None]) -> bool:
    """Whether options make the shell run a file before its text."""
    return any(word and word.startswith(("--rcfile", "--init-file")) for word in given)


def shell_at(words: Sequence[str | None]) -> int | None:
    """Return where among the words of a command the first shell stands."""
    names = [program(word) if word else "" for word in words]
    return next((at for at, name in enumerate(names) if name in SHELLS), None)
