"""What is known at one point of a text: variables, and the folders that it may be in."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from wcore.policy.shell_paths import builtins
from wcore.policy.shell_paths.expansion import SOMEBODY, VALUES_MAX, Scene
from wcore.policy.shell_paths.syntax import Scope
from wcore.policy.shell_paths.values import A_NAME, ANYTHING, EMPTY, Hole, Value, joined, text

FOLDERS_MAX: Final = 16  # that a text may be in; more is anywhere

_PUBLIC: Final = frozenset(["HOME", "USER", "LOGNAME", "SHELL", "PATH", "TMPDIR"])
#: Bash sets these by itself.
_COMPUTED: Final = frozenset(
    "_ RANDOM SRANDOM SECONDS LINENO BASHPID PPID UID EUID HOSTNAME HOSTTYPE MACHTYPE OSTYPE SHLVL"
    " DIRSTACK FUNCNAME EPOCHSECONDS EPOCHREALTIME OPTIND OPTARG OPTERR IFS GROUPS PIPESTATUS REPLY"
    " PS1 PS2 PS3 PS4 HISTCMD TIMEFORMAT SHELL TERM PATH LINES COLUMNS SHELLOPTS BASHOPTS".split()
)
_NUMBERS: Final = frozenset("?#$!")
_Known = tuple[Value, ...]


class State(Scene):
    """Variables and folders while a text is followed."""

    def __init__(self, cwd: str, home: str, environ: Mapping[str, str] | None) -> None:
        self._start = text(cwd)
        self._home = home
        self._environ = environ
        self._assigned: dict[str, _Known] = {}
        self._weak = False
        self._begin()

    def _begin(self) -> None:
        self._sure: frozenset[str] = frozenset()
        self._folders: tuple[Value, ...] = (self._start,)
        self._seen: tuple[Value, ...] = (self._start,)
        self._old: tuple[Value, ...] = self._initial_old()
        self._reached: tuple[Value, ...] = self._folders
        self._failed: tuple[Value, ...] = ()
        self._scopes: list[
            tuple[Scope, dict[str, _Known], frozenset[str], _Known, _Known, _Known]
        ] = []
        self._anywhere = False
        self._branches = 0
        self.has_functions = False
        self.is_split, self.pattern = True, Hole.PATTERN
        self._has_options = False

    def _initial_old(self) -> tuple[Value, ...]:
        known = (self._environ or {}).get("OLDPWD")
        return (ANYTHING,) if self._environ is None else (text(known or ""),)

    # passes

    def begin_pass(self, *, weak: bool) -> dict[str, _Known]:
        """Start over; what was assigned before is then assigned already."""
        self._weak = weak
        self._begin()
        return dict(self._assigned)

    def has_changed(self, before: Mapping[str, _Known]) -> bool:
        return {name: set(held) for name, held in self._assigned.items()} != {
            name: set(held) for name, held in before.items()
        }

    def give_up(self) -> None:
        """Forget every variable that the text sets."""
        self.begin_pass(weak=True)
        self._assigned = dict.fromkeys(self._assigned, (ANYTHING,))

    # scopes

    def open(self, scope: Scope) -> None:
        kept = dict(self._assigned)
        self._scopes.append((scope, kept, self._sure, self._folders, self._old, self._failed))
        self._failed = ()
        self._branches += scope is not Scope.SUBSHELL

    def close(self) -> None:
        if not self._scopes:
            return
        scope, assigned, sure, folders, old, failed = self._scopes.pop()
        self._failed = failed if scope is Scope.SUBSHELL else _few((*failed, *self._failed))
        if scope is Scope.SUBSHELL:
            if not self._weak:
                self._assigned = assigned
            self._folders, self._old = folders, old
        else:
            self._branches -= 1
            self._folders = _few((*self._folders, *folders))
            self._old = _few((*self._old, *old))
        self._sure = sure

    # variables

    def values(self, name: str) -> Sequence[Value]:
        if name == "PWD":
            found = [*self._where(), *self._assigned.get(name, ())]
        elif name == "OLDPWD":
            found = [*self._old, *self._assigned.get(name, ())]
        elif name in _NUMBERS:
            return [A_NAME]
        elif name.isdigit() or name in ("@", "*"):
            return [ANYTHING if name == "0" or self.has_functions or self._has_options else EMPTY]
        else:
            found = list(self._assigned.get(name, ()))
            if name not in self._sure or not found:
                found += self._given(name)
        return list(dict.fromkeys(found)) if len(found) <= VALUES_MAX else [ANYTHING]

    def _given(self, name: str) -> list[Value]:
        if name.startswith(("BASH", "COMP_")) or not name.isidentifier():
            return [ANYTHING]
        if self._environ is None:
            return [text(self._home)] if name == "HOME" else [ANYTHING]
        held = self._environ.get(name)
        if name in _COMPUTED and (held is None or name not in ("PATH", "SHELL", "TERM")):
            return [ANYTHING]
        if held is None:
            return [EMPTY]
        is_public = name in _PUBLIC or name.startswith("XDG_")
        return [text(held, private=not is_public)]

    def folders(self, name: str) -> Sequence[Value]:
        match name:
            case "":
                found = [value for value in self.values("HOME") if value.pieces]
                return found or [text(self._home)]
            case "+":
                return self.values("PWD")
            case "-":  # unset: it stays as it is written
                return [each if each.pieces else text("~-") for each in self.values("OLDPWD")]
            case _:
                return [SOMEBODY]

    def assign(self, name: str, values: Iterable[Value], *, sure: bool = False) -> None:
        known = tuple(dict.fromkeys(values))
        straight = sure and not self._branches
        if self._weak or not straight:
            known = tuple(dict.fromkeys((*self._assigned.get(name, ()), *known)))
        if len(known) > VALUES_MAX:
            known = (ANYTHING,)
        self._assigned[name] = known
        in_branch = bool(self._scopes) and self._scopes[-1][0] is Scope.BRANCH
        if sure and (straight or (self._weak and not in_branch)):
            self._sure |= {name}
        if name == "IFS":
            self.is_split = False

    def forget(self, name: str) -> None:
        """Note that nobody knows what a variable holds."""
        if name.isidentifier():
            self.assign(name, [ANYTHING])
        else:
            self.forget_all()

    def forget_all(self) -> None:
        """Note that any variable may hold anything."""
        self._environ = None
        self._assigned = dict.fromkeys({*self._assigned, "HOME"}, (ANYTHING,))
        self.is_split = False

    # builtins

    def get_words(self) -> None:
        """Note that `$1` and its kind may be anything."""
        self._has_options = True

    def builtin(self, name: str, argv: Sequence[str | None], before: str) -> None:
        """Note what a builtin changes; `before` is the operator in front of it."""
        if name in ("shopt", "alias", "enable"):
            self.forget_all()
            self._has_options, self.pattern = True, Hole.NAME
        elif name in ("exit", "return") and before == "||" and not self.has_functions:
            self._folders, self._failed = self._reached, ()  # who failed does not go on
        elif name == "shift":
            self._has_options = True
        elif name == "set" and not builtins.keeps_meaning(argv):
            self._has_options, self.pattern = True, Hole.NAME
            self.forget_all()
        elif name == "printf" and any(a is None or a.startswith("-v") for a in argv[1:2]):
            target = argv[2] if len(argv) > 2 and argv[1] == "-v" else (argv[1] or "")[2:] or None
            if target is None:
                self.forget_all()
            else:
                self.forget(target.partition("[")[0])

    # folders

    def _where(self) -> tuple[Value, ...]:
        return (ANYTHING,) if self._anywhere else self._folders

    def operator(self, operator: str) -> None:
        """Come to the next command: after `&&` the last one did not fail."""
        if operator == "&&":
            return
        self._reached = self._folders
        self._folders = _few((*self._folders, *self._failed))
        if operator != "||":
            self._failed = ()

    def define(self, *, moves: bool) -> None:
        """Note a function; it may be called at any time and then change the folder."""
        self.has_functions = True
        if moves:
            self.move_anywhere(for_good=True)

    def move_anywhere(self, *, for_good: bool = False) -> None:
        self._folders = (ANYTHING,)
        self._anywhere = self._anywhere or for_good

    def change_folder(
        self,
        name: str,
        arguments: Sequence[Value],
        *,
        is_prefixed: bool,
        may_vanish: bool,
        may_be_skipped: bool,
    ) -> None:
        """Follow `cd`, `pushd` and `popd`; whoever fails stays.

        `may_be_skipped`: it stands behind `||`, and what follows `&&` runs without it as well.
        """
        operands = [value for value in arguments if not _is_option(value)]
        before = self._where()
        if name == "popd" or (name == "pushd" and len(operands) != 1):
            after: tuple[Value, ...] = (*self._seen, ANYTHING) if operands else self._seen
        elif is_prefixed or len(operands) > 1 or "CDPATH" in self._assigned:
            after = (ANYTHING,)
        elif not operands:
            after = tuple(self.folders(""))
        elif operands[0].literal == "-":
            after = self._old
        else:
            after = tuple(_normal(path) for path in self.absolute(operands[0]))
        if may_vanish:  # then it is `cd` alone
            after = (*after, *self.folders(""))
        if may_be_skipped:
            after = (*after, *before)
        self._failed = _few((*self._failed, *before))
        self._old = _few((*before, *self._old))
        self._folders = _few(after)
        self._seen = _few((*self._seen, *after))

    def absolute(self, value: Value, *, opened: bool = False) -> list[Value]:
        """Return the absolute paths that a relative one may be; `opened`: by the shell itself.

        A `~` that is left here the shell takes as a name, and programs may take it for the home.
        """
        begin = value.beginning
        if begin.startswith("/") or not value.pieces:
            return [value] if value.pieces else []
        if value.pieces[0] is Hole.ANY:
            return [value]
        found = [
            folder + text("" if folder.literal == "/" else "/") + value for folder in self._where()
        ]
        if not opened and (begin == "~" or begin.startswith("~/")):
            rest = Value((begin[1:], *value.pieces[1:]))
            found += [folder + rest for folder in self.folders("")]
        return found


def _few(values: Iterable[Value]) -> tuple[Value, ...]:
    found = tuple(dict.fromkeys(values))
    return found if len(found) <= FOLDERS_MAX else (ANYTHING,)


def _is_option(value: Value) -> bool:
    literal = value.literal
    return literal is not None and literal.startswith("-") and literal != "-"


def _normal(value: Value) -> Value:
    """Return a folder as `cd` names it: without `.` and `..`, as far as it is known."""
    if value.is_anything:
        return value
    parts: list[list[str | Hole]] = [[]]
    for piece in value.pieces:
        if isinstance(piece, Hole):
            parts[-1].append(piece)
            continue
        first, *others = piece.split("/")
        parts[-1].append(first)
        parts.extend([other] for other in others)
    kept: list[list[str | Hole]] = []
    for part in parts:
        match [piece for piece in part if piece != ""]:
            case [] | ["."]:
                continue
            case [".."]:
                kept[-1:] = []
            case _:
                kept.append(part)
    pieces = [piece for part in kept for piece in ("/", *part)]
    return joined(pieces or ["/"], private=value.private)
