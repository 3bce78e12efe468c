"""From a shell text to the facts of the paths that it names. Pure: the disk comes as values.

First `candidates` tells what should be looked up; whoever may touch the disk does that; then
`paths_named` makes facts of both. What was not looked up is taken to exist.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from wcore.policy import protected
from wcore.policy.protected import OWN_FILES, OWN_FOLDER, Places, is_within
from wcore.policy.shell.paths import sweeps
from wcore.policy.shell.paths.mention import Mention, MentionScan
from wcore.policy.shell.paths.mentions import mentions_of
from wcore.policy.shell.paths.resemblance import CLIMBS, POLICY, resembles
from wcore.policy.shell.paths.roles import Role
from wcore.policy.shell.paths.values import (
    ANY,
    HOLES,
    Candidate,
    Disk,
    LookupResult,
    beginning,
    candidate_of,
    literal,
)
from wcore.vocabulary import Access, PathFact

FITTING_MAX: Final = 32_768  # paths that the patterns of one text fit: some 100 ms
KEPT_MAX: Final = 1024  # facts of one text and kind; each is a line of its record

_DEVICES: Final = frozenset(
    f"/dev/{name}" for name in ("null", "zero", "stdin", "stdout", "stderr", "urandom")
)
_SYSTEM: Final = tuple("/usr /opt /nix /bin /sbin /lib /lib32 /lib64 /etc".split())
_ROUGH: Final = re.compile(r"[\s;|&<>()=`$\"'\\{},:]+")
_WITHOUT_QUOTES: Final = str.maketrans("", "", "'\"\\")
_NOTHING: Final[Disk] = {}


def candidates(command: str, places: Places, environ: Mapping[str, str]) -> list[Candidate]:
    """Return what of a text's paths should be looked up: no more than three for each mention."""
    found: dict[Candidate, None] = {}
    for mention in _read(command, places, environ).mentions:
        candidate = candidate_of(mention.value)
        if candidate is not None:
            found[candidate] = None
            found.update(dict.fromkeys(_put_at(mention, candidate)))
            if not candidate.is_literal:
                found[Candidate(candidate.folder)] = None
            if mention.tree:
                found[_own_folder(candidate)] = None
    return list(found)


def paths_named(
    command: str,
    places: Places,
    environ: Mapping[str, str] | None = None,
    disk: Disk = _NOTHING,
) -> list[PathFact]:
    """Return the facts of all that `command` names, each once."""
    reading = _read(command, places, environ)
    unsure = {each.source for each in reading.mentions if sweeps.emptied(each.value) is not None}
    found = _FactCollector()
    judged = 0
    for mention in reading.mentions:
        candidate = candidate_of(mention.value)
        looked = disk.get(candidate) if candidate is not None else None
        judged += len(looked.real) if looked is not None else 0
        if looked is not None and (judged > FITTING_MAX or not looked.complete):
            found.keep(mention, _crowded(mention))
        if mention.into:
            found.keep(mention, _of_put(mention, candidate, places, disk))
        elif judged <= FITTING_MAX:
            found.keep(mention, _facts(mention, candidate, places, disk))
        is_unsure = mention.source in unsure
        if mention.tree and candidate is not None:
            held = _of_tree(mention, candidate, places, disk)
            found.keep(mention, [_may_be_empty(mention)] if is_unsure and any(held) else held)
        found.keep(mention, _swept(mention, places, disk, is_unsure=is_unsure))
    if reading.lost:
        found.facts |= dict.fromkeys([*_roughly(command, places), _LOST])
    return list(found.facts)


_LOST: Final = PathFact("", Access.WRITE, inside=False, unknown=True)


class _FactCollector:
    """The facts of a text, each once; of too many only that there are more."""

    def __init__(self) -> None:
        self.facts: dict[PathFact, None] = {}
        self._kept = 0

    def keep(self, mention: Mention, facts: Iterable[PathFact]) -> None:
        for fact in facts:
            self._kept += fact not in self.facts
            is_ordinary = fact.inside and fact.protected is None
            if self._kept <= KEPT_MAX or fact.own or fact.danger is not None:
                self.facts[fact] = None
            elif is_ordinary:
                self.facts[PathFact(mention.source, fact.access, inside=True, unknown=True)] = None
            else:
                more = _doubtful(mention, fact.protected)
                self.facts[replace(more, access=fact.access, own=True)] = None


