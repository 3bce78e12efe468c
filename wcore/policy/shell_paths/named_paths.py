"""From a shell text to the facts of the paths that it names. Pure: the disk comes as values.

First `candidates` tells what should be looked up; whoever may touch the disk does that; then
`paths_named` makes facts of both. What was not looked up is taken to exist.
"""

import itertools
import posixpath
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from wcore.policy import protected
from wcore.policy.protected import Places, is_within
from wcore.policy.shell_paths import folder_facts, sweeps
from wcore.policy.shell_paths.evaluation import evaluate
from wcore.policy.shell_paths.lookups import Candidate, Component, Disk, LookupResult, candidate_of
from wcore.policy.shell_paths.mention import Mention, MentionScan
from wcore.policy.shell_paths.programs import Role
from wcore.policy.shell_paths.resemblance import resembles
from wcore.policy.shell_paths.values import Hole, Value
from wcore.vocabulary import Access, PathFact

FITTING_MAX: Final = 32_768  # paths that the patterns of one text fit: some 100 ms
HELD_MAX: Final = 32_768  # names in the folders that one text changes or copies: some 400 ms
KEPT_MAX: Final = 1024  # facts of one text and kind; each is a line of its record
FRESH_MAX: Final = 256  # paths of one text that its patterns are compared with; more is asked about
READ_CHARS_MAX: Final = 64 * 1024  # of a text; a longer one is more than a card shows

_DEVICES: Final = frozenset(
    f"/dev/{name}" for name in ("null", "zero", "stdin", "stdout", "stderr", "urandom")
)
_SYSTEM: Final = tuple("/usr /opt /nix /bin /sbin /lib /lib32 /lib64 /etc".split())
_ROUGH: Final = re.compile(r"[\s;|&<>()=`$\"'\\{},:]+")
_WITHOUT_QUOTES: Final = str.maketrans("", "", "'\"\\")


_POLICY: Final = "policy.toml"
_NOTHING: Final[Disk] = {}


def candidates(command: str, places: Places, environ: Mapping[str, str]) -> list[Candidate]:
    """Return what of a text's paths should be looked up: no more than two for each mention."""
    found: dict[Candidate, None] = {}
    for mention in _read(command, places, environ).mentions:
        candidate = _candidate(mention)
        if candidate is not None:
            found[candidate] = None
            if candidate.holes:
                found[Candidate(_folder(candidate))] = None
        found.update(dict.fromkeys(folder_facts.candidates(mention)))
    return list(found)


def paths_named(
    command: str,
    places: Places,
    environ: Mapping[str, str] | None = None,
    disk: Disk = _NOTHING,
) -> list[PathFact]:
    """Return the facts of all that `command` names, each once."""
    reading = _read(command, places, environ)
    found = _FactCollector()
    fresh = _MissingPaths(reading, disk)
    unsure = {each.source for each in reading.mentions if sweeps.emptied(each.value) is not None}
    judged = held_by_folders = 0
    for mention in reading.mentions:
        if mention.tree or mention.put is not None:
            held_by_folders += folder_facts.size(mention, disk)
            is_too_much = held_by_folders > HELD_MAX
            held = folder_facts.facts(mention, places, _NOTHING if is_too_much else disk)
            if is_too_much:
                found.keep(mention, [folder_facts.too_large(mention)])
            if mention.source in unsure:
                held = (_may_be_empty(mention) if fact.own else fact for fact in held)
            found.keep(mention, held)
            continue
        candidate = _candidate(mention)
        looked = disk.get(candidate) if candidate is not None else None
        judged += len(looked.real) if looked is not None else 0
        if looked is not None and (judged > FITTING_MAX or not looked.complete):
            found.keep(mention, _crowded(mention))
        if judged <= FITTING_MAX:
            found.keep(mention, _facts(mention, candidate, places, disk, fresh))
        found.keep(mention, _swept(mention, places, disk, mention.source in unsure))
    facts = found.facts
    if reading.lost:
        facts.update(dict.fromkeys(_roughly(command, places)))
        facts[PathFact("", Access.WRITE, inside=False, unknown=True)] = None
    return list(facts)


class _FactCollector:
    """The facts of a text, each once; of too many only that there are more."""

    def __init__(self) -> None:
        self.facts: dict[PathFact, None] = {}
        self._ordinary = 0
        self._notable = 0

    def keep(self, mention: Mention, facts: Iterable[PathFact]) -> None:
        for fact in facts:
            if fact in self.facts or fact.own or fact.danger is not None:
                self.facts[fact] = None
            elif fact.inside and fact.protected is None:
                self._ordinary += 1
                more = PathFact(mention.source, fact.access, inside=True, unknown=True)
                self.facts[fact if self._ordinary <= KEPT_MAX else more] = None
            else:
                self._notable += 1
                more = replace(_doubtful(mention, fact.protected), access=fact.access, own=True)
                self.facts[fact if self._notable <= KEPT_MAX else more] = None


