"""Whether a path that is only partly known may be one of those that are protected.

Only its literal characters count: what is a hole altogether resembles nothing, nor does a single
character that is not the dot with which a hidden name begins.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from wcore.policy.protected import OWN_FILES, OWN_FOLDER, Places, guarded
from wcore.policy.shell.paths.values import ANY, HOLES
from wcore.vocabulary import Access

TOKENS_MAX: Final = 512  # of one component; a longer one is no name that is protected

POLICY: Final = "policy.toml"
_ENOUGH: Final = 2  # literal characters in common; a dot counts as two
CLIMBS: Final = re.compile(rf"\A.*{ANY}.*/\.\.(?=/|\Z)", re.DOTALL)  # to anywhere
_State = tuple[int, int]  # where in the path, and how many literal characters were met


def resembles(value: str, access: Access, places: Places) -> str | None:
    """Return why a path with holes may be protected, or `None`."""
    folded = CLIMBS.sub(ANY, value.casefold())
    ours = [folder.casefold() for folder in places.own]
    if any(_is_below(folded, each) or _fits(folded, f"{each}/{POLICY}") for each in ours):
        return OWN_FILES
    folders, names = guarded(access)
    components = [each for each in folded.split("/") if 0 < len(each) <= TOKENS_MAX]
    for at, component in enumerate(components):
        if not HOLES.sub("", component):
            continue
        if _fits(component, OWN_FOLDER):
            return OWN_FILES
        is_name = at == len(components) - 1 or ANY in component
        why = _folder_like(components[at:], folders)
        why = why or (_name_like(component, names) if is_name else None)
        if why is not None:
            return why
    return None


def _folder_like(components: Sequence[str], folders: Mapping[str, str]) -> str | None:
    for name, why in folders.items():
        parts = name.strip("/").split("/")
        if len(parts) > len(components) or name.startswith("/"):
            continue
        pairs = zip(components, parts, strict=False)
        if all(_fits(component, part) for component, part in pairs):
            return why
    return None


def _name_like(component: str, names: Mapping[str, str]) -> str | None:
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


def _is_below(value: str, folder: str) -> bool:
    """Whether a path may lead into `folder`: a literal must stand in its last component."""
    above, _, last = folder.rpartition("/")
    reached = {(at, 0) for at, _ in _walk(value, above + "/")}
    return any(met >= _ENOUGH for _, met in _walk(value, last, reached))


def _fits(component: str, name: str) -> bool:
    """Whether the component may be `name`, enough of it literally."""
    return any(at == len(component) and met >= _ENOUGH for at, met in _walk(component, name))


def _begins_like(component: str, name: str) -> bool:
    """Whether a text that begins with `name` fits, enough of it literally."""
    return any(met >= _ENOUGH for _, met in _walk(component, name))


def _walk(value: str, name: str, begin: Iterable[_State] = ((0, 0),)) -> set[_State]:
    """Return where one may be in `value` after `name`, and how much was literally the same."""
    states = _skipped(begin, value)
    for character in name:
        following: set[_State] = set()
        for at, met in states:
            token = value[at : at + 1]
            if HOLES.match(token):
                following.add((at, met))
            elif token == character:
                begins = character == "." and value[max(at - 1, 0) : at] in ("", "/")
                following.add((at + 1, min(_ENOUGH, met + 1 + begins)))
        states = _skipped(following, value)
        if not states:
            break
    return states


def _skipped(states: Iterable[_State], value: str) -> set[_State]:
    found = set(states)
    for at, met in states:
        here = at
        while HOLES.match(value[here : here + 1]):
            here += 1
            found.add((here, met))
    return found
