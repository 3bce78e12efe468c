"""What a shell text may start, read generously: for saying no, never for saying yes.

Words are compared without their quotes; behind a program that runs others every word may be the
program; a text handed to a shell, or to a program that is known to run it, is read again. What a
program that nobody knows makes of its words is a doubt about these words alone. A guard rail
against accidents and careless models, not a boundary: whoever wants to hide a command from it can.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from wcore.policy import shell
from wcore.policy.documents import without_data
from wcore.policy.shell_paths.braces import TooManyError, expanded
from wcore.policy.shell_paths.syntax import Text

WORDS_MAX: Final = 64  # of one command: what it is about is said at its beginning
PARTS_MAX: Final = 256  # words of one command that may be programs or texts; more is in doubt
PERHAPS_MAX: Final = 512  # words of one text, each with all behind it, that may be commands
STARTED_MAX: Final = 4096  # readings of one text; one that has more is in doubt
DEPTH_MAX: Final = 3  # a shell in a shell in a shell

Span = tuple[int, int]

TAKE_TEXT: Final = frozenset(
    "watch su runuser script flock parallel hyperfine watchexec nix-shell rush entr ssh tmux"
    " screen nodemon concurrently onchange chokidar sg newgrp".split()
)
_MAKE_NAMES: Final = frozenset("ln link cp mv install".split())
SHELLS: Final = shell.SHELLS | {"eval", "trap"}

_SEPARATORS: Final = re.compile(r"[;|&\n(){}`]+|\$\(|<\(|>\(")
_REDIRECTION: Final = re.compile(r"[0-9]*(?:<<-?|>>|<>|>\||[<>]&|[<>])\s*[^\s<>]+")
_QUOTES: Final = str.maketrans("", "", "'\"\\")
ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_NOT_A_HEAD: Final = re.compile(r"-|[0-9][0-9.]*[smhd]?$|[A-Za-z_][A-Za-z0-9_]*=|[{}!]$")
_GIT_TEXT: Final = re.compile(r"(?:-x|--exec=?)(.*)", re.DOTALL)  # `git rebase -x TEXT`
_FOREACH: Final = "foreach"  # `git submodule foreach TEXT`
#: By which git learns aliases that this text does not show.
_GIT_LEARNS: Final = re.compile(r"GIT_CONFIG|--config-env=alias\.|alias\.")
_APPENDED: Final = "$@"  # what `xargs` reads somewhere
_HAS_PARTS: Final = re.compile(r"[\s$`'\"\\;|&<>(){}*?\[]")
_GIT_ALIAS: Final = re.compile(r"alias\.[^=]*=(!?)(.*)", re.DOTALL | re.IGNORECASE)
GRAMMAR: Final = frozenset("if then elif else do while until for case in ! { } time coproc".split())


class Invocation(Struct, frozen=True):
    """One command that a text may start; its first word is the program. `span`: where it is."""

    words: tuple[str, ...]
    span: Span | None = None

    @property
    def program(self) -> str:
        return program(self.words[0])


class Perhaps(Struct, frozen=True):
    """Words among which any may begin a command, as nobody knows what their program does."""

    words: tuple[str, ...]
    span: Span | None = None


class InvocationScan(Struct, frozen=True):
    """All that a text may start. `doubt` is set when it cannot be known: a code, and where."""

    invocations: tuple[Invocation, ...]
    doubt: str | None = None
    span: Span | None = None
    perhaps: tuple[Perhaps, ...] = ()


def program(word: str) -> str:
    """Return the name of a program without its folder; some file systems ignore its case."""
    return word.rsplit("/", 1)[-1].casefold()


def scan_invocations(analysis: shell.Analysis) -> InvocationScan:
    """Return what the analysed text may start; total, and linear in the text."""
    reader = _Reader(analysis)
    if analysis.reason is not None:
        text = without_data(analysis.text[: shell.ROUGH_CHARS_MAX])
        rough = _first(reader.rough(text, None, 0))
        return InvocationScan(rough, analysis.reason, analysis.span, tuple(reader.perhaps))
    found: dict[Invocation, None] = {}
    code, doubt = shell.Reason.DYNAMIC_HEAD, None
    before: shell.SimpleCommand | None = None
    for command in analysis.commands:
        values = [word.value for word in command.words]
        for each in (values, _unbraced(command)):
            found.update(dict.fromkeys(_first(reader.expanded(each, command.span, 0))))
        if before is not None and shell.is_piped(analysis.text, before, command):
            given = [None if word.dynamic else word.value for word in before.words]
            piped = _first(reader.input_of(values, given, command.span, 0))
            found.update(dict.fromkeys(piped))
        before = command
        doubt = doubt or _computed_program(command)
        if doubt is None and reader.lost is not None:
            code, doubt = reader.lost, command.span
        if doubt is None and len(found) >= STARTED_MAX:
            code, doubt = shell.Reason.TOO_MANY_COMMANDS, command.span
    started = tuple(found)[:STARTED_MAX]
    return InvocationScan(started, code if doubt else None, doubt, tuple(reader.perhaps))


def _first(found: Iterator[Invocation]) -> tuple[Invocation, ...]:
    return tuple(each for _, each in zip(range(STARTED_MAX), found, strict=False))


def _computed_program(command: shell.SimpleCommand) -> Span | None:
    """Return where a program's name is computed by the shell, also behind a runner."""
    for word in command.words:
        if word.dynamic:
            return word.span
        if _NOT_A_HEAD.match(word.value) or shell.may_start_any((word.value,)):
            continue
        return None
    return None


