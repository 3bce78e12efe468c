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

from wcore.policy import shell
from wcore.policy.shell.input_scripts import (
    EXECUTES,
    printed,
    puts_input_into_words,
    runs_its_input,
    split_strings,
    text_of,
)
from wcore.policy.shell.leading_options import behind_options, program_key
from wcore.policy.shell.model import utf8
from wcore.policy.shell.reading import NO_PROGRAMS, ReadCommand, from_program, words
from wcore.policy.shell.word_parts import HOLE, ReadWord

WORDS_MAX: Final = 64  # of one command: what it is about is said at its beginning
PARTS_MAX: Final = 256  # words of one command that may be programs; more is in doubt
HEADS_MAX: Final = 4096  # of one text; one that has more is in doubt
DEPTH_MAX: Final = 3  # a shell in a shell in a shell

Span = tuple[int, int]

#: They hand words to a shell.
TAKE_TEXT: Final = frozenset(
    "watch su runuser script flock parallel hyperfine watchexec nix-shell rush entr ssh tmux"
    " screen nodemon concurrently onchange chokidar sg newgrp".split()
)
SHELLS: Final = shell.SHELLS | {"eval", "trap"}
_FUNCTION: Final = re.compile(r"\(\s*\)|\bfunction\b")
_SOURCES: Final = frozenset([".", "source"])
_IS_TEXT: Final = re.compile(r"[\s;|&<>()$`]")
_SAYS: Final = re.compile(r"\w")
_NO_HEAD: Final = re.compile(r"-|[0-9][0-9.]*[smhd]?$|[A-Za-z_][A-Za-z0-9_]*=")
_XARGS_VALUED: Final = frozenset("-n -P -L -s -d -E -a -I -J".split())
#: By which git learns aliases, or bash commands, that this text does not show.
_ELSEWHERE: Final = re.compile(
    r"GIT_CONFIG|--config-env=alias\.|BASH_ENV\b|(?:PS4|PROMPT_COMMAND)(?:\+?=.*[$`]|$)", re.DOTALL
)
_TOKEN: Final = re.compile(r"[\w.+-]+")
_QUOTES: Final = re.compile(r"['\"\\]")
_DEFAULT: Final = re.compile(r"\$\{!?[\w@*#?!-]+:?[-+=?]")  # `${x-rm}`
_ESCAPE: Final = re.compile(
    r"(?<!\\)\\++(?:x([0-9A-Fa-f]{1,2})|[uU]([0-9A-Fa-f]{1,8})|([0-7]{1,3})|[abefnrtv])"
)


class Head(Struct, frozen=True):
    """The words of a command that a text may start; `shapes` are those of `ReadWord`."""

    words: tuple[str, ...]
    shapes: tuple[str, ...]
    span: Span

    @property
    def program(self) -> str:
        return program(self.words[0])


class Scan(Struct, frozen=True):
    """All that is seen of a text; `computed` are programs whose names the shell makes.

    `doubt`: it may start more than that; a code, and where.
    """

    heads: tuple[Head, ...]
    computed: tuple[Head, ...]
    spelled: frozenset[str]
    doubt: str | None = None
    span: Span | None = None


def program(word: str) -> str:
    """Return the name of a program without its folder; some file systems ignore its case."""
    return word.rsplit("/", 1)[-1].casefold()


def scan(analysis: shell.Analysis) -> Scan:
    """Return what the text of an analysis may start; total, and linear in the text."""
    scanner = _Scanner(analysis)
    scanner.read(analysis.text, None, 0)
    code, span = scanner.doubt or (None, None)
    spelled = frozenset(token for text in scanner.values for token in tokens(text))
    return Scan(
        tuple(scanner.heads), tuple(scanner.computed), spelled | _spelled(analysis.text), code, span
    )


def tokens(text: str) -> list[str]:
    """Return what may be words of a text in any language."""
    return _TOKEN.findall(text)


def _spelled(text: str) -> set[str]:
    """Return what may be words of a text, with its quotes taken away and as borders of words."""
    text = _DEFAULT.sub(" ", text[: shell.ROUGH_CHARS_MAX].replace("\\\n", ""))
    found: set[str] = set()
    for each in {text, _ESCAPE.sub(_character, text)}:
        found.update(tokens(_QUOTES.sub("", each)), tokens(_QUOTES.sub(" ", each)))
    return found


def _character(match: re.Match[str]) -> str:
    number = int(match[3], 8) if match[3] else int(match[1] or match[2] or "20", 16)
    return chr(number) if number < 0xD800 else " "


