"""Where programs stand in the words of a command: behind programs that run others."""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from wcore.policy.shell import runners
from wcore.policy.shell.leading_options import behind_options, program_key
from wcore.policy.shell.runners import BUILTINS, may_start_any, own_of_runner

PARTS_MAX: Final = 256  # words of one command that may be programs; more is in doubt

_OPTION: Final = re.compile(r"-.|\+", re.DOTALL)
_NO_HEAD: Final = re.compile(r"-|[0-9][0-9.]*[smhd]?$|[A-Za-z_][A-Za-z0-9_]*=")
_LOOKS_UP: Final = re.compile(r"-p?[vV]\w*")  # `command -v x` runs nothing
#: They run what stands behind one of their options, and nothing else.
_SEARCHES: Final = frozenset("find gfind fd fdfind jobs".split())
_EXECUTES: Final = re.compile(r"-(?:exec|ok)(?:dir)?|--exec(?:-batch)?|-[xX]")
_APPENDS: Final = frozenset("xargs gxargs parallel rush".split())


def program(word: str) -> str:
    """Return the name of a program without its folder; some file systems ignore its case."""
    return word.rsplit("/", 1)[-1].casefold()


def puts_input_into_words(words: Sequence[str | None]) -> bool:
    """Whether the command makes words of others of what it reads, so that those are not known."""
    return any(runners.program(word).casefold() in _APPENDS for word in words if word)


class ProgramPlaces:
    """Where programs stand in the words of a command: behind runners and values of their options.

    Those of `programs` may be some; those of `certain` are, however options are read. From
    `possible` on any word may be one, from `computed` on any that the shell computes; those of
    `may_be_values` are likely none. `reads_name`: the program is a word that is read.
    """

    def __init__(self, values: tuple[str, ...]) -> None:
        self._values = values[:PARTS_MAX]
        self.programs: list[int] = []
        self.certain = {0}
        self.may_be_values: set[int] = set()
        self.possible = self.computed = len(self._values)
        ended: set[str] = set()  # runners behind which nothing stands
        found = {0: ""}
        waiting = [0]
        for at in waiting:  # grows
            if at >= len(self._values):
                ended.add(found[at])
                continue
            is_none = at and _NO_HEAD.match(self._values[at])
            behind = {at + 1: found[at]} if is_none else self._run_by(at)
            if not is_none:
                self.programs.append(at)
            waiting += sorted(behind.keys() - found.keys())
            found |= {each: name for each, name in behind.items() if each not in found}
        self.certain &= {*self.programs}
        appends = {name for name in ended if puts_input_into_words([name])}
        all_run = all(may_start_any(self._values[at : at + 3]) for at in self.programs)
        reads = puts_input_into_words([self._values[at] for at in self.programs])
        self.reads_name = reads and all_run and bool(ended - appends)

    def may_compute(self, at: int) -> bool:
        """Whether the program that may stand here is one where the shell computes the word."""
        if at in self.programs:
            return at not in self.may_be_values
        return at >= self.computed and not _NO_HEAD.match(self._values[at])

    def _run_by(self, at: int) -> dict[int, str]:
        """Return where the programs may stand that the one at `at` runs, with its name."""
        values, name = self._values, program(self._values[at])
        if not may_start_any(values[at : at + 3]):
            return {}
        if name == "command" and any(map(_LOOKS_UP.fullmatch, values[at + 1 : at + 2])):
            return {}
        if name in _SEARCHES:
            sure = behind = {at + 1 for at, word in enumerate(values) if _EXECUTES.fullmatch(word)}
        else:
            own, count = own_of_runner((name, *values[at + 1 : at + 3]))
            start = at + count
            starts = behind_options(values, start, program_key(name))
            plain = [each for each in starts if not _OPTION.match("".join(values[each : each + 1]))]
            behind = {*starts, *(each + (own or 0) for each in plain)}
            sure = self._surely_run(name, start, plain, own)
            if own is None:
                self.possible = min(self.possible, start)
            if own is None and count == 1:
                self.computed = min(self.computed, start)
            if count > 1:
                self.may_be_values |= behind - {start} - sure
            if count > 1 and "--" in values[start:]:  # `kubectl exec pod -- x`
                last = values.index("--", start) + 1
                behind.add(last)
                self.may_be_values.discard(last)
                sure = {last} if own is None else sure
        self.certain |= sure if at in self.certain else set()
        return dict.fromkeys(behind, name)

    def _surely_run(self, name: str, start: int, plain: Sequence[int], own: int | None) -> set[int]:
        """Return where the program stands, if it is the same however the options are read."""
        values, end = self._values, len(self._values)
        if name in BUILTINS:
            options = list(takewhile(lambda word: word[:1] == "-", values[start:]))
            if not any(word.endswith("a") for word in options):
                return {start + len(options)}
        behind = (range(each + own, end) for each in plain) if own is not None else ()
        found = {next((i for i in each if not _NO_HEAD.match(values[i])), end) for each in behind}
        return found - {end} if len(found - {end}) == 1 else set()