class _Reader:
    """Finds what may be started. A word counts as the program that it leads to as well."""

    def __init__(self, analysis: shell.Analysis) -> None:
        self.lost: shell.Reason | None = None  # why it cannot be known what is run
        self._text = analysis.text[: shell.ROUGH_CHARS_MAX]
        self.perhaps: dict[Perhaps, None] = {}
        self._leads_to: dict[str, list[str]] = {}
        self._made: dict[str, list[str]] = {}  # the same, by a link or copy that the text makes
        for fact in analysis.programs:
            if program(fact.path) != program(fact.word) and not shell.is_shared_file(fact.path):
                self._leads_to.setdefault(fact.word, []).append(fact.path)

    def expanded(
        self, values: Sequence[str], span: Span | None, depth: int
    ) -> Iterator[Invocation]:
        """Yield the command of `values`, and those that it hands on."""
        if any(shell.expands_again(value, sets=at > 0) for at, value in enumerate(values)):
            self.lost = shell.Reason.EVALUATED
        for text in shell.texts_in_variables(values) if depth < DEPTH_MAX else ():
            yield from self.handed_on(text, span, depth + 1)
        words = _command_words(values)
        if not words or not words[0]:
            return
        self._note_made(words)
        if _learns_aliases(words, values):
            self.lost = shell.Reason.RENAMED
        for head in (words[0], *self._led_to(words[0])):
            yield from self._handed((head, *words[1:]), span, depth)

    def _handed(self, words: Sequence[str], span: Span | None, depth: int) -> Iterator[Invocation]:
        words = tuple(words)
        yield Invocation(words[:WORDS_MAX], span)
        if shell.renames(words):
            self.lost = shell.Reason.RENAMED
        if shell.evaluates(words, text=self._text) or shell.runs_appended(words):
            self.lost = shell.Reason.EVALUATED
        name = program(words[0])
        main, dash, sub = name.partition("-")
        if main and dash:  # `git-push`, `docker-compose`
            yield Invocation((main, sub, *words[1 : WORDS_MAX - 1]), span)
        runs = shell.may_start_any(words)
        if len(words) > PARTS_MAX:
            reads = runs or program(words[0]) in TAKE_TEXT or self._is_shell(words[0])
            self.lost = shell.Reason.TOO_MANY_COMMANDS if reads else self.lost
            words = words[:PARTS_MAX]
        more = (_APPENDED,) if shell.puts_input_into_words(words) else ()
        if more:
            words = _replaced(words)
        for start in range(1, len(words) if runs else 1):
            behind = (*words[start : start + WORDS_MAX], *more)[:WORDS_MAX]
            yield Invocation(behind, span)
            for head in self._led_to(behind[0]):
                yield Invocation((head, *behind[1:]), span)
        texts, others = self._texts(words, name, runs=runs)
        for start in range(len(words) if runs else 1):
            self._note_perhaps(words[start:], span, sure=start == 0 and not runs)
            others += shell.texts_in_options(words[start:])
        for text in (*texts, *others) if depth < DEPTH_MAX else ():
            yield from self.handed_on(text, span, depth + 1)
        self._decide_texts([text for text in texts if _HAS_PARTS.search(text)], depth)

    def _texts(
        self, words: tuple[str, ...], name: str, *, runs: bool
    ) -> tuple[list[str], list[str]]:
        """Return what a command hands on as text, and words that may be such a text."""
        heads = range(len(words) if runs else 1)
        takes = next((at for at in heads if program(words[at]) in TAKE_TEXT), len(words))
        texts: list[str] = list(words[takes + 1 :])
        texts += [text for word in texts if (text := _glued(word))]
        if name == "git":
            texts += [*_git_aliases(words), *_behind(words, _GIT_TEXT)]
            texts += [" ".join(words[words.index(_FOREACH) + 1 :])] if _FOREACH in words else []
        env = next((i for i, word in enumerate(words) if program(word) == "env"), None)
        if env is not None and (env == 0 or runs):
            texts += [f"env {text}" for text in shell.split_strings(words[env + 1 :])]
        inner = next((i for i, word in enumerate(words) if self._is_shell(word)), None)
        if inner is None or (inner > 0 and not runs):
            return texts, []
        given = words[inner + 1 :]
        match program(words[inner]):
            case "eval":
                texts.append(" ".join(given[1:] if given[:1] == ("--",) else given))
            case "trap":
                texts += given[:1]
            case _:
                at = shell.text_of(given)
                texts += given[at : at + 1] if at is not None else ()
        return texts, list(given)

    def handed_on(self, text: str, span: Span | None, depth: int) -> Iterator[Invocation]:
        """Yield what a text starts that is handed on: as it is written, and roughly."""
        yield from self.rough(text, span, depth)
        for command in shell.lex(text).commands:
            yield from self.expanded([word.value for word in command.words], span, depth)

    def _note_perhaps(self, words: tuple[str, ...], span: Span | None, *, sure: bool) -> None:
        """Note words that may be commands; behind a runner only those that a language holds."""
        if not words[0] or (not sure and not shell.is_told_a_language(words)):
            return
        loose = shell.loose_words(words)
        if loose and len(self.perhaps) < PERHAPS_MAX:
            self.perhaps[Perhaps(tuple(loose), span)] = None
        elif loose:
            self.lost = self.lost or shell.Reason.TOO_MANY_COMMANDS

    def _note_made(self, words: tuple[str, ...]) -> None:
        """Note the names that a text gives to programs: `ln -s /bin/rm x`, `cp /bin/rm x`."""
        if program(words[0]).removeprefix("g") not in _MAKE_NAMES:
            return
        operands = [word for word in words[1:PARTS_MAX] if not word.startswith("-")]
        for made in operands[-1:] if len(operands) > 1 and program(operands[-1]).strip(".") else ():
            sources = [each for each in operands[:-1] if program(each) != program(made)]
            if sources and len(self._made) < PARTS_MAX:
                self._made.setdefault(program(made), []).extend(sources[:PARTS_MAX])

    def _led_to(self, word: str) -> list[str]:
        found = [*self._leads_to.get(word, ()), *self._made.get(program(word), ())]
        return [*found, "bash"] if shell.is_device(word) else found

    def _decide_texts(self, texts: Sequence[str], depth: int) -> None:
        """Note that nobody can say what a text, which is handed to a shell, would start."""
        if texts and depth >= DEPTH_MAX:
            self.lost = self.lost or shell.Reason.EVALUATED
        for text in texts:
            analysis = shell.lex(text)
            computed = any(map(_computed_program, analysis.commands))
            if analysis.reason not in (None, shell.Reason.EMPTY) or computed:
                self.lost = self.lost or shell.Reason.EVALUATED
            for command in analysis.commands:
                words = [word.value for word in command.words]
                if shell.evaluates(_command_words(words) or ("",), text=self._text):
                    self.lost = self.lost or shell.Reason.EVALUATED

    def _is_shell(self, word: str) -> bool:
        return any(program(each) in SHELLS for each in (word, *self._led_to(word)))

    def input_of(
        self, values: Sequence[str], given: Sequence[str | None], span: Span | None, depth: int
    ) -> Iterator[Invocation]:
        """Yield what a command may start of what another one, of the words `given`, prints."""
        words = _command_words(values)
        if words and shell.reads_a_language(words) and (known := shell.printed(given)):
            self.perhaps[Perhaps(tuple(shell.words_within(known)), span)] = None
        if not shell.runs_its_input(words):
            return
        text = None if shell.puts_input_into_words(words) else shell.printed(given)
        if text is None or depth >= DEPTH_MAX:
            self.lost = shell.Reason.SCRIPT_FROM_INPUT
        else:
            yield from self.handed_on(text, span, depth + 1)
            self._decide_texts([text], depth)

    def rough(self, text: str, span: Span | None, depth: int) -> Iterator[Invocation]:
        """Yield what looks like commands in a text that is not understood."""
        before: list[str] = []
        reads = "|" in text or "<" in text or depth > 0
        for piece in _SEPARATORS.split(text.replace("\\\n", "")):
            values = piece.translate(_QUOTES).split()
            yield from self.expanded(values, span, depth)
            if "<" in piece or ">" in piece:
                bare, _, given = piece.partition("<<<")
                yield from self.expanded(given.translate(_QUOTES).split(), span, depth)
                values = _REDIRECTION.sub(" ", bare).translate(_QUOTES).split()
                yield from self.expanded(values, span, depth)
            if reads and values:
                yield from self.input_of(values, before, span, depth)
            before = values


