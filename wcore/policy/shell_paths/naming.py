"""From a shell text to the facts of the paths that it names. Pure: the disk comes as values.

First `candidates` tells what should be looked up; whoever may touch the disk does that; then
`paths_named` makes facts of both. What was not looked up is taken to exist.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from wcore.policy import protected
from wcore.policy.protected import Places, is_within
from wcore.policy.shell_paths import folder_facts
from wcore.policy.shell_paths.disk import Candidate, Disk, Found, candidate_of
from wcore.policy.shell_paths.evaluation import evaluate
from wcore.policy.shell_paths.mention import Mention, Reading
from wcore.policy.shell_paths.programs import Role
from wcore.policy.shell_paths.resemblance import resembles
from wcore.vocabulary import Access, PathFact

LOOKUPS_MAX: Final = 512  # paths of one text that are looked up; each takes some 20 microseconds
READ_CHARS_MAX: Final = 64 * 1024  # of a text; a longer one is more than a card shows

__all__ = ["Candidate", "Disk", "Found", "candidates", "paths_named"]

_DEVICES: Final = frozenset(
    f"/dev/{name}" for name in ("null", "zero", "stdin", "stdout", "stderr", "urandom")
)
_SYSTEM: Final = tuple("/usr /opt /nix /bin /sbin /lib /lib32 /lib64 /etc".split())
_ROUGH: Final = re.compile(r"[\s;|&<>()=`$\"'\\{},:]+")
_WITHOUT_QUOTES: Final = str.maketrans("", "", "'\"\\")


_NOTHING: Final[Disk] = {}


def candidates(command: str, places: Places, environ: Mapping[str, str]) -> list[Candidate]:
    """Return what of a text's paths should be looked up, at most `LOOKUPS_MAX`."""
    found: dict[Candidate, None] = {}
    for mention in _read(command, places, environ).mentions:
        candidate = candidate_of(mention.value)
        if candidate is not None and len(found) < LOOKUPS_MAX:
            found[candidate] = None
            if candidate.holes:
                found[Candidate(_folder(candidate))] = None
        found.update(dict.fromkeys(folder_facts.candidates(mention)))
    return list(found)[:LOOKUPS_MAX]


def paths_named(
    command: str,
    places: Places,
    environ: Mapping[str, str] | None = None,
    disk: Disk = _NOTHING,
) -> list[PathFact]:
    """Return the facts of all that `command` names, each once."""
    reading = _read(command, places, environ)
    found: dict[PathFact, None] = {}
    for mention in reading.mentions:
        found.update(dict.fromkeys(_facts(mention, places, disk)))
    if reading.lost:
        found.update(dict.fromkeys(_roughly(command, places)))
        found[PathFact("", Access.WRITE, inside=False, unknown=True)] = None
    return list(found)


def _read(command: str, places: Places, environ: Mapping[str, str] | None) -> Reading:
    if len(command) > READ_CHARS_MAX:
        return Reading((), lost=True)
    around = None if environ is None else tuple(sorted(environ.items()))
    return _evaluated(command, places.workspace, places.home, around)


@lru_cache(8)  # the same text is read before the disk is asked and after it
def _evaluated(
    command: str, cwd: str, home: str, environ: tuple[tuple[str, str], ...] | None
) -> Reading:
    return evaluate(command, cwd, home, None if environ is None else dict(environ))


def _folder(candidate: Candidate) -> str:
    return candidate.path[: candidate.holes[0]].rpartition("/")[0] or "/"


def _facts(mention: Mention, places: Places, disk: Disk) -> Iterable[PathFact]:
    if mention.tree or mention.put:
        yield from folder_facts.facts(mention, places, disk)
        return
    candidate = candidate_of(mention.value)
    if candidate is None:
        yield from _unknown(mention, places)
        return
    found = disk.get(candidate)
    if candidate.holes:
        yield from _of_pattern(mention, candidate, disk, places)
        return
    if mention.opened and candidate.path in _DEVICES:
        return
    plain = posixpath.normpath(candidate.path)
    yield from _of_path(mention, plain, found or Found((plain,)), places)


