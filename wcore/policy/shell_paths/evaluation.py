"""Follows a shell text and yields every path that it names: with what is known, and holes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from wcore.policy.shell import renames
from wcore.policy.shell_paths import builtins, expansion
from wcore.policy.shell_paths.folders import mentions_of_folders
from wcore.policy.shell_paths.handing import Handed, handed, has_input, read_as_input
from wcore.policy.shell_paths.mention import Mention, Reading
from wcore.policy.shell_paths.moving import moves
from wcore.policy.shell_paths.parser import parse
from wcore.policy.shell_paths.programs import Role, roles
from wcore.policy.shell_paths.state import State
from wcore.policy.shell_paths.syntax import (
    Assigned,
    Command,
    Event,
    Function,
    Loop,
    Lost,
    Open,
    Redirection,
    Scope,
    Text,
    Word,
)
from wcore.policy.shell_paths.values import Value, split, text

PASSES_MAX: Final = 4  # over a text with loops or functions, until its variables are settled
DEPTH_MAX: Final = 3  # a shell in a shell in a shell
LOOPS_MAX: Final = 64  # of one text; each is searched for what changes the folder
MENTIONS_MAX: Final = 1024  # paths of one text; more is asked about

_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^\]]*\])?(\+?)=")
_OPTION: Final = re.compile(r"-[A-Za-z](.+)", re.DOTALL)
_SOURCE_CHARS_MAX: Final = 200  # of a word that is told to people
_SPECIAL: Final = frozenset("$`~*?[{\\'\"")
_READS: Final = frozenset(["<"])


def evaluate(command: str, cwd: str, home: str, environ: Mapping[str, str] | None) -> Reading:
    """Return the paths that a text names when it is run in `cwd`; `None`: an unknown environment.

    Never raises; time is linear in the text for a bounded number of passes.
    """
    return _Evaluation(State(cwd, home, environ)).run(parse(command), 0)


class _Evaluation:
    def __init__(self, state: State) -> None:
        self._state = state
        self._found: dict[Mention, None] = {}
        self._lost = False
        self._has_input = False

    def run(self, events: Sequence[Event], depth: int) -> Reading:
        again = any(
            isinstance(e, Function) or (isinstance(e, Open) and e.scope is Scope.LOOP)
            for e in events
        )
        for _ in range(PASSES_MAX if again else 1):
            before = self._state.begin_pass(weak=again)
            self._found.clear()
            self._follow(events, depth)
            if not again or not self._state.has_changed(before):
                break
        else:
            self._state.give_up()
            self._follow(events, depth)
        found = tuple(self._found)
        return Reading(found[:MENTIONS_MAX], self._lost or len(found) > MENTIONS_MAX)

    def _follow(self, events: Sequence[Event], depth: int) -> None:
        loops = 0
        self._has_input = self._has_input or has_input(events)
        for at, event in enumerate(events):
            if len(self._found) > MENTIONS_MAX:
                self._lost = True
                return
            match event:
                case Command():
                    self._command(event, events[at - 1] if at else None, depth)
                case Open():
                    loops += event.scope is Scope.LOOP
                    self._lost = self._lost or loops > LOOPS_MAX
                    self._state.operator(event.before)
                    self._open(event.scope, events[at:] if loops <= LOOPS_MAX else ())
                case Function():
                    self._state.define(moves=moves(events[at:], whole=True))
                case Lost():
                    self._lost = True
                case _:
                    self._note(event)

    def _open(self, scope: Scope, rest: Sequence[Event]) -> None:
        self._state.open(scope)
        if scope is Scope.LOOP and (not rest or moves(rest)):
            self._state.move_anywhere()

    def _note(self, event: Event) -> None:
        match event:
            case Loop(name, words, before):
                self._state.operator(before)
                self._loop(name, words)
            case Assigned(names):
                for name in names:
                    self._state.forget(name)
            case _:
                self._state.close()

    def _loop(self, name: str, words: tuple[Word, ...] | None) -> None:
        state = self._state
        if words is None:
            state.forget(name)
            return
        values: list[Value] = []
        for word in words:
            found = expansion.fields(word, state)
            self._mention(word, found, Role.READ)
            values += found
        sure = any(word.literal for word in words)
        state.assign(name, [*values[: expansion.VALUES_MAX + 1]], sure=sure)

    # one command

    def _command(self, command: Command, previous: Event | None, depth: int) -> None:
        state = self._state
        state.operator(command.before)
        is_alone = "|" not in (command.before, command.after) and command.after not in ("&", "|&")
        for redirection in command.redirections:
            self._redirected(redirection)
        words = list(command.words)
        prefix: list[Word] = []
        while words and _ASSIGNMENT.match(words[0].source) and words[0].begins_bare:
            prefix.append(words.pop(0))
        for word in prefix:
            self._assign(word, lasts=not words and is_alone, sure=command.before == ";")
        argv = [(word, value) for word in words for value in expansion.fields(word, state)]
        for redirection in command.redirections:  # after words and assignments, which may set more
            self._redirected(redirection)
        if not argv:
            return
        self._arguments(argv)
        for each in (each for word in words for each in word.array or ()):
            self._mention(each, expansion.fields(each, state), Role.UNKNOWN)
        head, values = argv[0][0], [value for word, value in argv if word is argv[0][0]]
        vanishes = words[0].literal is None and expansion.may_vanish(words[0], state)
        known = head.literal is not None or (len(values) == 1 and values[0].literal is not None)
        if not known or (vanishes and head is words[0]):
            self._lost = True  # it may be any builtin
            state.forget_all()
            state.move_anywhere(for_good=True)
        else:
            self._effects(
                argv,
                command.before,
                is_alone=is_alone,
                is_prefixed=bool(prefix),
                may_vanish=any(expansion.may_vanish(word, state) for word in words[1:]),
            )
        literals = [value.literal for _, value in argv]
        self._lost = self._lost or renames(literals)
        self._run(handed(literals), depth)
        self._run(
            read_as_input(command, previous, literals, state, elsewhere=self._has_input), depth
        )

    def _arguments(self, argv: Sequence[tuple[Word, Value]]) -> None:
        found = roles([value.literal for _, value in argv])
        for (word, value), role in list(zip(argv, found, strict=True))[1:]:
            if role is Role.LEFT_OUT:
                continue
            if role is not Role.TOLD or value.literal is not None:
                self._mention(word, [value], role)
        values = [(word.source[:_SOURCE_CHARS_MAX], value) for word, value in argv]
        self._found.update(dict.fromkeys(mentions_of_folders(values, self._state.absolute)))

    def _effects(
        self,
        given: Sequence[tuple[Word, Value]],
        before: str,
        *,
        is_alone: bool,
        is_prefixed: bool,
        may_vanish: bool,
    ) -> None:
        """Note what a builtin changes."""
        at = 0
        argv = [value.literal for _, value in given]
        while at < len(argv) - 1 and argv[at] in ("command", "builtin", "exec"):
            at += 1
            while at < len(argv) - 1 and (argv[at] or "").startswith("-"):
                at += 1
        name, argv = argv[at], argv[at:]
        if name in ("cd", "pushd", "popd"):
            if is_alone:
                values = [value for _, value in given[at + 1 :]]
                self._state.change_folder(
                    name,
                    values,
                    is_prefixed=is_prefixed,
                    may_vanish=may_vanish,
                    may_be_skipped=before == "||",
                )
        elif name in builtins.SETTERS:
            self._declared(name, argv, [word for word, _ in given[at:]])
        elif name is not None:
            self._state.builtin(name, argv, before)
        if builtins.evaluates(name, argv):
            self._lost = True

    def _declared(self, name: str, argv: list[str | None], words: list[Word]) -> None:
        state = self._state
        is_plain = name in builtins.DECLARERS and all(
            (argument or "").lstrip("-") in ("", "x", "g", "r", "gx", "rx")
            for argument in argv[1:]
            if argument is None or argument.startswith(("-", "+"))
        )
        for word in words[1:]:
            match = _ASSIGNMENT.match(word.source)
            if match and "{" in word.source.replace("${", ""):  # several assignments in one
                state.forget(match[1])
            elif match and is_plain and word.begins_bare:
                self._assign(word, lasts=True, sure=False)
            elif match:
                state.forget(match[1])
            elif (literal := word.literal) is None:
                state.forget_all()
            elif not (name in ("export", "readonly") and is_plain):
                state.forget(literal.partition("[")[0])

    def _run(self, found: Handed | None, depth: int) -> None:
        """Read again what a shell is given as text."""
        if found is None:
            return
        self._lost = self._lost or found.lost or (found.here and depth >= DEPTH_MAX)
        if found.with_words:
            self._state.get_words()
        for each in found.texts if depth < DEPTH_MAX else ():
            self._state.open(Scope.BRANCH if found.here else Scope.SUBSHELL)
            self._follow(parse(each), depth + 1)
            self._state.close()
        if found.here:
            self._state.forget_all()
            self._state.move_anywhere(for_good=True)

    def _assign(self, word: Word, *, lasts: bool, sure: bool) -> None:
        match = _ASSIGNMENT.match(word.source)
        assert match is not None
        name, is_simple = match[1], not match[2] and not match[3] and word.array is None
        self._lost = self._lost or renames([name])
        values = expansion.assigned(_behind(word, match.end()), self._state)
        for value in values:
            self._mention(word, [value], Role.UNKNOWN)
            if "$(" in value.beginning or "`" in value.beginning:
                self._lost = True  # arithmetic would run it
        for each in word.array or ():
            self._mention(each, expansion.fields(each, self._state), Role.UNKNOWN)
        if not is_simple:
            self._state.forget(name)
        elif lasts:
            self._state.assign(name, values, sure=sure)

    # paths

    def _redirected(self, redirection: Redirection) -> None:
        if redirection.gives_text:
            return
        role = Role.READ if redirection.operator in _READS else Role.WRITE
        values = expansion.fields(redirection.target, self._state) or [text("")]
        for value in values:
            if redirection.operator in (">&", "<&"):
                if (value.literal or "x").isdigit():
                    continue
                if value.literal is None or _SPECIAL & set(value.literal):
                    self._lost = True  # bash expands this word twice, what was quoted too
            if value != expansion.PIPE and value.literal != "":
                self._add(value, role, redirection.target.source, opened=True)

    def _mention(self, word: Word, values: Iterable[Value], role: Role) -> None:
        for value in values:
            if value == expansion.PIPE:
                continue
            if not value.beginning.startswith("-"):
                self._add(value, role, word.source)
            elif attached := _OPTION.fullmatch(value.beginning):
                rest = (attached[1], *value.pieces[1:])
                self._add(Value(rest, value.private), role, word.source, is_part=True)
            if "/" in value.beginning and value.beginning.startswith(
                "-"
            ):  # behind `--` it is no option
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
    ) -> None:
        shown = source[:_SOURCE_CHARS_MAX]
        for path in self._state.absolute(value, opened=opened):
            self._found.setdefault(Mention(path, role, shown, opened, is_part))


def _behind(word: Word, count: int) -> tuple[expansion.Atom, ...]:
    first = word.atoms[0]
    assert isinstance(first, Text)
    rest = first.text[count:]
    return (*((Text(rest, quoted=False),) if rest else ()), *word.atoms[1:])
