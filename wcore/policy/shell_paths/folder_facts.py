"""The facts of folders that are changed with all that they hold, and of what is put somewhere."""

import posixpath
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from wcore.policy import protected
from wcore.policy.protected import Places, is_within
from wcore.policy.shell_paths.lookups import Candidate, Disk, LookupResult, candidate_of
from wcore.policy.shell_paths.mention import Mention, Source
from wcore.policy.shell_paths.resemblance import resembles
from wcore.policy.shell_paths.values import text
from wcore.vocabulary import Access, PathFact

NAMES_MAX: Final = 64  # told of one folder, for rules that deny; the journal keeps them all

_OWN: Final = "wcore's own files"
_TOO_LARGE: Final = "what is protected: it is too large to look through"
_UP: Final = frozenset(["", ".", ".."])


def candidates(mention: Mention) -> Iterable[Candidate]:
    """Yield what else to look up for a mention that is a tree or has something put into it."""
    place = candidate_of(mention.value)
    if place is not None and mention.tree:
        yield replace(place, tree=True)
    put = mention.put
    given = candidate_of(put.value) if put else None
    if put is None or given is None:
        return
    yield replace(given, tree=put.deep, copied=put.deep)
    if place is not None and not place.holes and not given.holes and put.into:
        yield Candidate(posixpath.join(place.path, _name(given.path)))


def size(mention: Mention, disk: Disk) -> int:
    """Return how many names there are facts of: those that a folder holds."""
    put = mention.put
    given = candidate_of(put.value if put else mention.value)
    if given is None:
        return 0
    is_deep = put.deep if put else True
    found = disk.get(replace(given, tree=is_deep, copied=put is not None and is_deep))
    return sum(map(len, found.below)) if found is not None else 0


def facts(mention: Mention, places: Places, disk: Disk) -> Iterable[PathFact]:
    """Yield the facts beyond those of the words themselves."""
    if mention.put is not None:
        yield from _of_put(mention, mention.put, places, disk)
        return
    candidate = candidate_of(mention.value)
    if candidate is None:
        return
    found = disk.get(replace(candidate, tree=True))
    if found is None:
        found = LookupResult(() if candidate.holes else (_normal(candidate.path),))
    elif not found.complete:
        yield too_large(mention)
    for real in found.real:
        if any(_contains(real, own) for own in places.own):
            yield PathFact(real, Access.WRITE, inside=True, protected=_OWN, own=True)
    for real, below in zip(found.real, found.below, strict=False):
        yield from _held(real, below, places)


def _of_put(mention: Mention, put: Source, places: Places, disk: Disk) -> Iterable[PathFact]:
    given, place = candidate_of(put.value), candidate_of(mention.value)
    if given is None:
        value = mention.value + text("/") + put.value
        reason = resembles(value, Access.WRITE, places)
        if reason is not None:
            yield _doubtful(mention, reason)
        return
    found = disk.get(replace(given, tree=put.deep, copied=put.deep))
    if found is not None and put.deep and not found.complete:
        yield too_large(mention)
    if found is None:
        found = LookupResult((), names=() if given.holes else (_name(given.path),))
    names = found.names or (() if given.holes else (_name(given.path),))
    is_known = place is not None and not place.holes
    at = disk.get(place) if place is not None and is_known else None
    folder = at.real[0] if at else _normal(place.path) if place and is_known else "/?"
    made: list[PathFact] = []
    for number, name in enumerate(names):
        below = found.below[number] if number < len(found.below) else ()
        if put.into and name not in _UP:
            target = posixpath.join(folder, name)
            made += _one(target, disk.get(Candidate(target)), at, places)
            made += _held(target, below, places)
        if put.onto or name in _UP:
            made += _held(folder, below, places)
    if is_known:
        yield from made
    else:  # somewhere: only what it is called counts
        yield from (_doubtful(mention, each.protected) for each in made if each.protected)


def _one(
    path: str, found: LookupResult | None, folder: LookupResult | None, places: Places
) -> Iterable[PathFact]:
    """Yield the fact of a name in a folder, if there may be such a folder."""
    real = found.real[0] if found else path
    fact = _fact(real, places)
    if found is not None and found.exists and not is_within(real, places.workspace):
        fact = replace(fact, inside=False)
    if fact.protected or not fact.inside or folder is None or found is None or found.has_parent:
        yield fact


def _held(folder: str, below: Sequence[str], places: Places) -> Iterable[PathFact]:
    """Yield one fact for each reason to protect what a folder holds, and some names besides."""
    told: set[str] = set()
    for number, name in enumerate(below):
        fact = _fact(posixpath.join(folder, name), places)
        reason = fact.protected or ""
        if (reason and reason not in told) or (not reason and number < NAMES_MAX):
            told.add(reason)
            yield fact


def _fact(path: str, places: Places) -> PathFact:
    reason = protected.protection(path, Access.WRITE, places)
    own = protected.is_own(path, places)
    return PathFact(path, Access.WRITE, inside=True, protected=reason, own=own)


def _contains(folder: str, path: str) -> bool:
    return is_within(path.casefold(), folder.casefold())


def _normal(path: str) -> str:
    return "/" + posixpath.normpath(path).lstrip("/")


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def too_large(mention: Mention) -> PathFact:
    """Return the fact of a folder that is not looked through to its end."""
    return _doubtful(mention, _TOO_LARGE)


def _doubtful(mention: Mention, reason: str | None) -> PathFact:
    return PathFact(mention.source, Access.WRITE, inside=True, protected=reason, unknown=True)