class _Scanner:
    """Follows the commands of a text, and of those that it hands to a shell."""

    def __init__(self, analysis: shell.Analysis) -> None:
        self.heads: dict[Head, None] = {}
        self.computed: dict[Head, None] = {}
        self.values: list[str] = []
        self.doubt: tuple[str, Span | None] | None = None
        self._text = analysis.text
        self._seen: set[str] = set()
        self._left = shell.ROUGH_CHARS_MAX  # characters of texts that are handed on
        self._leads_to: dict[str, list[str]] = {}
        for fact in analysis.programs:
            if program(fact.path) != program(fact.word) and not shell.is_shared_file(fact.path):
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
        for command in reading.commands:
            self._command(command, span, depth)

    def _lose(self, code: str, span: Span | None) -> None:
        self.doubt = self.doubt or (code, span)

    def _command(self, command: ReadCommand, span: Span | None, depth: int) -> None:
        self.values += [word.value for word in (*command.words, *command.inputs)]
        if any(_ELSEWHERE.match(word.value) for word in command.words):
            self._lose(shell.Reason.EVALUATED, span or self._in_bytes(command.words))
        given = from_program(command.words)
        if not given or command.is_pattern or not given[0].value:
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
        runs = shell.may_start_any(values)
        if (runs and len(values) > PARTS_MAX) or len(self.heads) > HEADS_MAX:
            self._lose(shell.Reason.TOO_MANY_COMMANDS, span)
        heads = range(min(len(values), PARTS_MAX) if runs else 1)
        for at in heads:
            self._head((*given[at : at + WORDS_MAX], *more)[:WORDS_MAX], span)
        self._program(given, span)
        if program(values[0]) != "alias" and shell.renames(values):
            self._lose(shell.Reason.RENAMED, span)
        for text in self._texts(given, heads, command, span):
            self.read(text, span, depth + 1)
        if runs_its_input([word.literal for word in given]):
            self._input(command, values, span, depth)

    def _head(self, given: Sequence[ReadWord], span: Span) -> None:
        values = tuple(word.value for word in given)
        shapes = tuple(word.shape for word in given)
        for value in (values[0], *self._leads_to.get(values[0], ())):
            shape = shapes[0] if value == values[0] else value
            self.heads[Head((value, *values[1:]), (shape, *shapes[1:]), span)] = None
            main, dash, sub = program(value).partition("-")
            if main and dash:  # `git-push`, `docker-compose`
                self.heads[Head((main, sub, *values[1:]), (main, sub, *shapes[1:]), span)] = None

    def _program(self, given: Sequence[ReadWord], span: Span) -> None:
        """Note a program that the shell computes, also behind one that runs it."""
        at = 0
        reads = False  # words of others, as `xargs` does
        runner = ""
        while at < len(given):
            word = given[at].value
            if at and _NO_HEAD.match(word):
                at += 1 + (reads and word in _XARGS_VALUED)
                continue
            if not shell.may_start_any((word,)):
                break
            runner = program(word)
            reads = reads or puts_input_into_words([word])
            at += 1
        if at >= len(given) and reads and not puts_input_into_words([runner]):  # `xargs env`
            self._lose(shell.Reason.EVALUATED, span)
        for head in sorted({at, *_programs(given)} - {len(given)}):
            shape = given[head].shape.rsplit("/", 1)[-1]
            if HOLE in shape:
                self.computed[Head((given[head].value,), (shape,), span)] = None

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
        return shell.is_device(word) or any(program(each) in SHELLS for each in led_to)

    def _input(self, command: ReadCommand, values: Sequence[str], span: Span, depth: int) -> None:
        """Note what a command may start of the text that it reads."""
        known = [each.value for each in command.inputs]
        before = from_program(command.printed_by.words) if command.printed_by else []
        if not known and command.words[0].value != "{" and not _FUNCTION.search(self._text):
            text = printed([word.literal for word in before])
            known += [] if text is None else [text]
        reads = "|" in self._text or "<" in self._text
        if puts_input_into_words(values) or (reads and not known):
            self._lose(shell.Reason.SCRIPT_FROM_INPUT, span)
        for text in known:
            self.read(text, span, depth + 1)

    def _in_bytes(self, given: Sequence[ReadWord]) -> Span:
        start = len(utf8(self._text[: given[0].span[0]]))
        return start, start + len(utf8(self._text[given[0].span[0] : given[-1].span[1]]))


def _programs(given: Sequence[ReadWord]) -> list[int]:
    """Return where programs may stand: behind runners, and behind values of their options."""
    values = tuple(word.value for word in given[:PARTS_MAX])
    found, known = [0], {0}
    programs: list[int] = []
    for at in found:  # grows
        if at >= len(values):
            continue
        behind: set[int] = set()
        if at and _NO_HEAD.match(values[at]):
            behind = {at + 1}
        else:
            programs.append(at)
        if shell.may_start_any((values[at],)):
            behind = {*behind_options(values, at + 1, program_key(program(values[at])))}
            behind |= {each + 1 for each, word in enumerate(values) if EXECUTES.fullmatch(word)}
        found += sorted(behind - known)
        known |= behind
    return programs


def _with_input(given: list[ReadWord]) -> tuple[list[ReadWord], list[ReadWord]]:
    """Return the words of a command with holes where it puts what it reads, and one behind them."""
    if not puts_input_into_words([word.literal for word in given[:PARTS_MAX]]):
        return given, []
    appended = ReadWord(given[-1].span, "", "", HOLE)
    for at, word in enumerate(given):
        behind = given[at + 1].value if at + 1 < len(given) else ""
        name = word.value[2:] or behind
        if word.value.startswith(("-I", "-J")) and name:
            behind_it = at + 1 if word.value[2:] else at + 2
            rest = (
                ReadWord(each.span, each.source, each.value, each.shape.replace(name, HOLE))
                for each in given[behind_it:]
            )
            return [*given[:behind_it], *rest], [appended]
    return given, [appended]
