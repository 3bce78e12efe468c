"""What a shell text may start and what it spells: for rules that ask or deny, and `safety`.

Words at the head of a command, behind a program that runs others too, are compared with a rule as
they are; texts that a shell is given are read again. What is not seen there is looked for anywhere
in the text, and where a shell may run what nobody can read, that is a doubt. A guard rail against
accidents and careless models, not a boundary: whoever wants to hide a command from it can.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from wcore.policy import shell
from wcore.policy.shell import runners
from wcore.policy.shell.builtins import renames
from wcore.policy.shell.coverage import COMMANDS, GROUPS
from wcore.policy.shell.input_scripts import (
    printed,
    runs_its_input,
    split_strings,
    text_of,
)
from wcore.policy.shell.model import utf8
from wcore.policy.shell.program_places import (
    PARTS_MAX,
    ProgramPlaces,
    program,
    puts_input_into_words,
)
from wcore.policy.shell.reading import NO_PROGRAMS, ReadCommand, from_program, words
from wcore.policy.shell.runners import is_device, is_shared_file, may_start_any
from wcore.policy.shell.word_parts import HOLE, QUOTES, ReadWord

WORDS_MAX: Final = 64  # of one command: what it is about is said at its beginning
HEADS_MAX: Final = 4096  # of one text; one that has more is in doubt
DEPTH_MAX: Final = 3  # a shell in a shell in a shell

Span = tuple[int, int]

#: They hand words to a shell.
TAKE_TEXT: Final = frozenset(
    "watch su runuser script flock parallel hyperfine watchexec nix-shell rush entr ssh tmux"
    " screen nodemon concurrently onchange chokidar sg newgrp".split()
)
SHELLS: Final = runners.SHELLS | {"eval", "trap"}
FUNCTION: Final = re.compile(r"\(\s*\)|\bfunction\b")
_SOURCES: Final = frozenset([".", "source"])
_IS_TEXT: Final = re.compile(r"[\s;|&<>()$`]")
_SAYS: Final = re.compile(r"\w")
#: By which git learns aliases, or bash commands, that this text does not show.
_ELSEWHERE: Final = re.compile(
    r"GIT_CONFIG|--config-env=alias\.|BASH_ENV\b|(?:PS4|PROMPT_COMMAND)(?:\+?=.*[$`]|$)", re.DOTALL
)
#: A word of any language, and no name of a variable in capitals that is given a value.
_TOKEN: Final = re.compile(r"(?<![\w.+-])(?![A-Z_][A-Z0-9_]*\+?=)[\w.+-]+")
_DEFAULT: Final = re.compile(r"\$\{!?[\w@*#?!-]+:?[-+=?]")  # `${x-rm}`
_ESCAPE: Final = re.compile(
    r"(?<!\\)\\++(?:x([0-9A-Fa-f]{1,2})|[uU]([0-9A-Fa-f]{1,8})|([0-7]{1,3})|[abefnrtv])"
)


class Head(Struct, frozen=True):
    """The words of a command that a text may start; `shapes` are those of `ReadWord`.

    A rule with fewer words than `words_min` is not about it: `terraform-docs` is no `terraform`.
    """

    words: tuple[str, ...]
    shapes: tuple[str, ...]
    span: Span
    words_min: int = 1

    @property
    def program(self) -> str:
        return program(self.words[0])


class Scan(Struct, frozen=True):
    """All that is seen of a text; `computed` are programs whose names the shell makes.

    `possible` are words behind a program that may run them, or may not.
    `doubt`: it may start more than that; a code, and where.
    """

    heads: tuple[Head, ...]
    possible: tuple[Head, ...]
    computed: tuple[Head, ...]
    spelled: frozenset[str]
    doubt: str | None = None
    span: Span | None = None


def scan(analysis: shell.Analysis) -> Scan:
    """Return what the text of an analysis may start; total, and linear in the text."""
    scanner = _Scanner(analysis)
    scanner.read(analysis.text, None, 0)
    code, span = scanner.doubt or (None, None)
    spelled = frozenset(token for text in scanner.values for token in tokens(text))
    return Scan(
        tuple(scanner.heads),
        tuple(scanner.possible),
        tuple(scanner.computed),
        spelled | _spelled(scanner.code),
        code,
        span,
    )


def tokens(text: str) -> list[str]:
    """Return what may be words of a text in any language."""
    return _TOKEN.findall(text)


def _without(text: str, spans: Sequence[Span]) -> str:
    begins, ends = [0, *(end for _, end in spans)], [*(start for start, _ in spans), len(text)]
    return "".join(text[begin:end] for begin, end in zip(begins, ends, strict=True))


def _spelled(text: str) -> set[str]:
    """Return what may be words of a text, with its quotes taken away and as borders of words."""
    text = _DEFAULT.sub(" ", text[: shell.ROUGH_CHARS_MAX].replace("\\\n", ""))
    found: set[str] = set()
    for each in {text, _ESCAPE.sub(_character, text)}:
        found.update(tokens(QUOTES.sub("", each)), tokens(QUOTES.sub(" ", each)))
    return found


def _character(match: re.Match[str]) -> str:
    number = int(match[3], 8) if match[3] else int(match[1] or match[2] or "20", 16)
    return chr(number) if number < 0xD800 else " "


class _Scanner:
    """Follows the commands of a text, and of those that it hands to a shell."""

    def __init__(self, analysis: shell.Analysis) -> None:
        self.heads: dict[Head, None] = {}
        self.possible: dict[Head, None] = {}
        self.computed: dict[Head, None] = {}
        self.values: list[str] = []
        self.doubt: tuple[str, Span | None] | None = None
        self.code = analysis.text  # without its comments
        self._text = analysis.text
        self._seen: set[str] = set()
        self._left = shell.ROUGH_CHARS_MAX  # characters of texts that are handed on
        self._leads_to: dict[str, list[str]] = {}
        for fact in analysis.programs:
            if program(fact.path) != program(fact.word) and not is_shared_file(fact.path):
                self._leads_to.setdefault(fact.word, []).append(fact.path)

    def read(self, text: str, span: Span | None, depth: int) -> None:
        """Note what a text may start; `span` is where it is given to a shell."""
        if text in self._seen:
            return
        self._left -= len(text)
        if depth > DEPTH_MAX or (depth and self._left < 0):
            self._lose(shell.Reason.EVALUATED, span)
            return
        self._seen.add(text)
        reading = words(text)
        if reading.doubt is not None:
            self._lose(reading.doubt, span)
        if not depth:
            self.code = _without(text, reading.comments)
        for command in reading.commands:
            self._command(command, span, depth)

    def _lose(self, code: str, span: Span | None) -> None:
        self.doubt = self.doubt or (code, span)

    def _command(self, command: ReadCommand, span: Span | None, depth: int) -> None:
        self.values += [word.value for word in (*command.words, *command.inputs)]
        if any(_ELSEWHERE.match(word.value) for word in command.words):
            self._lose(shell.Reason.EVALUATED, span or self._in_bytes(command.words))
        given = from_program(command.words)
        if not given or command.is_pattern or command.is_name or not given[0].value:
            return
        if given[0].bare in NO_PROGRAMS or given[0].bare.startswith("(("):
            return
        span = span or self._in_bytes(given)
        self._start(command, given, span, depth)
        for path in self._leads_to.get(given[0].value, ()):
            led_to = ReadWord(given[0].span, path, path, path)
            self._start(command, [led_to, *given[1:]], span, depth)

    def _start(self, command: ReadCommand, given: list[ReadWord], span: Span, depth: int) -> None:
        """Note what is started by the words of a command, of which the first is the program."""
        given, more = _with_input(given)
        values = tuple(word.value for word in given)
        runs = may_start_any(values)
        if (runs and len(values) > PARTS_MAX) or len(self.heads) + len(self.possible) > HEADS_MAX:
            self._lose(shell.Reason.TOO_MANY_COMMANDS, span)
        heads = range(min(len(values), PARTS_MAX) if runs else 1)
        walk = ProgramPlaces(values)
        if walk.reads_name:  # `xargs env`
            self._lose(shell.Reason.EVALUATED, span)
        for at in sorted({*walk.programs, *heads[walk.possible :]}):
            words = (*given[at : at + WORDS_MAX], *more)[:WORDS_MAX]
            self._head(words, span, self.heads if at in walk.certain else self.possible)
            shape = given[at].shape.rsplit("/", 1)[-1]
            if HOLE in shape and walk.may_compute(at):
                self.computed[Head((given[at].value,), (shape,), span)] = None
        if program(values[0]) != "alias" and renames(values):
            self._lose(shell.Reason.RENAMED, span)
        for text in self._texts(given, heads, command, span):
            self.read(text, span, depth + 1)
        if runs_its_input([word.literal for word in given]):
            self._input(command, values, span, depth)

    def _head(self, given: Sequence[ReadWord], span: Span, found: dict[Head, None]) -> None:
        values = tuple(word.value for word in given)
        shapes = tuple(word.shape for word in given)
        for value in (values[0], *self._leads_to.get(values[0], ())):
            shape = shapes[0] if value == values[0] else value
            found[Head((value, *values[1:]), (shape, *shapes[1:]), span)] = None
            main, dash, sub = program(value).partition("-")
            if main and dash:  # `git-push`, `docker-compose`
                words, parts = (main, sub, *values[1:]), (main, sub, *shapes[1:])
                is_known = f"{main} {sub}" in COMMANDS or f"{main} {sub}" in GROUPS
                found[Head(words, parts, span, words_min=1 if is_known else 2)] = None

    def _texts(
        self, given: Sequence[ReadWord], heads: Iterable[int], command: ReadCommand, span: Span
    ) -> list[str]:
        """Return the texts that a command hands to a shell."""
        found: list[str] = []
        for at in heads:
            name, behind = program(given[at].value), given[at + 1 :]
            values = [word.value for word in behind]
            operands = [word for word in behind if not word.value.startswith(("-", "+"))]
            if name in TAKE_TEXT:
                found += [value for value in values if _IS_TEXT.search(value)]
                found += [each.value for each in command.inputs]
            elif name == "eval":
                found.append(" ".join(values[1:] if values[:1] == ["--"] else values))
                break
            elif name == "trap":
                found += [word.value for word in operands[:1]]
            elif name == "alias":
                found += [value.partition("=")[2] or value for value in values]
            elif name == "env":
                found += [f"env {text}" for text in split_strings(values)]
            elif self._is_shell(given[at].value) and (text := text_of(values)) is not None:
                found.append(values[text])
            elif not (self._is_shell(given[at].value) or (name in _SOURCES and at == 0)):
                continue
            elif operands and not _SAYS.search(operands[0].shape):
                self._lose(shell.Reason.SCRIPT_FROM_INPUT, span)
        return found

    def _is_shell(self, word: str) -> bool:
        led_to = (word, *self._leads_to.get(word, ()))
        return is_device(word) or any(program(each) in SHELLS for each in led_to)

    def _input(self, command: ReadCommand, values: Sequence[str], span: Span, depth: int) -> None:
        """Note what a command may start of the text that it reads."""
        known = [each.value for each in command.inputs]
        before = from_program(command.printed_by.words) if command.printed_by else []
        if not known and command.words[0].value != "{" and not FUNCTION.search(self._text):
            text = printed([word.literal for word in before])
            known += [] if text is None else [text]
        reads = any(sign in self._text for sign in ("|", "<", ">("))
        if puts_input_into_words(values) or (reads and not known):
            self._lose(shell.Reason.SCRIPT_FROM_INPUT, span)
        for text in known:
            self.read(text, span, depth + 1)

    def _in_bytes(self, given: Sequence[ReadWord]) -> Span:
        start = len(utf8(self._text[: given[0].span[0]]))
        return start, start + len(utf8(self._text[given[0].span[0] : given[-1].span[1]]))


def _with_input(given: list[ReadWord]) -> tuple[list[ReadWord], list[ReadWord]]:
    """Return the words of a command with holes where it puts what it reads, and one behind them."""
    if not puts_input_into_words([word.literal for word in given[:PARTS_MAX]]):
        return given, []
    appended = ReadWord(given[-1].span, "", "", HOLE)
    for at, word in enumerate(given):
        behind = given[at + 1].value if at + 1 < len(given) else ""
        name = word.value[2:] or behind
        if word.value.startswith(("-I", "-J")) and name:
            end = at + 1 if word.value[2:] else at + 2
            rest = (replace(each, shape=each.shape.replace(name, HOLE)) for each in given[end:])
            return [*given[:end], *rest], [appended]
    return given, [appended]
