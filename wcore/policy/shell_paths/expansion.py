"""From words to values: braces, tildes, parameters, splitting and patterns, in bash's order."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from wcore.policy.shell_paths import braces
from wcore.policy.shell_paths.syntax import Atom, Computed, Parameter, Text, Word
from wcore.policy.shell_paths.trimming import trimmed
from wcore.policy.shell_paths.values import (
    A_NAME,
    ANYTHING,
    EMPTY,
    Hole,
    Piece,
    Value,
    joined,
    text,
)

VALUES_MAX: Final = 64  # of one word; more is not followed: it may then be anything
CHARS_MAX: Final = 4096  # of a value: the longest path

_PATTERN: Final = re.compile(r"[*?]|\[[^\]/]+\]")
_BLANKS: Final = re.compile(r"[ \t\n]+")
_TILDE: Final = re.compile(r"~([^/:]*)")

#: Makes `~NAME` a path outside that nobody knows: a folder of somebody else.
SOMEBODY: Final = Value(("/~", Hole.ANY))
PIPE: Final = text("/dev/fd/63")


class Scene:
    """What expansions ask for. `is_split`: whether words are split at blanks, as usual."""

    is_split = True
    pattern = Hole.PATTERN  # what a file name pattern stands for
    has_functions = False  # so that a name may be any command

    def values(self, name: str) -> Sequence[Value]:
        """Return what a variable may hold; unset is empty."""
        raise NotImplementedError

    def folders(self, name: str) -> Sequence[Value]:
        """Return what `~`, `~+` or `~-` stands for, by its name without the tilde."""
        raise NotImplementedError

    def assign(self, name: str, values: Iterable[Value]) -> None:
        """Note a `${NAME:=word}`."""
        raise NotImplementedError


def fields(word: Word, scene: Scene) -> list[Value]:
    """Return the words that bash makes of one, in no particular order."""
    found: dict[Value, None] = {}
    try:
        for atoms in braces.expanded(word.atoms):
            found.update(dict.fromkeys(_fields(atoms, scene)))
            if len(found) > braces.WORDS_MAX:
                return [ANYTHING]
    except braces.TooManyError:
        return [ANYTHING]
    return list(found)


def assigned(atoms: Sequence[Atom], scene: Scene) -> list[Value]:
    """Return what a variable may hold after `NAME=` and these atoms: nothing is split."""
    open_: list[Value] = [EMPTY]
    for index, atom in enumerate(atoms):
        if isinstance(atom, Text):
            alternatives = [text(atom.text)]
            if not atom.quoted and "~" in atom.text:
                alternatives = _tildes(atom.text, scene, first=index == 0)
        else:
            alternatives = _values(atom, scene)
        open_ = _product(open_, alternatives)
    return open_


def may_vanish(word: Word, scene: Scene) -> bool:
    """Whether a word that is written may be none at all."""
    if word.literal is not None or any(getattr(atom, "quoted", False) for atom in word.atoms):
        return False
    return any(not value.pieces or value.is_anything for value in assigned(word.atoms, scene))


def _fields(atoms: Sequence[Atom], scene: Scene) -> list[Value]:
    done: list[Value] = []
    open_: list[Value] = [EMPTY]
    for index, atom in enumerate(atoms):
        alternatives = _alternatives(atom, scene, first=index == 0)
        if index == 0 and len(atoms) > 1 and isinstance(atom, Text) and "/" not in atom.text:
            alternatives.append([_pattern(atom.text, scene)])  # `~$X` is nobody's home
        done += [
            value + fields[0]
            for fields in alternatives
            if len(fields) > 1
            for value in open_
        ]  # fmt: skip
        done += [middle for fields in alternatives for middle in fields[1:-1]]
        whole = [fields[0] for fields in alternatives if len(fields) == 1]
        last = [fields[-1] for fields in alternatives if len(fields) > 1]
        open_ = [*_product(open_, whole), *last] if whole else last
        if len(open_) > VALUES_MAX or len(done) > VALUES_MAX:
            return [ANYTHING]
    is_quoted = any(getattr(atom, "quoted", False) for atom in atoms)
    return [value for value in (*done, *open_) if value.pieces or is_quoted]


def _product(left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
    if len(left) * len(right) > VALUES_MAX:
        return [ANYTHING]
    return list(dict.fromkeys(_bounded(one + other) for one in left for other in right))


def _bounded(value: Value) -> Value:
    length = sum(len(piece) for piece in value.pieces if isinstance(piece, str))
    return ANYTHING if length > CHARS_MAX else value


def _alternatives(atom: Atom, scene: Scene, *, first: bool) -> list[list[Value]]:
    """Return what an atom may become: each choice is the fields that it makes."""
    if isinstance(atom, Text):
        if atom.quoted:
            return [[text(atom.text)]]
        if first and atom.text.startswith("~"):
            rest = _TILDE.sub("", atom.text, 1)
            name = atom.text[1 : len(atom.text) - len(rest)]
            return [[folder + _pattern(rest, scene)] for folder in scene.folders(name)]
        return [[_pattern(atom.text, scene)]]
    values = _values(atom, scene)
    if getattr(atom, "quoted", True):
        return [[value] for value in values]
    found: list[list[Value]] = []
    for value in values:
        if value.is_anything or not scene.is_split:
            found += [[ANYTHING], [ANYTHING, ANYTHING]]
        found.append(_split(value, scene))
    return found


def _split(value: Value, scene: Scene) -> list[Value]:
    """Return the fields of an unquoted value; what looks like a pattern is one."""
    found: list[list[Piece]] = [[]]
    for piece in value.pieces:
        if isinstance(piece, Hole):
            found[-1].append(piece)
            continue
        first, *others = _BLANKS.split(piece)
        found[-1] += _pattern(first, scene).pieces
        found += [list(_pattern(other, scene).pieces) for other in others]
    return [joined(pieces, private=value.private) for pieces in found]


def _pattern(literal: str, scene: Scene) -> Value:
    if not _PATTERN.search(literal):
        return text(literal)
    pieces: list[Piece] = []
    at = 0
    for match in _PATTERN.finditer(literal):
        pieces += [literal[at : match.start()], scene.pattern]
        at = match.end()
    return joined((*pieces, literal[at:]))


def _tildes(literal: str, scene: Scene, *, first: bool) -> list[Value]:
    """Expand `~` at the beginning and behind each `:` of an assigned text."""
    open_: list[Value] = [EMPTY]
    for index, part in enumerate(literal.split(":")):
        before = text(":") if index else EMPTY
        tilde = _TILDE.match(part) if index or first else None
        begin = scene.folders(tilde[1]) if tilde else [EMPTY]
        rest = text(part[tilde.end() :] if tilde else part)
        open_ = _product(open_, [before + folder + rest for folder in begin])
    return open_


def _values(atom: Atom, scene: Scene) -> list[Value]:
    match atom:
        case Text(text=literal):
            return [text(literal)]
        case Computed(is_number=True):
            return [A_NAME]
        case Computed(is_cwd=True):
            return list(scene.folders("+"))
        case Computed():
            return [ANYTHING]
        case Parameter():
            return _parameter(atom, scene)
        case _:
            return [PIPE]


def _parameter(atom: Parameter, scene: Scene) -> list[Value]:
    held = list(scene.values(atom.name))
    operator = atom.operator
    if not operator:
        return held
    if operator in ("!", "[", "@"):
        return [ANYTHING]
    argument = assigned(atom.argument, scene)
    match operator.removeprefix(":"):
        case "-" | "=":
            if operator.endswith("="):
                scene.assign(atom.name, argument)
            kept = [value for value in held if value.pieces]
            return _few([*kept, *(argument if len(kept) < len(held) else ())])
        case "+":
            return _few([EMPTY, *argument])
        case "?":
            return held
        case _:
            one = argument[0] if len(argument) == 1 else ANYTHING
            return _few([trimmed(value, operator, one) for value in held])


def _few(values: list[Value]) -> list[Value]:
    return values if len(values) <= VALUES_MAX else [ANYTHING]