def _unbraced(command: shell.SimpleCommand) -> list[str]:
    """Return the words of a command as braces make them; nothing where there are none."""
    words: list[str] = []
    for word in command.words:
        if word.dynamic and "{" in word.value and len(words) < PARTS_MAX:
            try:
                made = expanded((Text(word.value, quoted=False),))
            except TooManyError:
                made = []
            words += [
                "".join(a.text if isinstance(a, Text) else _APPENDED for a in w) for w in made
            ]
        else:
            words.append(word.value)
    return [] if words == [word.value for word in command.words] else words


def _glued(word: str) -> str:
    """Return the text that stands right behind an option: `--command=TEXT`, `-qcTEXT`."""
    if word.startswith("--"):
        return word.partition("=")[2]
    return word.partition("c")[2] if word.startswith("-") else ""


def _learns_aliases(words: Sequence[str], values: Sequence[str]) -> bool:
    """Whether git gets aliases from its configuration: `git config alias.x push`."""
    if program(words[0]) != "git" and not shell.may_start_any(tuple(words)):
        return False
    return any(_GIT_LEARNS.match(word) for word in values)


def _command_words(values: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command from its program on."""
    at = 0
    while at < len(values) and (ASSIGNMENT.match(values[at]) or values[at] in GRAMMAR):
        at += 1
    return tuple(values[at:])


def _behind(words: Sequence[str], option: re.Pattern[str]) -> Iterator[str]:
    """Yield the texts that an option takes, attached or as the next word."""
    for at, word in enumerate(words):
        if match := option.fullmatch(word):
            yield match[1] or "".join(words[at + 1 : at + 2])


def _replaced(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of `xargs -I NAME` with what nobody knows in the place of the name."""
    for at, word in enumerate(words):
        name = word[2:] or "".join(words[at + 1 : at + 2])
        if word.startswith(("-I", "-J")) and name:
            return (*words[: at + 1], *(each.replace(name, _APPENDED) for each in words[at + 1 :]))
    return words


def _git_aliases(words: Sequence[str]) -> Iterator[str]:
    """Yield what `git -c alias.x=…` makes of `git x`."""
    for word in words[1:]:
        alias = _GIT_ALIAS.search(word)
        if alias is not None:
            yield alias[2] if alias[1] else f"git {alias[2]}"