class _MissingPaths:
    """The paths of a text that are not on disk yet: a pattern of it may meet them once they are."""

    def __init__(self, reading: MentionScan, disk: Disk) -> None:
        found: dict[str, list[str]] = {}
        for mention in reading.mentions:
            candidate = _candidate(mention)
            if candidate is None or candidate.holes or mention.tree or mention.put is not None:
                continue
            looked = disk.get(candidate)
            if looked is None or not looked.exists:
                path = posixpath.normpath(candidate.path)
                found[path] = path[1:].split("/")
        self._paths = dict(itertools.islice(found.items(), FRESH_MAX))
        self.more = len(found) > FRESH_MAX

    def fitting(self, candidate: Candidate) -> Iterable[str]:
        """Yield those that a pattern may meet."""
        shape = candidate.components
        for path, names in self._paths.items():
            if candidate.deep or len(names) == len(shape):
                pairs = zip(reversed(shape), reversed(names), strict=False)
                if all(part.fits(name) for part, name in _until_deep(pairs)):
                    yield path


def _until_deep(pairs: Iterable[tuple[Component, str]]) -> Iterable[tuple[Component, str]]:
    return itertools.takewhile(lambda pair: not pair[0].deep, pairs)


def _read(command: str, places: Places, environ: Mapping[str, str] | None) -> MentionScan:
    if len(command) > READ_CHARS_MAX:
        return MentionScan((), lost=True)
    around = None if environ is None else tuple(sorted(environ.items()))
    return _evaluated(command, places.workspace, places.home, around)


@lru_cache(8)  # the same text is read before the disk is asked and after it
def _evaluated(
    command: str, cwd: str, home: str, environ: tuple[tuple[str, str], ...] | None
) -> MentionScan:
    return evaluate(command, cwd, home, None if environ is None else dict(environ))


def _candidate(mention: Mention) -> Candidate | None:
    is_searched = mention.spelled and Hole.FOLDERS in mention.value.pieces
    return candidate_of(mention.value, searched=is_searched)


def _folder(candidate: Candidate) -> str:
    return candidate.path[: candidate.holes[0]].rpartition("/")[0] or "/"


def _facts(
    mention: Mention, candidate: Candidate | None, places: Places, disk: Disk, fresh: _MissingPaths
) -> Iterable[PathFact]:
    if candidate is None:
        yield from _unknown(mention, places)
        return
    found = disk.get(candidate)
    if candidate.holes:
        yield from _of_pattern(mention, candidate, disk, places)
        for path in fresh.fitting(candidate):
            yield from _of_path(mention, path, LookupResult((path,)), places)
        if fresh.more:
            yield _doubtful(mention, None)
        is_all = found is not None and found.complete
        for path in () if is_all else _own_below(mention, candidate, places):
            yield from _of_path(mention, path, LookupResult((path,)), places)
        return
    if mention.opened and candidate.path in _DEVICES:
        return
    plain = posixpath.normpath(candidate.path)
    yield from _of_path(mention, plain, found or LookupResult((plain,)), places)


def _own_below(mention: Mention, candidate: Candidate, places: Places) -> Iterable[str]:
    """Yield wcore's own files that a search may meet where there is too much to look at."""
    if not candidate.searched:
        return
    root = posixpath.normpath(candidate.path[: candidate.deep[0]])
    shape = candidate.components[len(root.strip("/").split("/")) if root != "/" else 0 :]
    for folder in (*places.own, f"{places.workspace}/{protected.OWN_FOLDER}"):
        path = f"{folder}/{_POLICY}"
        pairs = zip(reversed(shape), reversed(path[1:].split("/")), strict=False)
        if is_within(path, root) and all(part.fits(name) for part, name in _until_deep(pairs)):
            yield path


def _swept(
    mention: Mention,
    places: Places,
    disk: Disk,
    unsure: bool,  # noqa: FBT001
) -> Iterable[PathFact]:
    """Yield a fact for each tree that no command may remove or change as a whole.

    `unsure`: the word may be something else as well, so that only a person can tell.
    """
    if mention.sweep is None:
        return
    if sweeps.is_home_of_somebody(mention.source):
        yield PathFact(mention.source, Access.WRITE, inside=True, danger="rm-home")
    left = sweeps.emptied(mention.value)
    if left is None:
        for path in dict.fromkeys(_trees(mention.value, disk)):
            danger = sweeps.danger_of(mention.sweep, path, places.home)
            if danger is not None and unsure:
                yield _may_be_empty(mention)
            elif danger is not None:
                yield PathFact(path, Access.WRITE, inside=True, danger=danger)
    elif left.startswith("/") and sweeps.danger_of(mention.sweep, left, places.home):
        yield _may_be_empty(mention)


def _may_be_empty(mention: Mention) -> PathFact:
    source = mention.source
    return PathFact(source, Access.WRITE, inside=True, unknown=True, danger="rm-empty")


