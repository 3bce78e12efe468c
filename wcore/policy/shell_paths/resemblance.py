"""Whether a path that is only partly known may be one of those that are protected.

Only its literal characters count: what is a hole altogether resembles nothing, nor does a single
character that is not the dot of a hidden name.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from wcore.policy.protected import OWN_FOLDER, Places, guarded
from wcore.policy.shell_paths.values import Hole, Piece, Value
from wcore.vocabulary import Access

TOKENS_MAX: Final = 512  # of one component; a longer one is no name that is protected

_OWN: Final = "wcore's own files"
_ENOUGH: Final = 2  # literal characters in common; a dot counts as two
_Tokens = Sequence[Piece]  # single characters and holes
_State = tuple[int, int]  # where in the tokens, and how many literal characters were met


def resembles(value: Value, access: Access, places: Places) -> str | None:
    """Return why a path with holes may be protected, or `None`."""
    for folder in places.own:
        if _is_below(_tokens(value.pieces), folder.casefold()):
            return _OWN
    folders, names = guarded(access)
    components = _components(value)
    for at, component in enumerate(components):
        if not any(isinstance(token, str) for token in component):
            continue
        if _fits(component, OWN_FOLDER):
            return _OWN
        why = _folder_like(components[at:], folders)
        last = at == len(components) - 1
        why = why or (_name_like(component, names) if last or Hole.ANY in component else None)
        if why is not None:
            return why
    return None


def _tokens(pieces: Iterable[Piece]) -> list[Piece]:
    found: list[Piece] = []
    for piece in pieces:
        found += [piece] if isinstance(piece, Hole) else piece.casefold()
    return found


def _components(value: Value) -> list[list[Piece]]:
    found: list[list[Piece]] = [[]]
    for token in _tokens(value.pieces):
        if token == "/":
            found.append([])
        else:
            found[-1].append(token)
    return [component for component in found if component and len(component) <= TOKENS_MAX]


def _folder_like(components: Sequence[_Tokens], folders: Mapping[str, str]) -> str | None:
    for name, why in folders.items():
        parts = name.strip("/").split("/")
        if len(parts) > len(components) or name.startswith("/"):
            continue
        pairs = zip(components, parts, strict=False)
        if all(_fits(component, part) for component, part in pairs):
            return why
    return None


def _name_like(component: _Tokens, names: Mapping[str, str]) -> str | None:
    for name, why in names.items():
        if "/" in name:
            continue
        if name.endswith("*"):
            like = _begins_like(component, name[:-1])
        elif name.startswith("*"):
            like = _begins_like(component[::-1], name[:0:-1])
        else:
            like = _fits(component, name)
        if like:
            return why
    return None


def _is_below(tokens: _Tokens, folder: str) -> bool:
    """Whether the tokens may lead into `folder`: a literal must stand in its last component."""
    above, _, last = folder.rpartition("/")
    reached = {(at, 0) for at, _ in _walk(tokens, above + "/")}
    return any(met >= _ENOUGH for _, met in _walk(tokens, last, reached))


def _fits(tokens: _Tokens, name: str) -> bool:
    """Whether the tokens may spell `name`, enough of it literally."""
    return any(at == len(tokens) and met >= _ENOUGH for at, met in _walk(tokens, name))


def _begins_like(tokens: _Tokens, name: str) -> bool:
    """Whether a text that begins with `name` fits, enough of it literally."""
    return any(met >= _ENOUGH for _, met in _walk(tokens, name))


def _walk(tokens: _Tokens, name: str, begin: Iterable[_State] = ((0, 0),)) -> set[_State]:
    """Return where one may be in `tokens` after `name`, and how much was literally the same."""
    states = _skipped(set(begin), tokens)
    for character in name:
        following: set[_State] = set()
        for at, met in states:
            if at < len(tokens):
                token = tokens[at]
                if isinstance(token, Hole):
                    following.add((at, met))
                elif token == character:
                    following.add((at + 1, min(_ENOUGH, met + 1 + (character == "."))))
        states = _skipped(following, tokens)
        if not states:
            break
    return states


def _skipped(states: set[_State], tokens: _Tokens) -> set[_State]:
    found = set(states)
    for at, met in states:
        here = at
        while here < len(tokens) and isinstance(tokens[here], Hole):
            here += 1
            found.add((here, met))
    return found
