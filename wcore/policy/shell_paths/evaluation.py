"""Follows a shell text and yields every path that it names: with what is known, and holes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from wcore.policy.shell.runners import may_start_any
from wcore.policy.shell_paths import builtins, expansion, shell_invocations
from wcore.policy.shell_paths.effects import ASSIGNMENT, Effects, repeats
from wcore.policy.shell_paths.embedded_paths import Scripts
from wcore.policy.shell_paths.find_command import found_by
from wcore.policy.shell_paths.folder_changes import moves
from wcore.policy.shell_paths.folder_options import folders_of
from wcore.policy.shell_paths.mention import Mention, MentionScan
from wcore.policy.shell_paths.parser import parse
from wcore.policy.shell_paths.programs import Role, roles
from wcore.policy.shell_paths.shell_input import has_input, texts_given, words_before
from wcore.policy.shell_paths.state import State
from wcore.policy.shell_paths.sweeps import Sweep, sweep_of
from wcore.policy.shell_paths.syntax import (
    ArithmeticAssignment,
    Command,
    Event,
    ForLoop,
    FunctionDefinition,
    Open,
    Redirection,
    Scope,
    UnparsedRest,
    Word,
)
from wcore.policy.shell_paths.tree_mentions import mentions_of_folders
from wcore.policy.shell_paths.values import Hole, Value, split, text
from wcore.policy.stops import program

PASSES_MAX: Final = 4  # over a text with loops or functions, until its variables are settled
LOOPS_MAX: Final = 64  # of one text; each is searched for what changes the folder
MENTIONS_MAX: Final = 1024  # paths of one text; more is asked about
SPELLED_MAX: Final = 512  # within words, and without a folder: `os.path` is one
WORDS_MAX: Final = 256  # that a command reads from its input; more is asked about

_ELEMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\[")
_OPTION: Final = re.compile(r"-[A-Za-z](.+)", re.DOTALL)
_BUNDLE: Final = re.compile(r"-[A-Za-z0-9]{2,}([./~].*)", re.DOTALL)  # `tar -cf./x`
_SOURCE_CHARS_MAX: Final = 200  # of a word that is told to people
_MAKE_WORDS: Final = frozenset(["xargs", "parallel"])
_BLANKS: Final = " \t\r\n\0\"'"
_SPECIAL: Final = frozenset("$`~*?[{\\'\"")
_ROLES: Final = {"<": (Role.READ,), "<>": (Role.READ, Role.WRITE)}


def evaluate(command: str, cwd: str, home: str, environ: Mapping[str, str] | None) -> MentionScan:
    """Return the paths that a text names when it is run in `cwd`; `None`: an unknown environment.

    Never raises; time is linear in the text for a bounded number of passes.
    """
    return _Evaluation(State(cwd, home, environ)).run(parse(command), 0)


class _Evaluation(Effects):
    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._found: dict[Mention, None] = {}
        self._spelled = 0
        self._sweep: Sweep | None = None  # of the command whose words are read

    def run(self, events: Sequence[Event], depth: int) -> MentionScan:
        self.repeats = repeats(events)
        for _ in range(PASSES_MAX):
            weak = self.repeats
            before = self.state.begin_pass(weak=weak)
            self.follow(events, depth)
            if weak == self.repeats and not (weak and self.state.has_changed(before)):
                break
        else:
            self.state.give_up()
            self.follow(events, depth)
        found = tuple(self._found)
        lost = self.lost or self.state.is_lost or len(found) > MENTIONS_MAX
        return MentionScan(found[:MENTIONS_MAX], lost)

    def follow(self, events: Sequence[Event], depth: int) -> None:
        loops = 0
        self.has_input = self.has_input or has_input(events)
        for at, event in enumerate(events):
            if len(self._found) > MENTIONS_MAX:
                self.lost = True
                return
            match event:
                case Command():
                    self._command(event, events[at - 1] if at else None, depth)
                case Open():
                    loops += event.scope is Scope.LOOP
                    self.lost = self.lost or loops > LOOPS_MAX
                    self.state.operator(event.before)
                    before = events[at - 1] if at else None
                    self.inputs.update(dict.fromkeys(texts_given(event, before, self.state)))
                    self._open(event.scope, events[at:] if loops <= LOOPS_MAX else ())
                case FunctionDefinition(name):
                    self.state.define(name, moves=moves(events[at:], whole=True))
                case UnparsedRest():
                    self.lost = True
                case _:
                    self._note(event)

    def _open(self, scope: Scope, rest: Sequence[Event]) -> None:
        self.state.open(scope)
        if scope is Scope.LOOP and (not rest or moves(rest)):
            self.state.move_anywhere()

    def _note(self, event: Event) -> None:
        match event:
            case ForLoop(name, words, before):
                self.state.operator(before)
                self._loop(name, words)
            case ArithmeticAssignment(names):
                for name in names:
                    self.state.forget(name)
            case _:
                self.state.close()

    def _loop(self, name: str, words: tuple[Word, ...] | None) -> None:
        state = self.state
        if words is None:
            state.assign(name, state.values("@"))
            return
        values: list[Value] = []
        for word in words:
            found = expansion.fields(word, state)
            self.mention(word, found, Role.READ)
            values += found
        sure = any(word.literal for word in words)
        state.assign(name, [*values[: expansion.VALUES_MAX + 1]], sure=sure)

    # one command

    def _command(self, command: Command, previous: Event | None, depth: int) -> None:
        state = self.state
        state.operator(command.before)
        is_alone = "|" not in (command.before, command.after) and command.after not in ("&", "|&")
        for redirection in command.redirections:
            self._redirected(redirection)
        words = list(command.words)
        prefix = self._prefix(words)
        lasts = not words and (is_alone or state.has_options)
        for word in prefix:
            self.assign(word, lasts=lasts, sure=command.before == ";")
        argv = [(word, value) for word in words for value in expansion.fields(word, state)]
        for redirection in command.redirections:  # after words and assignments, which may set more
            self._redirected(redirection)
        if not argv:
            has_text = any(each.gives_text for each in command.redirections)
            self.repeats = self.repeats or has_text  # commands before this have read it
            return
        self._arguments(argv)
        given = texts_given(command, previous, state)
        self.inputs.update(dict.fromkeys(given))
        self._input(argv, given, words_before(command, previous, state))
        for each in (each for word in words for each in word.array or ()):
            self.mention(each, expansion.fields(each, state), Role.UNKNOWN)
        head, values = argv[0][0], [value for word, value in argv if word is argv[0][0]]
        vanishes = words[0].literal is None and expansion.may_vanish(words[0], state)
        known = head.literal is not None or (len(values) == 1 and values[0].literal is not None)
        if not known or (vanishes and head is words[0]):
            self.lost = True  # it may be any builtin
            state.forget_code()
        else:
            self.change(
                argv,
                command,
                is_alone=is_alone,
                is_prefixed=bool(prefix),
                may_vanish=any(expansion.may_vanish(word, state) for word in words[1:]),
            )
            name = argv[0][1].literal
            if name in builtins.SPECIAL or state.is_function(name):
                for word in prefix:
                    self.assign(word, lasts=True, sure=False)
        self.hand([value for _, value in argv], prefix, depth)
        self.feed(command, previous, [value.literal for _, value in argv], depth)
        state.tell([value for _, value in argv])

    def _prefix(self, words: list[Word]) -> list[Word]:
        """Take the assignments off the words of a command, and return those that are known."""
        found: list[Word] = []
        while words:
            if ASSIGNMENT.match(words[0].source) and words[0].begins_bare:
                found.append(words.pop(0))
            elif (match := _ELEMENT.match(words[0].source)) and "]" in words[0].source:
                word = words.pop(0)  # of an array, at a place that is written in another way
                self.state.forget(match[1])
                self.mention(word, expansion.fields(word, self.state), Role.UNKNOWN)
            else:
                break
        return found

    def _arguments(self, argv: Sequence[tuple[Word, Value]]) -> None:
        literals = [value.literal for _, value in argv]
        found, self._sweep = roles(literals), sweep_of(literals)
        with self.state.visiting(folders_of([value for _, value in argv])):
            self._words(argv, literals, found)
            self._sweep = None
            values = [(word.source[:_SOURCE_CHARS_MAX], value) for word, value in argv]
            self._found.update(dict.fromkeys(mentions_of_folders(values, self.state.absolute)))
        for value, role in found_by([value for _, value in argv]):
            self._add(value, role, argv[0][0].source, spelled=True)

    def _words(
        self,
        argv: Sequence[tuple[Word, Value]],
        literals: Sequence[str | None],
        found: Sequence[Role],
    ) -> None:
        scripts = None if self._hands_text(literals) else Scripts(literals)
        seen: set[tuple[Value, Role]] = set()
        for (word, value), role in list(zip(argv, found, strict=True))[1:]:
            if len(self._found) > MENTIONS_MAX:
                self.lost = True
                return
            if role is Role.LEFT_OUT:
                continue
            if (value, role) not in seen and (role is not Role.TOLD or value.literal is not None):
                self.mention(word, [value], role)
            seen.add((value, role))
            self._spell(scripts.within(value, role) if scripts else (), word)

    def _input(
        self,
        argv: Sequence[tuple[Word, Value]],
        given: Sequence[Value],
        before: Sequence[Value],
    ) -> None:
        """Read what a command is given as its input: words of it, or a text that names files.

        `before` are the words of the command that prints it.
        """
        if not given and not before:
            return
        literals = [value.literal for _, value in argv]
        names = {program(word) for word in literals if word}
        if self._hands_text(literals):
            return  # it reads the text itself
        if not names.isdisjoint(_MAKE_WORDS):
            word, role = argv[-1][0], roles([*literals, "x"])[-1]
            for value, _ in found_by(before, role):  # `find … | xargs rm`
                self._add(value, role, word.source, spelled=True)
            more = [part for value in given for part in split(value, _BLANKS) if part.pieces]
            more = more or before[1:]
            self._arguments([*argv, *((word, value) for value in more[:WORDS_MAX])])
            self.lost = self.lost or len(more) > WORDS_MAX
            return
        scripts, role = Scripts(literals), roles([*literals, "x"])[-1]
        for value in given:
            self._spell(scripts.of_text(value, role), argv[0][0])

    def spell(self, word: Word, value: Value) -> None:
        self._spell(Scripts([]).of_text(value, Role.UNKNOWN), word)

    def _spell(self, found: Iterable[tuple[Value, Role]], word: Word) -> None:
        """Note paths within a word; of very many only those that could be nothing else."""
        for path, role in found:
            is_path = role is Role.WRITE or "/" in path.beginning or path.beginning[:1] == "."
            if is_path or self._spelled < SPELLED_MAX:
                self._spelled += not is_path
                self._add(path, role, word.source, spelled=True)

    @staticmethod
    def _hands_text(words: Sequence[str | None]) -> bool:
        """Whether a shell is given the words: it reads its texts itself."""
        at = shell_invocations.shell_at(words)
        return at is not None and (at == 0 or may_start_any(tuple(word or "" for word in words)))

    # paths

    def _redirected(self, redirection: Redirection) -> None:
        if redirection.gives_text:  # data, but it may assign
            given = expansion.assigned(redirection.text_atoms, self.state)
            self.inputs.update(dict.fromkeys(given))
            return
        found = _ROLES.get(redirection.operator, (Role.WRITE,))
        values = expansion.fields(redirection.target, self.state) or [text("")]
        for value in values:
            if redirection.operator in (">&", "<&"):
                if (value.literal or "x").isdigit():
                    continue
                if value.literal is None or _SPECIAL & set(value.literal):
                    self.lost = True  # bash expands this word twice, what was quoted too
            for role in found if value != expansion.PIPE and value.literal != "" else ():
                self._add(value, role, redirection.target.source, opened=True)

    def mention(self, word: Word, values: Iterable[Value], role: Role) -> None:
        for value in values:
            if value == expansion.PIPE:
                continue
            if not value.beginning.startswith("-"):
                self._add(value, role, word.source)
            for option in (_OPTION, _BUNDLE):
                attached = option.fullmatch(value.beginning)
                rest = Value((attached[1], *value.pieces[1:]), value.private) if attached else None
                if rest and (rest.literal != "/" or role is Role.WRITE):  # not of `awk -F/`
                    self._add(rest, role, word.source, is_part=True)
            if "/" in value.beginning and value.beginning.startswith("-"):  # no option behind `--`
                self._add(value, role, word.source, is_part=True)
            for separators in ("=", "=:,@"):
                parts = split(value, separators)
                for part in parts[1:] if separators == "=" else parts:
                    if part.pieces and part != value:
                        self._add(part, role, word.source, is_part=separators != "=")

    def _add(
        self,
        value: Value,
        role: Role,
        source: str,
        *,
        opened: bool = False,
        is_part: bool = False,
        spelled: bool = False,
    ) -> None:
        shown = source[:_SOURCE_CHARS_MAX]
        paths = self.state.absolute(value, opened=opened)
        # Where only the folder is not known, nothing that is empty makes it the root or the home.
        known = value.pieces[:1] == (Hole.ANY,) or not any(
            path.pieces[:1] == (Hole.ANY,) for path in paths
        )
        known = known and ":?" not in source  # `${d:?}` ends the text where it is empty
        sweep = self._sweep if known and not (is_part or spelled) else None
        for path in paths:
            adrift = path.is_adrift and not value.is_adrift
            self._found.setdefault(
                Mention(path, role, shown, opened, is_part, sweep, adrift, spelled=spelled)
            )
