"""What commands change for those behind them: builtins, assignments, and texts that they run."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from wcore.policy.shell import renames
from wcore.policy.shell.input_scripts import text_of
from wcore.policy.shell.runners import may_start_any
from wcore.policy.shell_paths import builtins, expansion, shell_invocations
from wcore.policy.shell_paths.folder_changes import moves
from wcore.policy.shell_paths.folder_options import folders_of
from wcore.policy.shell_paths.parser import parse
from wcore.policy.shell_paths.programs import Role
from wcore.policy.shell_paths.shell_input import read_as_input
from wcore.policy.shell_paths.state import State
from wcore.policy.shell_paths.syntax import (
    Atom,
    Command,
    Event,
    FunctionDefinition,
    Open,
    Scope,
    Text,
    Word,
)
from wcore.policy.shell_paths.values import ANYTHING, Value, split, text
from wcore.policy.stops import program

DEPTH_MAX: Final = 3  # a shell in a shell in a shell

ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^\]]*\])?(\+?)=")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_PATHS: Final = frozenset(["IFS", "PATH"])  # characters, and folders that nothing reads
_PLAIN: Final = frozenset(["", "x", "g", "r", "gx", "rx"])  # options of `declare` and its kin


class Effects:
    """The part of the evaluation that knows what a command does to the state."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.lost = False
        self.inputs: dict[Value, None] = {}  # texts that parts of the text read
        self.has_input = False  # whether a part of the text reads from something
        self.repeats = False  # whether a part of the text may be run again

    def follow(self, events: Sequence[Event], depth: int) -> None:
        """Follow the events of a text, or of one that is run in it."""
        raise NotImplementedError

    def mention(self, word: Word, values: Iterable[Value], role: Role) -> None:
        """Note that a word names these paths."""
        raise NotImplementedError

    def spell(self, word: Word, value: Value) -> None:
        """Note the paths that are spelled within a word which a program may be told."""
        raise NotImplementedError

    def change(
        self,
        given: Sequence[tuple[Word, Value]],
        command: Command,
        *,
        is_alone: bool,
        is_prefixed: bool,
        may_vanish: bool,
    ) -> None:
        """Note what a builtin changes."""
        argv = [value.literal for _, value in given]
        at = _behind_exec(argv)
        name, argv = argv[at], argv[at:]
        if name in ("cd", "pushd", "popd") and not is_alone:
            if self.state.has_options:  # the last of a pipe may be run here
                self.state.move_anywhere()
        elif name in ("cd", "pushd", "popd"):
            values = [value for _, value in given[at + 1 :]]
            self.state.change_folder(
                name,
                values,
                is_one=len({word for word, _ in given[at + 1 :]}) == 1,
                is_prefixed=is_prefixed,
                may_vanish=may_vanish,
                may_be_skipped=command.before == "||",
            )
        elif name in builtins.SETTERS:
            self._declared(name, argv, [word for word, _ in given[at:]])
        elif name in builtins.READERS:
            self._read(name, [value for _, value in given[at:]], command)
        elif name is not None:
            self.state.builtin(name, argv, command.before)
            if name in ("set", ".", "source"):
                words = [value for _, value in given[at + 1 :]]
                self.state.add_arguments([word for word in words if word.literal != "--"])
        if builtins.evaluates(name, argv):
            self.lost = True

    def _declared(self, name: str, argv: list[str | None], words: list[Word]) -> None:
        state = self.state
        options = [argument for argument in argv[1:] if (argument or "-")[0] in "-+"]
        is_plain = name in builtins.DECLARERS and all(
            (option or "?").lstrip("-") in _PLAIN for option in options
        )
        if name in builtins.DECLARERS and any("n" in (option or "n") for option in options):
            state.unsettle()  # a name that stands for another
        for word in words[1:]:
            match = ASSIGNMENT.match(word.source)
            named = match[1] if match else word.literal
            if named is None:
                state.forget_all()
            elif (
                match and is_plain and word.begins_bare and "{" not in word.source.replace("${", "")
            ):
                self.assign(word, lasts=True, sure=False)
            elif match:  # several assignments in one, or a value that is changed
                self.assign(word, lasts=True, sure=False) if word.begins_bare else None
                state.forget(named)
            elif "=" in named:  # an assignment that is quoted
                state.forget(named.partition("=")[0].partition("[")[0].rstrip("+"))
            elif not (name in ("export", "readonly") and is_plain):
                state.forget(named.partition("[")[0])
            if not is_plain and named is not None and name in builtins.DECLARERS:
                state.strange.add(named.partition("[")[0])

    def _read(self, name: str, argv: Sequence[Value], command: Command) -> None:
        """Note what `read`, `mapfile` and `printf -v` set: made of what they are given."""
        state = self.state
        words = [value.literal for value in argv[1:]]
        if name == "printf" and not any(
            word is None or word.startswith("-v") for word in words[:1]
        ):
            return
        held = [ANYTHING, *(argv[2:] if name == "printf" else ())]
        given = [word.source[4:] for word in command.words if word.source.startswith("IFS=")]
        blanks = "".join([" \t\n", *given, *(state.separators() or ())])
        for value in self.inputs:
            held += [value, *split(value, blanks)]
        if None in words:
            state.forget_all()
        targets = [word.partition("[")[0] for word in words if word is not None]
        targets += [word[at:] for word in targets if word[:1] == "-" for at in range(2, len(word))]
        names = [target for target in targets if _VARIABLE.fullmatch(target)]
        for target in names or ["REPLY", "MAPFILE"]:
            state.assign(target, held)

    def hand(self, argv: Sequence[Value], prefix: Sequence[Word], depth: int) -> None:
        """Read again what a shell is given as text."""
        literals = [value.literal for value in argv]
        folders = folders_of(argv)
        others = shell_invocations.other_texts(literals)
        self.lost = self.lost or (bool(others) and depth >= DEPTH_MAX)
        for each in others if depth < DEPTH_MAX else ():
            with self.state.child((), keeps_folder=True):
                self.state.visit(folders)
                self._follow_text(each, depth)
        at = shell_invocations.shell_at(literals)
        if at is None:
            return
        name = program(literals[at] or "")
        plain = tuple(word or "" for word in literals)
        if at > 0 and program(plain[0]) != "builtin" and not may_start_any(plain):
            return
        given = literals[at + 1 :]
        texts, place = shell_invocations.texts(given), text_of(given)
        if place is not None and given[place] is None:
            self.lost = True
        if name in ("eval", "trap"):
            self._evaluated(name, given, depth)
        elif texts and depth >= DEPTH_MAX:
            self.lost = True
        elif texts:
            with self.state.child(
                argv[at + 1 :], keeps_folder=shell_invocations.keeps_folder(literals[:at])
            ):
                self.state.visit(folders)
                self._start(argv, at, prefix)
                for each in texts:
                    self._follow_text(each, depth)

    def feed(
        self, command: Command, previous: Event | None, argv: Sequence[str | None], depth: int
    ) -> None:
        """Read what a shell is given as its input."""
        self.lost = self.lost or renames(argv)
        elsewhere = self.has_input
        found = read_as_input(command, previous, argv, self.state, elsewhere=elsewhere)
        if found is None:
            return
        state = self.state
        self.lost = self.lost or found.lost or (bool(found.texts) and depth >= DEPTH_MAX)
        state.add_arguments([ANYTHING])
        for each in found.texts if depth < DEPTH_MAX else ():
            state.open(Scope.BRANCH if found.here else Scope.SUBSHELL)
            self._follow_text(each, depth)
            state.close()
        if found.here:
            state.forget_code()

    def _start(self, argv: Sequence[Value], at: int, prefix: Sequence[Word]) -> None:
        """Note with what a shell is started, the word at `at`."""
        state = self.state
        before = [value.literal for value in argv[:at]]
        given = [value.literal for value in argv[at + 1 :]]
        for word in prefix:
            self.assign(word, lasts=True, sure=False)
        for value in argv[:at]:
            if match := ASSIGNMENT.match(value.beginning):
                rest = value.beginning[match.end() :]
                state.assign(match[1], [text(rest) + Value(value.pieces[1:])])
        state.may_lack = state.may_lack or shell_invocations.may_unset(before)
        if before:  # arguments may be added
            state.add_arguments([ANYTHING])
        if shell_invocations.has_options(given):
            state.change_options()
        if shell_invocations.reads_file(given) or state.has_start_file():
            self.lost = True  # code that nobody read is run before it
            state.forget_code()

    def _evaluated(self, name: str, given: Sequence[str | None], depth: int) -> None:
        """Read what `eval` and `trap` are given: it is run here, the latter at any time."""
        joined = None if None in given else " ".join(each or "" for each in given)
        behind = [each for each in given if each != "--"]
        text_ = joined if name == "eval" else behind[0] if behind else ""
        self.lost = self.lost or text_ is None or depth >= DEPTH_MAX
        if name == "trap":
            self.state.unsettle()
        if text_ and depth < DEPTH_MAX:
            self.state.open(Scope.BRANCH)
            if name == "trap":
                self.repeats = True
                self.state.wander()
            self._follow_text(text_, depth)
            self.state.close()
        self.state.forget_all()
        if (
            text_ is None
            or depth >= DEPTH_MAX
            or (name == "trap" and moves(parse(text_), whole=True))
        ):
            self.state.move_anywhere(for_good=True)

    def _follow_text(self, text_: str, depth: int) -> None:
        events = parse(text_)
        self.repeats = self.repeats or repeats(events)
        self.follow(events, depth + 1)

    def assign(self, word: Word, *, lasts: bool, sure: bool) -> None:
        match = ASSIGNMENT.match(word.source)
        assert match is not None
        name, state = match[1], self.state
        self.lost = self.lost or renames([name])
        values = expansion.assigned(_behind(word, match.end()), state)
        for value in values if name not in _NO_PATHS else ():
            self.mention(word, [value], Role.UNKNOWN)
            if name.isupper():  # `GIT_EDITOR='rm x' git commit`
                self.spell(word, value)
            if "$(" in value.beginning or "`" in value.beginning:
                self.lost = True  # arithmetic would run it
        elements = [value for each in word.array or () for value in expansion.fields(each, state)]
        for value in elements:
            self.mention(word, [value], Role.UNKNOWN)
        if match[2] or word.array is not None:
            state.assign(name, [*values, *elements, ANYTHING])
        elif lasts and match[3]:
            state.append(name, values, sure=sure)
        elif lasts:
            state.assign(name, values, sure=sure)


def _behind_exec(argv: Sequence[str | None]) -> int:
    """Return where behind `command`, `builtin` and `exec` the name stands."""
    at = 0
    while at < len(argv) - 1 and argv[at] in ("command", "builtin", "exec"):
        at += 1
        while at < len(argv) - 1 and (argv[at] or "").startswith("-"):
            at += 1
    return at


def repeats(events: Sequence[Event]) -> bool:
    """Whether a part of these may be run again, or later."""
    return any(
        isinstance(event, FunctionDefinition)
        or (isinstance(event, Open) and event.scope is Scope.LOOP)
        for event in events
    )


def _behind(word: Word, count: int) -> tuple[Atom, ...]:
    first = word.atoms[0]
    assert isinstance(first, Text)
    rest = first.text[count:]
    return (*((Text(rest, quoted=False),) if rest else ()), *word.atoms[1:])
