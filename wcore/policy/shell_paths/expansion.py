"""From words to values: braces, tildes, parameters, splitting and patterns, in bash's order."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from wcore.policy.shell_paths import braces, globs
from wcore.policy.shell_paths.parameter_expansion import trimmed
from wcore.policy.shell_paths.syntax import Atom, Parameter, RuntimeValue, Text, Word
from wcore.policy.shell_paths.values import (
    A_NAME,
    ANYTHING,
    EMPTY,
    PERHAPS_EMPTY,
    Hole,
    Value,
    joined,
    split,
    text,
)

VALUES_MAX: Final = 64  # of one word; more is not followed: it may then be anything
CHARS_MAX: Final = 4096  # of a value: the longest path

_BLANKS: Final = " \t\n"
_BEGINS_PATH: Final = re.compile(r"(?=[/~.])")
_QUOTABLE: Final = frozenset("*?[\\@+!")
_TILDE: Final = re.compile(r"~([^/:]*)")

#: Makes `~NAME` a path outside that nobody knows: a folder of somebody else.
SOMEBODY: Final = Value(("/~", Hole.ANY))
PIPE: Final = text("/dev/fd/63")


class ExpansionContext:
    """What expansions ask for."""

    pattern = Hole.PATTERN  # what a file name pattern stands for
    has_options = False  # whether options of the shell may be other than usual

    def lose(self) -> None:
        """Note that a word stands for more than is followed."""
        raise NotImplementedError

    def separators(self) -> Sequence[str] | None:
        """Return at which characters words may be split beside blanks; `None`: at any."""
        raise NotImplementedError

    @property
    def has_functions(self) -> bool:
        """Whether a name may be any command."""
        return False

    def values(self, name: str) -> Sequence[Value]:
        """Return what a variable may hold; unset is empty."""
        raise NotImplementedError

    def folders(self, name: str) -> Sequence[Value]:
        """Return what `~`, `~+` or `~-` stands for, by its name without the tilde."""
        raise NotImplementedError

    def assign(self, name: str, values: Iterable[Value]) -> None:
        """Note a `${NAME:=word}`."""
        raise NotImplementedError


def fields(word: Word, context: ExpansionContext) -> list[Value]:
    """Return the words that bash makes of one, in no particular order."""
    found: dict[Value, None] = {}
    try:
        for atoms in braces.expanded(word.atoms):
            for value in _fields(atoms, context):
                found[globs.resolved(value, context.pattern)] = None
    except braces.TooManyError:
        context.lose()
        return [ANYTHING]
    return list(found)


def assigned(atoms: Sequence[Atom], context: ExpansionContext) -> list[Value]:
    """Return what a variable may hold after `NAME=` and these atoms: nothing is split."""
    open_: list[Value] = [EMPTY]
    for index, atom in enumerate(atoms):
        if isinstance(atom, Text):
            alternatives = [text(atom.text)]
            if not atom.quoted and "~" in atom.text:
                alternatives = _tildes(atom.text, context, first=index == 0)
        else:
            alternatives = _values(atom, context)
        open_ = _product(open_, alternatives)
    is_overfull = open_ == [ANYTHING] and len(atoms) > 1
    return _vaguely(atoms, context, splits=False) if is_overfull else open_


def may_vanish(word: Word, context: ExpansionContext) -> bool:
    """Whether a word that is written may be none at all."""
    if word.literal is not None or any(getattr(atom, "quoted", False) for atom in word.atoms):
        return False
    return any(not value.pieces or value.is_anything for value in assigned(word.atoms, context))


def _fields(atoms: Sequence[Atom], context: ExpansionContext) -> list[Value]:
    done: dict[Value, None] = {}
    open_: list[Value] = [EMPTY]
    for index, atom in enumerate(atoms):
        alternatives = _alternatives(atom, context, first=index == 0)
        if index == 0 and len(atoms) > 1 and isinstance(atom, Text) and _is_bare_tilde(atom):
            alternatives.append([_pattern(atom.text, context)])  # `~$X` is nobody's home
        several = [fields for fields in alternatives if len(fields) > 1]
        done.update(dict.fromkeys(value + fields[0] for fields in several for value in open_))
        done.update(dict.fromkeys(middle for fields in several for middle in fields[1:-1]))
        whole = [value + fields[0] for fields in alternatives for value in open_
                 if len(fields) == 1]  # fmt: skip
        last = [fields[-1] for fields in several]
        open_ = list(dict.fromkeys(_bounded(value) for value in (*whole, *last)))
        if len(open_) > VALUES_MAX or len(done) > VALUES_MAX:
            return _vaguely(atoms, context)
    is_quoted = any(getattr(atom, "quoted", False) for atom in atoms)
    return [value for value in (*done, *open_) if value.pieces or is_quoted]


def _is_bare_tilde(atom: Text) -> bool:
    """Whether a tilde may be none, as more of its name follows."""
    return not atom.quoted and atom.text.startswith("~") and "/" not in atom.text


def _vaguely(
    atoms: Sequence[Atom], context: ExpansionContext, *, splits: bool = True
) -> list[Value]:
    """Return what a word may be that has too many values: its literal characters, and holes.

    What is expanded may be empty, and a word may begin behind it.
    """
    if len(atoms) > VALUES_MAX:
        context.lose()
        return [ANYTHING]
    found: dict[Value, None] = {}
    rest = EMPTY
    for atom in reversed(atoms):
        if isinstance(atom, Text):
            is_literal = atom.quoted or not splits
            rest = (text(atom.text) if is_literal else _pattern(atom.text, context)) + rest
        else:
            found[PERHAPS_EMPTY + rest] = None  # also what is split off
            rest = ANYTHING + rest
    found[rest] = None
    return [_bounded(value) for value in found if value.pieces]


def _product(left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
    return _few(_bounded(one + other) for one in left for other in right)


def _bounded(value: Value) -> Value:
    length = sum(len(piece) for piece in value.pieces if isinstance(piece, str))
    return ANYTHING if length > CHARS_MAX else value


def _alternatives(atom: Atom, context: ExpansionContext, *, first: bool) -> list[list[Value]]:
    """Return what an atom may become: each choice is the fields that it makes."""
    if isinstance(atom, Text):
        if atom.quoted:
            return [[text(atom.text)]]
        if first and atom.text.startswith("~"):
            rest = _TILDE.sub("", atom.text, 1)
            name = atom.text[1 : len(atom.text) - len(rest)]
            return [[folder + _pattern(rest, context)] for folder in context.folders(name)]
        return [[_pattern(atom.text, context)]]
    values = _values(atom, context)
    if getattr(atom, "quoted", True):
        return [[value] for value in values]
    found: list[list[Value]] = []
    for value in values:
        if isinstance(atom, Parameter) and atom.argument:  # its quotes may keep it together
            found.append([value])
        found += _split(value, context)
    return found


def _split(value: Value, context: ExpansionContext) -> list[list[Value]]:
    """Return the fields that an unquoted value may be; what looks like a pattern is one."""
    separators = context.separators()
    found = [
        _parts(value, characters, context) for characters in ("", _BLANKS, *(separators or ()))
    ]
    if value.is_anything:
        holes = [at for at, piece in enumerate(value.pieces) if piece is Hole.ANY]
        head, tail = value.pieces[: holes[0] + 1], value.pieces[holes[-1] :]
        found.append([Value(head, value.private), Value(tail, value.private)])
    if separators is None:
        found += [[ANYTHING], [ANYTHING, ANYTHING]]
        parts = _BEGINS_PATH.split(value.beginning)[-VALUES_MAX:]
        ends = ["".join(parts[at:]) for at in range(len(parts))]
        found += [[ANYTHING, text(end, private=value.private)] for end in ends]
    return found


def _parts(value: Value, separators: str, context: ExpansionContext) -> list[Value]:
    found: list[Value] = []
    parts = split(value, separators)
    for at, part in enumerate(parts):
        if part.pieces or at in (0, len(parts) - 1):
            pieces = [
                each
                for piece in part.pieces
                for each in (
                    globs.active(piece, context.pattern) if isinstance(piece, str) else [piece]
                )
            ]
            found.append(joined(pieces, private=value.private, guessed=value.guessed))
    return found


def _pattern(literal: str, context: ExpansionContext) -> Value:
    return joined(globs.active(literal, context.pattern))


def _tildes(literal: str, context: ExpansionContext, *, first: bool) -> list[Value]:
    """Expand `~` at the beginning and behind each `:` of an assigned text."""
    open_: list[Value] = [EMPTY]
    for index, part in enumerate(literal.split(":")):
        before = text(":") if index else EMPTY
        tilde = _TILDE.match(part) if index or first else None
        begin = context.folders(tilde[1]) if tilde else [EMPTY]
        rest = text(part[tilde.end() :] if tilde else part)
        open_ = _product(open_, [before + folder + rest for folder in begin])
    return open_


def _values(atom: Atom, context: ExpansionContext) -> list[Value]:
    match atom:
        case Text(text=literal):
            return [text(literal)]
        case RuntimeValue(is_name=True):
            return [A_NAME]
        case RuntimeValue(is_cwd=True):
            return list(context.folders("+"))
        case RuntimeValue():
            return [ANYTHING, PERHAPS_EMPTY]
        case Parameter():
            values = _parameter(atom, context)
            return [*values, PERHAPS_EMPTY] if ANYTHING in values else values
        case _:
            return [PIPE]


def _parameter(atom: Parameter, context: ExpansionContext) -> list[Value]:
    held = list(context.values(atom.name))
    operator = atom.operator
    if not operator:
        return held
    if operator == "[":  # of an array all elements are known together
        return _few([*held, ANYTHING])
    if operator in ("!", "@"):
        return [ANYTHING]
    if atom.name in ("@", "*") and operator[:1] == ":" and operator[1:] == "":
        return _few([*held, ANYTHING])  # some of the arguments, not of their characters
    argument = assigned(atom.argument, context)
    match operator.removeprefix(":"):
        case "-" | "=":
            if operator.endswith("="):
                context.assign(atom.name, argument)
            kept = [value for value in held if value.pieces]
            return _few([*kept, *(argument if len(kept) < len(held) else ())])
        case "+":
            return _few([EMPTY, *argument])
        case "?":
            return held
        case _:
            is_plain = len(argument) == 1 and not _quotes_pattern(atom)
            one = argument[0] if is_plain else ANYTHING
            unsure = [ANYTHING] if context.has_options else []
            return _few([*(trimmed(value, operator, one) for value in held), *unsure])


def _quotes_pattern(atom: Parameter) -> bool:
    """Whether a character of the pattern in `${NAME%…}` is quoted: then it stands for itself."""
    texts = [part for part in atom.argument if isinstance(part, Text)]
    inner = [part for part in texts if part.quoted] if not atom.quoted else texts
    quotes = not atom.quoted or any(not part.text for part in texts)
    return quotes and any(_QUOTABLE & set(part.text) for part in inner)


def _few(values: Iterable[Value]) -> list[Value]:
    found = list(dict.fromkeys(values))
    return found if len(found) <= VALUES_MAX else [ANYTHING]