def _trees(value: Value, disk: Disk) -> Iterable[str]:
    """Yield the trees that a command is given as `value`; all of a folder is the folder."""
    candidate = candidate_of(value)
    if candidate is None:
        return
    found = disk.get(candidate)
    if not candidate.holes:
        yield candidate.path
        if candidate.path.endswith(("/", "/.", "/..")):  # through a link
            yield from found.real if found else ()
        return
    yield from found.real if found else ()
    if sweeps.takes_all(value):
        folder = _folder(candidate)
        yield folder
        yield from (disk.get(Candidate(folder)) or LookupResult((folder,))).real


def _of_path(
    mention: Mention, plain: str, found: LookupResult, places: Places
) -> Iterable[PathFact]:
    """Yield the fact of a path that is known."""
    plain = "/" + plain.lstrip("/")
    real = found.real[0]
    both = {real: None, plain: None}  # one, as a rule
    reason = next(filter(None, (_protection(each, mention.role, places) for each in both)), None)
    own = reason is not None and any(protected.is_own(each, places) for each in both)
    inside = is_within(real, places.workspace)
    access = Access.WRITE if mention.role is Role.WRITE else Access.READ
    is_path = (not mention.spelled or mention.role is Role.WRITE) and _is_path(
        mention, plain, real, found
    )
    counts = inside or mention.opened or is_path
    if not mention.opened and reason is None:
        if mention.role is Role.TOLD:
            return
        if mention.value.private and mention.role is not Role.WRITE and not found.exists:
            return  # a secret of the environment is not to be written down as if it were a path
        is_written = mention.role is Role.WRITE and (inside or is_path)
        if mention.spelled and not found.exists and not is_written:
            return
    fact = PathFact(real, access, inside=inside or not counts, protected=reason, own=own)
    yield fact
    if access is Access.WRITE and not mention.opened:  # what is moved or removed may be read
        yield replace(fact, access=Access.READ)
    if own and mention.role is Role.UNKNOWN and not mention.opened:  # who knows what it does to it
        yield replace(fact, access=Access.WRITE, unknown=True)


def _is_path(mention: Mention, plain: str, real: str, found: LookupResult) -> bool:
    """Whether a word must be taken for a path outside."""
    if mention.role is Role.TOLD or plain in _DEVICES:
        return False
    is_part = mention.is_part or mention.value.guessed
    writes = mention.role is Role.WRITE and not is_part and not mention.spelled
    if not writes and any(is_within(real, folder) for folder in _SYSTEM):
        return False
    has_parent = found.has_parent and (writes or posixpath.dirname(real) != "/")
    may_be_part = mention.role is Role.WRITE and not mention.value.guessed  # `tar -cf../x.tar`
    return found.exists or (has_parent and (may_be_part or not mention.is_part))


def _of_pattern(
    mention: Mention, candidate: Candidate, disk: Disk, places: Places
) -> Iterable[PathFact]:
    """Yield the facts of what a pattern fits, and of the folder that it begins with."""
    found = disk.get(candidate)
    folder = _folder(candidate)
    if folder == "/" and mention.value.guessed and mention.role is not Role.WRITE:
        return  # whoever has only forgotten that a folder may not be known looks at nothing
    begins = disk.get(Candidate(folder)) or LookupResult((folder,))
    exists = begins.exists and (found is None or found.exists)
    yield from _of_path(
        mention, folder, LookupResult(begins.real, exists, has_parent=False), places
    )
    if mention.opened or found is None:
        reason = resembles(mention.value, _widest(mention.role), places)
        if reason is not None:
            yield _doubtful(mention, reason)
    if "/../" in candidate.path:  # where nothing fits it stays as it is written
        plain = posixpath.normpath(candidate.path)
        yield from _of_path(mention, plain, LookupResult((plain,)), places)
    for real in found.real if found is not None else ():
        yield from _of_path(mention, real, LookupResult((real,)), places)


def _unknown(mention: Mention, places: Places) -> Iterable[PathFact]:
    """Yield the fact of a path that may lead anywhere, where it matters."""
    reason = resembles(mention.value, _widest(mention.role), places)
    if reason is not None or mention.opened or _is_adrift(mention):
        yield _doubtful(mention, reason)
        return
    begin = mention.value.beginning
    if begin.startswith("/~"):
        yield _doubtful(mention, None)
    elif begin.startswith("/") and mention.role is not Role.TOLD:
        folder = posixpath.normpath(begin.rpartition("/")[0] or "/")
        if folder != "/" and not is_within(folder, places.workspace):
            yield from _of_path(mention, folder, LookupResult((folder,)), places)


def _is_adrift(mention: Mention) -> bool:
    """Whether a word must be taken for a path in a folder that nobody knows."""
    if not mention.adrift or mention.is_part:
        return False
    if mention.role is Role.UNKNOWN:  # `make all` is no path, `tool ./x` is
        return any(isinstance(piece, str) and "." in piece for piece in mention.value.pieces)
    return mention.role is not Role.TOLD


def _crowded(mention: Mention) -> Iterable[PathFact]:
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
            fact = PathFact(path, Access.READ, inside=True, protected=reason, own=own)
            yield fact
            if own:
                yield replace(fact, access=Access.WRITE, unknown=True)