def _of_path(mention: Mention, plain: str, found: Found, places: Places) -> Iterable[PathFact]:
    """Yield the fact of a path that is known."""
    plain = "/" + plain.lstrip("/")
    real = found.real[0]
    reason = _protection(real, mention.role, places) or _protection(plain, mention.role, places)
    own = protected.is_own(real, places) or protected.is_own(plain, places)
    inside = is_within(real, places.workspace)
    access = Access.WRITE if mention.role is Role.WRITE else Access.READ
    counts = mention.opened or _is_path(mention, plain, real, found)
    if not mention.opened and reason is None:
        if mention.role is Role.TOLD:
            return
        if mention.value.private and mention.role is not Role.WRITE and not found.exists:
            return  # a secret of the environment is not to be written down as if it were a path
    fact = PathFact(real, access, inside=inside or not counts, protected=reason, own=own)
    yield fact
    if access is Access.WRITE and not mention.opened:  # what is moved or removed may be read
        yield replace(fact, access=Access.READ)


def _is_path(mention: Mention, plain: str, real: str, found: Found) -> bool:
    """Whether a word must be taken for a path outside."""
    if mention.role is Role.TOLD or plain in _DEVICES:
        return False
    writes = mention.role is Role.WRITE and not mention.is_part
    if not writes and any(is_within(real, folder) for folder in _SYSTEM):
        return False
    has_parent = found.has_parent and (writes or posixpath.dirname(real) != "/")
    return found.exists or (has_parent and not mention.is_part)


def _of_pattern(
    mention: Mention, candidate: Candidate, disk: Disk, places: Places
) -> Iterable[PathFact]:
    """Yield the facts of what a pattern fits, and of the folder that it begins with."""
    found = disk.get(candidate)
    folder = _folder(candidate)
    begins = disk.get(Candidate(folder)) or Found((folder,))
    exists = begins.exists and (found is None or found.exists)
    yield from _of_path(mention, folder, Found(begins.real, exists, has_parent=False), places)
    if mention.opened or found is None:
        reason = resembles(mention.value, _widest(mention.role), places)
        if reason is not None:
            yield _doubtful(mention, reason)
    for real in found.real if found is not None else ():
        yield from _of_path(mention, real, Found((real,)), places)


def _unknown(mention: Mention, places: Places) -> Iterable[PathFact]:
    """Yield the fact of a path that may lead anywhere, where it matters."""
    reason = resembles(mention.value, _widest(mention.role), places)
    if reason is not None or mention.opened:
        yield _doubtful(mention, reason)
        return
    begin = mention.value.beginning
    if begin.startswith("/~"):
        yield _doubtful(mention, None)
    elif begin.startswith("/") and mention.role is not Role.TOLD:
        folder = posixpath.normpath(begin.rpartition("/")[0] or "/")
        if folder != "/" and not is_within(folder, places.workspace):
            yield from _of_path(mention, folder, Found((folder,)), places)


def _doubtful(mention: Mention, reason: str | None) -> PathFact:
    access = Access.WRITE if mention.role is Role.WRITE else Access.READ
    return PathFact(
        mention.source, access, inside=reason is not None, protected=reason, unknown=True
    )


def _widest(role: Role) -> Access:
    """Return the access that most is protected from, of those that a role allows."""
    return Access.READ if role in (Role.READ, Role.TOLD) else Access.WRITE


def _protection(path: str, role: Role, places: Places) -> str | None:
    return protected.protection(path, _widest(role), places)


def _roughly(command: str, places: Places) -> Iterable[PathFact]:
    """Yield the protected names in a text that is not understood."""
    bare = command.translate(_WITHOUT_QUOTES)
    for word in dict.fromkeys((*_ROUGH.split(command), *_ROUGH.split(bare))):
        given = places.home + word[1:] if word == "~" or word.startswith("~/") else word
        path = posixpath.normpath(posixpath.join(places.workspace, given))
        reason = protected.protection(path, Access.WRITE, places)
        if reason is not None:
            own = protected.is_own(path, places)
            yield PathFact(path, Access.READ, inside=True, protected=reason, own=own)
