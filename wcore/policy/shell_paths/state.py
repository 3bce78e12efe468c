"""What is known at one point of a text: variables, and the folders that it may be in."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from wcore.policy.shell_paths import builtins, variables
from wcore.policy.shell_paths.expansion import SOMEBODY, VALUES_MAX, ExpansionContext
from wcore.policy.shell_paths.folders import few, is_option, normal
from wcore.policy.shell_paths.syntax import Scope
from wcore.policy.shell_paths.values import A_NAME, ANYTHING, EMPTY, Hole, Value, text

VISITS_MAX: Final = 2  # passes in which folders are noted; `cd ..` would find another in each

_NUMBERS: Final = frozenset("?#$!")
_Known = tuple[Value, ...]


class State(ExpansionContext):
    """Variables and folders while a text is followed."""

    def __init__(self, cwd: str, home: str, environ: Mapping[str, str] | None) -> None:
        self._start = text(cwd)
        self._home = home
        self._environ = environ
        self._assigned: dict[str, _Known] = {}
        self._weak = False
        self._lasts: _Known = ()
        self.arguments: _Known = ()
        self.pattern, self.has_options = Hole.PATTERN, False
        self._is_known = True  # nothing that was not seen has changed variables
        self._is_unsettled = False
        self.strange: set[str] = set()  # variables that change what they are assigned
        self.may_lack = False  # whether any variable may be unset
        self.is_lost = False
        self._functions: set[str] = set()
        self._visited: tuple[Value, ...] = ()  # folders that any part of the text enters
        self._passes = 0
        if not variables.OPTIONS.isdisjoint(environ or ()):
            self.change_options()
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

    def _initial_old(self) -> tuple[Value, ...]:
        known = (self._environ or {}).get("OLDPWD")
        return (ANYTHING,) if self._environ is None else (text(known or ""),)

    # passes

    def begin_pass(self, *, weak: bool) -> object:
        """Start over; what was assigned and changed before is so already."""
        self._weak = weak
        self._passes += 1
        self._begin()
        return self._settled()

    def has_changed(self, before: object) -> bool:
        return self._settled() != before

    def _settled(self) -> object:
        """Return what a pass has to leave as it was, so that none follows."""
        flags = (self.pattern, self.has_options, frozenset(self._functions), self._is_unsettled)
        held = {name: set(held) for name, held in self._assigned.items()}
        lists = (set(self._lasts), set(self.arguments), set(self._visited))
        return held, flags, lists, self._is_known

    def give_up(self) -> None:
        """Forget every variable that the text sets."""
        self.begin_pass(weak=True)
        self.forget_all()
        self._lasts = _collected(self._lasts, [ANYTHING])
        self.add_arguments([ANYTHING])

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
        self._failed = failed if scope is Scope.SUBSHELL else few((*failed, *self._failed))
        if scope is Scope.SUBSHELL:
            if not self._weak:
                self._assigned = assigned
            self._folders, self._old = folders, old
        else:
            self._branches -= 1
            self._folders = few((*self._folders, *folders))
            self._old = few((*self._old, *old))
        self._sure = sure

    @contextmanager
    def child(self, arguments: Sequence[Value], *, keeps_folder: bool) -> Generator[None]:
        """A shell that this one starts: it may see what is assigned here, or not."""
        kept, may_lack = (self.arguments, self.pattern, self.has_options), self.may_lack
        self.open(Scope.SUBSHELL)
        self._sure = frozenset()
        self.arguments = () if not self._weak else self.arguments
        self.add_arguments(arguments)
        if not keeps_folder:
            self.move_anywhere()
        yield
        self.close()
        self.may_lack = may_lack
        if not self._weak:  # else it counts from the beginning of the next pass
            self.arguments, self.pattern, self.has_options = kept

    def visit(self, folders: Iterable[Value]) -> None:
        """Note that the text may be in these folders as well, one from the other."""
        for folder in folders:
            entered = [normal(path) for path in self.absolute(folder)]
            self._folders = few((*self._folders, *entered))

    @contextmanager
    def visiting(self, folders: Iterable[Value]) -> Generator[None]:
        """A program that goes to other folders by itself."""
        kept = self._folders
        self.visit(folders)
        yield
        self._folders = kept

    def has_start_file(self) -> bool:
        """Whether a shell that is started runs a file first."""
        return not {"BASH_ENV", "ENV"}.isdisjoint(self._assigned)

    # variables

    def values(self, name: str) -> Sequence[Value]:
        found = list(self._held(name))
        if self._is_unsettled and not name.isdigit():
            found.append(ANYTHING)
        if self.may_lack and name.isidentifier():
            found.append(EMPTY)
        return list(dict.fromkeys(found)) if len(found) <= VALUES_MAX else [ANYTHING]

    def _held(self, name: str) -> Iterable[Value]:
        assigned = self._assigned.get(name, ())
        if name == "PWD":
            return [*self._where(), *assigned]
        if name == "OLDPWD":
            return [*self._old, *assigned]
        if name in _NUMBERS:
            return [A_NAME, EMPTY] if name == "!" else [A_NAME]
        if name == "0":
            return [ANYTHING]
        if name.isdigit() or name in ("@", "*"):
            several = self._together() if name == "*" and len(self.arguments) > 1 else []
            return [EMPTY, *self.arguments, *several]
        if name in self._sure and assigned and not variables.is_computed(name):
            return assigned
        return [*assigned, *self._given(name)]

    def _together(self) -> list[Value]:
        """Return what `"$*"` may be: the arguments with a separator between them."""
        known = [value.literal or "" for value in self.arguments]
        between = {" ", "", *(each[:1] for each in self.separators() or ())}
        return [ANYTHING, *(text(each.join(known)) for each in sorted(between))]

    def _given(self, name: str) -> list[Value]:
        if not name.isidentifier():
            return [ANYTHING]
        held = [] if self._environ is None else [self._environ.get(name)]
        known = [
            text(each, private=not variables.is_public(name)) for each in held if each is not None
        ]
        if name == "_":
            return [ANYTHING, EMPTY, *self._lasts]
        if name == "DIRSTACK":
            return [ANYTHING, EMPTY, *self._where()]
        own = variables.own_values(name, known)
        if own is not None:
            return own
        usual = [EMPTY]
        if self._environ is None:
            usual = [text(self._home)] if name == "HOME" else [ANYTHING]
        return [*(known or usual), *([] if self._is_known else [ANYTHING])]

    def lose(self) -> None:
        self.is_lost = True

    def separators(self) -> Sequence[str] | None:
        held = [value.literal for value in self._assigned.get("IFS", ())]
        if self._is_unsettled or None in held:
            return None
        return [each for each in held if each is not None]

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
        unsure = [ANYTHING] if name in self.strange else []
        known = tuple(dict.fromkeys([*values, *unsure]))
        straight = sure and not self._branches
        if self._weak or not straight:
            known = tuple(dict.fromkeys((*self._assigned.get(name, ()), *known)))
        if len(known) > VALUES_MAX:
            known = (ANYTHING,)
        self._assigned[name] = known
        in_branch = bool(self._scopes) and self._scopes[-1][0] is Scope.BRANCH
        if sure and (straight or (self._weak and not in_branch)):
            self._sure |= {name}
        if name in variables.OPTIONS:
            self.change_options()

    def append(self, name: str, values: Iterable[Value], *, sure: bool = False) -> None:
        """Note a `NAME+=word`."""
        both = [begin + end for begin in self.values(name) for end in values]
        self.assign(name, both, sure=sure)

    def tell(self, argv: Sequence[Value]) -> None:
        """Note the words of a command: `$_` is its last, and what a function is given."""
        self._lasts = _collected(self._lasts, argv[-1:])
        if argv[0].literal is None or argv[0].literal in self._functions:
            self.add_arguments(argv[1:])

    def add_arguments(self, values: Iterable[Value]) -> None:
        """Note that `$1` and the like may be any of these."""
        self.arguments = _collected(self.arguments, values)

    def change_options(self) -> None:
        """Note that patterns may take any name, or be read in other ways."""
        self.has_options, self.pattern = True, Hole.NAME

    def unsettle(self) -> None:
        """Note that any variable may be set at any time, and nobody sees it."""
        self.forget_all()
        self._is_unsettled = True

    def forget(self, name: str) -> None:
        """Note that nobody knows what a variable holds."""
        if name.isidentifier():
            self.assign(name, [ANYTHING])
        else:
            self.forget_all()

    def forget_all(self) -> None:
        """Note that any variable may hold anything else as well."""
        self._is_known = False
        for name, held in self._assigned.items():
            if name != "IFS":
                self._assigned[name] = _collected(held, [ANYTHING])

    def forget_code(self) -> None:
        """Note that code was run which nobody read: in this shell, so everything may be other."""
        self.unsettle()
        self.change_options()
        self.add_arguments([ANYTHING])
        self.move_anywhere(for_good=True)

    # builtins

    def builtin(self, name: str, argv: Sequence[str | None], before: str) -> None:
        """Note what a builtin changes; `before` is the operator in front of it."""
        if name in ("shopt", "alias", "enable"):
            self.change_options()
        elif name in (".", "source") and builtins.only_activates(argv):
            self.forget_all()
        elif name in (".", "source"):
            self.forget_code()
        elif name in ("exit", "return") and before == "||" and not self._functions:
            self._folders, self._failed = self._reached, ()  # who failed does not go on
        elif name == "set" and argv[1:2] != ["--"] and not builtins.keeps_meaning(argv):
            self.change_options()
            self.forget_all()

    # folders

    def _where(self) -> tuple[Value, ...]:
        return few((*self._folders, ANYTHING)) if self._anywhere else self._folders

    def operator(self, operator: str) -> None:
        """Come to the next command: after `&&` the last one did not fail."""
        if operator == "&&":
            return
        self._reached = self._folders
        self._folders = few((*self._folders, *self._failed))
        if operator != "||":
            self._failed = ()

    @property
    def has_functions(self) -> bool:
        return bool(self._functions)

    def is_function(self, name: str | None) -> bool:
        return name in self._functions

    def define(self, name: str, *, moves: bool) -> None:
        """Note a function; it may be called at any time and then change the folder."""
        self._functions.add(name)
        if moves:
            self.move_anywhere(for_good=True)

    def move_anywhere(self, *, for_good: bool = False) -> None:
        self._folders = few((*self._folders, *self._visited, ANYTHING))
        self._anywhere = self._anywhere or for_good

    def wander(self) -> None:
        """Come to what is run at any time: wherever the text may be."""
        self._folders = few((*self._folders, *self._visited))

    def change_folder(
        self,
        name: str,
        arguments: Sequence[Value],
        *,
        is_one: bool,
        is_prefixed: bool,
        may_vanish: bool,
        may_be_skipped: bool,
    ) -> None:
        """Follow `cd`, `pushd` and `popd`; whoever fails stays.

        `is_one`: the arguments are all that a single word may be.
        `may_be_skipped`: it stands behind `||`, and what follows `&&` runs without it as well.
        """
        operands = [value for value in arguments if not is_option(value)]
        several = len(operands) > 1 and not is_one
        has_path = "CDPATH" in self._assigned or (self._environ or {}).get("CDPATH")
        before = self._where()
        if name == "popd" or (name == "pushd" and (several or not operands)):
            after: tuple[Value, ...] = (*self._seen, ANYTHING) if operands else self._seen
        elif is_prefixed or several or has_path:
            after = (*(normal(path) for each in operands for path in self.absolute(each)), ANYTHING)
        elif not operands:
            after = tuple(self.folders(""))
        elif operands[0].literal == "-":
            after = self._old
        else:
            after = tuple(normal(path) for each in operands for path in self._entered(each))
        if may_vanish:  # then it is `cd` alone
            after = (*after, *self.folders(""))
        if may_be_skipped:
            after = (*after, *before)
        self._failed = few((*self._failed, *before))
        self._old = few((*before, *self._old))
        self._folders = few(after or (ANYTHING,))
        self._seen = few((*self._seen, *after))
        if self._passes <= VISITS_MAX:
            self._visited = few((*self._visited, *after))

    def _entered(self, operand: Value) -> list[Value]:
        """Return where `cd` may lead; an empty operand stays in some shells, or is the home."""
        if not operand.pieces:
            return [*self._where(), *self.folders("")]
        return self.absolute(operand)

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


def _collected(before: _Known, values: Iterable[Value]) -> _Known:
    found = tuple(dict.fromkeys((*before, *values)))
    return found if len(found) <= VALUES_MAX else (ANYTHING,)