def _read(command: str, places: Places, environ: Mapping[str, str] | None) -> MentionScan:
    around = None if environ is None else tuple(sorted(environ.items()))
    return _scanned(command, places, around)


@lru_cache(8)  # the same text is read before the disk is asked and after it
def _scanned(
    command: str, places: Places, environ: tuple[tuple[str, str], ...] | None
) -> MentionScan:
    return mentions_of(command, places, None if environ is None else dict(environ))


def _own_folder(candidate: Candidate) -> Candidate:
    """Return where wcore's files of a workspace are, in a folder that is changed or copied."""
    return Candidate(f"{candidate.path.rstrip('/')}/{OWN_FOLDER}", searched=True)


def _facts(
    mention: Mention, candidate: Candidate | None, places: Places, disk: Disk
) -> Iterator[PathFact]:
    if candidate is None:
        yield from _unknown(mention, places)
    elif not candidate.is_literal:
        yield from _of_pattern(mention, candidate, disk, places)
    elif not (mention.opened and candidate.path in _DEVICES):
        plain = posixpath.normpath(candidate.path)
        yield from _of_path(mention, plain, disk.get(candidate, LookupResult((plain,))), places)
    if mention.filled:
        yield from _of_parent(mention)


def _put_at(mention: Mention, candidate: Candidate) -> list[Candidate]:
    """Return where something that is put into a known folder comes to lie."""
    name = candidate.path.rstrip("/").rpartition("/")[2]
    place = candidate_of(f"{mention.into}/{name}") if mention.into else None
    is_known = candidate.is_literal and name not in (".", "..")
    return [place] if place is not None and place.is_literal and is_known else []


def _of_put(
    mention: Mention, candidate: Candidate | None, places: Places, disk: Disk
) -> Iterator[PathFact]:
    """Yield the facts of what comes to lie in a folder, by the names that are there."""
    put = [] if candidate is None else _put_at(mention, candidate)
    found = None if candidate is None else disk.get(candidate)
    if found is not None and not put and literal(mention.into):
        put = [Candidate(f"{mention.into}/{posixpath.basename(each)}") for each in found.real]
    for place in put:
        plain = posixpath.normpath(place.path)
        yield from _of_path(mention, plain, disk.get(place, LookupResult((plain,))), places)
    if not put and (found is None or not found.complete):
        name = mention.value.rpartition("/")[2]
        reason = resembles(f"{mention.into}/{name}", Access.WRITE, places)
        if reason is not None:
            yield _doubtful(mention, reason)


def _of_parent(mention: Mention) -> Iterator[PathFact]:
    """Yield a fact where folders are put into what protected ones are below: `.github`."""
    last = mention.value.rstrip("/").rpartition("/")[2]
    for name, why in protected.guarded(Access.WRITE)[0].items():
        if name.startswith(f"{last}/"):
            yield _doubtful(mention, why)


def _of_tree(
    mention: Mention, candidate: Candidate, places: Places, disk: Disk
) -> Iterator[PathFact]:
    """Yield a fact where a folder that is changed or copied holds files of ours."""
    roots = [*disk.get(candidate, LookupResult(())).real]
    roots += [posixpath.normpath(candidate.path)] if candidate.is_literal else []
    ours = places.own if mention.role is Role.WRITE else ()
    holds = any(is_within(own.casefold(), root.casefold()) for own in ours for root in roots)
    holds = holds or any(protected.is_own(root, places) for root in roots)
    inner = disk.get(_own_folder(candidate), LookupResult((), exists=False))
    if holds or (inner.exists and inner.real):
        path = roots[0] if roots else mention.source
        yield PathFact(path, Access.WRITE, inside=True, protected=OWN_FILES, own=True)


