"""What a command hands to a shell: texts among its words, and what it reads."""

import re
from collections.abc import Sequence
from typing import Final

from wcore.policy.shell.input_scripts import split_strings, text_of
from wcore.policy.shell.paths.transfers import heads
from wcore.policy.stops import SHELLS, TAKE_TEXT, program

Words = Sequence[str | None]  # `None`: not known

#: They hand words to a shell of somebody else, or on another machine.
_ELSEWHERE: Final = frozenset("ssh su runuser sg newgrp nix-shell rush".split())
_IS_TEXT: Final = re.compile(r"[\s;|&<>]")


def runs_shell(words: Words) -> bool:
    """Whether a shell is given the words: it reads its texts itself."""
    return any(program(words[at] or "") in SHELLS for at in heads(words))


def texts(words: Words) -> list[str | None]:
    """Return the texts among the words of a command that a shell of this user runs."""
    found: list[str | None] = []
    for at in heads(words):
        name, behind = program(words[at] or ""), words[at + 1 :]
        operands = [each for each in behind if each != "--"]
        if name == "eval":
            return [*found, None if None in operands else " ".join(filter(None, operands))]
        if name == "trap":
            found += operands[:1]
        elif name == "env":
            found += [f"env {text}" for text in split_strings([each or "" for each in behind])]
        elif name in TAKE_TEXT - _ELSEWHERE:
            found += [each for each in operands if each and _IS_TEXT.search(each)]
        elif name in SHELLS and (text := text_of(behind)) is not None:
            found.append(behind[text])
    return found