def _swept(mention: Mention, places: Places, disk: Disk, *, is_unsure: bool) -> Iterator[PathFact]:
    """Yield a fact for each tree that no command may remove or change as a whole.

    `is_unsure`: the word may be something else as well, so that only a person can tell.
    """
    if mention.sweep is None:
        return
    if sweeps.is_home_of_somebody(mention.source):
        yield PathFact(mention.source, Access.WRITE, inside=True, danger="rm-home")
    left = sweeps.emptied(mention.value)
    if left is None:
        for path in dict.fromkeys(_trees(mention.value, disk)):
            danger = sweeps.danger_of(mention.sweep, path, places.home)
            if danger is not None and is_unsure:
                yield _may_be_empty(mention)
            elif danger is not None:
                yield PathFact(path, Access.WRITE, inside=True, danger=danger)
    elif left.startswith("/") and sweeps.danger_of(mention.sweep, left, places.home):
        yield _may_be_empty(mention)


def _may_be_empty(mention: Mention) -> PathFact:
    source = mention.source
    return PathFact(source, Access.WRITE, inside=True, unknown=True, danger="rm-empty")


def _trees(value: str, disk: Disk) -> Iterator[str]:
    """Yield the trees that a command is given as `value`; all of a folder is the folder."""
    candidate = candidate_of(value)
    if candidate is None:
        return
    found = disk.get(candidate, LookupResult(()))
    if candidate.is_literal:
        yield candidate.path
        if candidate.path.endswith(("/", "/.", "/..")):  # through a link
            yield from found.real
        return
    yield from found.real
    if sweeps.takes_all(value):
        yield candidate.folder
        yield from disk.get(Candidate(candidate.folder), LookupResult(())).real


def _of_path(
    mention: Mention, plain: str, found: LookupResult, places: Places
) -> Iterator[PathFact]:
    """Yield the fact of a path that is known."""
    plain = "/" + plain.lstrip("/")
    real = found.real[0]
    widest = _widest(mention.role)
    both = dict.fromkeys([real, plain])  # one, as a rule
    reasons = (protected.protection(each, widest, places) for each in both)
    reason = next(filter(None, reasons), None)
    own = reason is not None and any(protected.is_own(each, places) for each in both)
    inside = is_within(real, places.workspace)
    is_path = _is_path(mention, plain, real, found)
    is_written = mention.role is Role.WRITE and (inside or is_path)
    if not mention.opened and reason is None:
        # A secret of the environment is not to be written down as if it were a path.
        is_guess = mention.spelled or (mention.private and mention.role is not Role.WRITE)
        if mention.role is Role.TOLD or (is_guess and not found.exists and not is_written):
            return
    inside = inside or not (mention.opened or is_path)
    access = Access.WRITE if mention.role is Role.WRITE else Access.READ
    fact = PathFact(real, access, inside=inside, protected=reason, own=own)
    yield fact
    if access is Access.WRITE and not mention.opened:  # what is moved or removed may be read
        yield replace(fact, access=Access.READ)
    if own and mention.role is Role.UNKNOWN and not mention.opened:  # who knows what it does to it
        yield replace(fact, access=Access.WRITE, unknown=True)


def _is_path(mention: Mention, plain: str, real: str, found: LookupResult) -> bool:
    """Whether a word must be taken for a path outside."""
    is_written = mention.role is Role.WRITE
    if mention.role is Role.TOLD or plain in _DEVICES or (mention.spelled and not is_written):
        return False
    writes = is_written and not mention.is_part and not mention.spelled
    if not writes and any(is_within(real, folder) for folder in _SYSTEM):
        return False
    has_parent = found.has_parent and (writes or posixpath.dirname(real) != "/")
    return found.exists or (has_parent and (is_written or not mention.is_part))


def _of_pattern(
    mention: Mention, candidate: Candidate, disk: Disk, places: Places
) -> Iterator[PathFact]:
    """Yield the facts of what a pattern fits, and of the folder that it begins with."""
    found, folder = disk.get(candidate), candidate.folder
    begins = disk.get(Candidate(folder), LookupResult((folder,)))
    exists = begins.exists and (found is None or found.exists)
    begin = LookupResult(begins.real, exists, has_parent=False)
    yield from _of_path(mention, folder, begin, places)
    last = candidate.path.rpartition("/")[2]
    is_named = literal(last) is not None and not candidate.searched
    if mention.opened or found is None or is_named:
        value = mention.value if mention.opened or found is None else f"/{last}"
        reason = resembles(value, _widest(mention.role), places)
        if reason is not None:
            yield _doubtful(mention, reason)
    if "/../" in candidate.path:  # where nothing fits it stays as it is written
        plain = posixpath.normpath(HOLES.sub("*", candidate.path))
        yield from _of_path(mention, plain, LookupResult((plain,)), places)
    for real in found.real if found is not None else ():
        yield from _of_path(mention, real, LookupResult((real,)), places)
    is_cut = found is not None and not found.complete and candidate.searched
    for own in (*places.own, f"{places.workspace}/{OWN_FOLDER}") if is_cut else ():
        if is_within(own, folder) and candidate.components[-1].fits(POLICY):
            yield from _of_path(mention, own, LookupResult((own,)), places)


def _unknown(mention: Mention, places: Places) -> Iterator[PathFact]:
    """Yield the fact of a path that may lead anywhere, where it matters."""
    reason = resembles(mention.value, _widest(mention.role), places)
    if reason == OWN_FILES and mention.role is Role.WRITE:
        yield replace(_doubtful(mention, reason), own=True, unknown=not _says_much(mention.value))
        return
    is_word = mention.opened or not (mention.is_part or mention.spelled)
    if is_word and mention.role in (Role.READ, Role.WRITE) and set(mention.value) - {ANY, "/"}:
        yield replace(_doubtful(mention, None), inside=True)  # rules may be about it
    if reason is not None or mention.opened or _is_adrift(mention):
        yield _doubtful(mention, reason)
        return
    begin = beginning(mention.value)
    if begin.startswith("/~"):
        yield _doubtful(mention, None)
    elif begin.startswith("/") and mention.role is not Role.TOLD:
        folder = posixpath.normpath(begin.rpartition("/")[0] or "/")
        if folder != "/" and not is_within(folder, places.workspace):
            yield from _of_path(mention, folder, LookupResult((folder,)), places)


def _says_much(value: str) -> bool:
    """Whether what is known of a path that resembles one of ours is more than a dot."""
    known = (HOLES.sub("", each).strip(".") for each in value.split("/") if HOLES.search(each))
    return value.startswith("/") and (
        value.endswith(f"/{POLICY}") or max(map(len, known), default=2) > 1
    )


def _is_adrift(mention: Mention) -> bool:
    """Whether a word must be taken for a path in a folder that nobody knows."""
    if mention.is_part or not (mention.adrift or CLIMBS.match(mention.value)):
        return False
    if mention.role is Role.UNKNOWN:  # `make all` is no path, `tool ./x` is
        return "." in HOLES.sub("", mention.value)
    return mention.role is not Role.TOLD


def _crowded(mention: Mention) -> Iterator[PathFact]:
    """Yield the fact of a word that stands for more than is looked at: any file may be of it."""
    if mention.spelled:  # of a search; rules may be about any of it
        yield replace(_doubtful(mention, None), inside=True)
    elif mention.opened or mention.role is not Role.TOLD:
        yield replace(_doubtful(mention, None), own=True)


def _doubtful(mention: Mention, reason: str | None) -> PathFact:
    access = Access.WRITE if mention.role is Role.WRITE else Access.READ
    return PathFact(
        mention.source, access, inside=reason is not None, protected=reason, unknown=True
    )


def _widest(role: Role) -> Access:
    """Return the access that most is protected from, of those that a role allows."""
    return Access.READ if role in (Role.READ, Role.TOLD) else Access.WRITE


def _roughly(command: str, places: Places) -> Iterator[PathFact]:
    """Yield the protected names in a text that is not understood."""
    bare = command.translate(_WITHOUT_QUOTES)
    for word in dict.fromkeys((*_ROUGH.split(command), *_ROUGH.split(bare))):
        given = places.home + word[1:] if word == "~" or word.startswith("~/") else word
        path = posixpath.normpath(posixpath.join(places.workspace, given))
        reason = protected.protection(path, Access.WRITE, places)
        if reason is not None:
            own = protected.is_own(path, places)
            fact = PathFact(path, Access.READ, inside=True, protected=reason, own=own)
            yield fact
            if own:
                yield replace(fact, access=Access.WRITE, unknown=True)
