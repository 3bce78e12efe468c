"""What of a workspace and a home is hidden or kept as it is, looked up on the disk.

Masks lie on names, so they are looked up anew for each program. What cannot be masked soundly (a
secret with a second name, more than `MASKS_MAX`) is an error: nothing runs with a part of them.
"""

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from enum import Enum, auto
from itertools import chain, islice
from typing import Final

from msgspec import Struct
from msgspec.structs import astuple

from wcore.errors import ToolError
from wcore.sandbox.repository import beginning_of, named_by, real_of

MASKS_MAX: Final = 200  # mounts of one program; 100 cost some 40 ms, 400 some 300
ENTRIES_MAX: Final = 200_000  # of a workspace that are looked at: about a second
LEFT_ENTRIES_MAX: Final = 5_000_000  # afterwards: a program may have made more to hide behind
TRACKED_BYTES_MAX: Final = 1024 * 1024  # of a file that may be in git; no key is longer
INDEX_BYTES_MAX: Final = 64 * 1024 * 1024  # of git: some 500,000 files

HIDDEN_FOLDERS_MAX: Final = 256  # of one that is hidden, in which links are looked for

#: What tools install into a workspace; nobody keeps secrets there, nor opens it as a project.
INSTALLED: Final = frozenset(
    "node_modules bower_components .venv venv .tox .nox __pycache__ site-packages target Pods"
    " .gradle .mypy_cache .pytest_cache .ruff_cache .hypothesis .terraform .next .nuxt".split()
)
#: Of a repository what decides which programs git runs, and where else it looks for that.
GIT_KEPT: Final = frozenset(
    "hooks config config.worktree commondir gitdir remotes branches".split()
)
GIT_LEFT: Final = frozenset(["objects", "refs", "logs", "lfs", "hooks"])  # not looked into
_BARE: Final = frozenset(["HEAD", "objects", "refs"])  # git takes a folder with these for one
_SOCKET: Final = re.compile(rb"\n(?=[0-9a-f]{8,}: )")  # a name may have lines, too
_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")  # a space and its kind, in tables of mounts


class SandboxError(ToolError):
    """No sandbox can be made as it should be; the message says why."""


class Rules(Struct, frozen=True):
    """What is told of real paths: whether one is a secret, and whether it may not be written.

    `is_denied`: not even read, though git has it; `denied` are places that may hold such paths.
    `is_harmless`: a configuration of git that names no program; `refused`: the keys in which one
    may not become another.
    """

    is_secret: Callable[[str], bool]
    is_kept: Callable[[str], bool]
    is_denied: Callable[[str], bool] = lambda _: False
    is_harmless: Callable[[str], bool] = lambda _: False
    denied: Callable[[], Iterable[str]] = tuple
    refused: Callable[[bytes, bytes], Sequence[str]] = lambda _, __: ["any key"]


class Masks(Struct, frozen=True):
    """Real paths, all of which are there: hidden files and folders, and what cannot be changed.

    `names` are those that decide what other programs run; with where they lead, if they are links.
    What is `absent` would be one, if it were there.
    """

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    names: tuple[tuple[str, str | None], ...] = ()
    absent: tuple[str, ...] = ()


def masks_of(workspace: str, repository: Sequence[str], home: str, rules: Rules) -> Masks:
    """Return what is to be masked in a workspace and its repository.

    Raises:
        SandboxError: there is too much to look at.
    """
    files: dict[str, None] = {}
    folders: dict[str, None] = {}
    tracked = _Tracked([f"{workspace}/.git", *repository])
    names = _Guarded(rules)
    unread: list[str] = []
    for entry, is_git in _entries(workspace, repository, unread):
        path = real = entry.path
        is_secret = not is_git and rules.is_secret(path)
        if entry.is_symlink():
            real = real_of(path)
            is_secret = is_secret or (not is_git and rules.is_secret(real))
            is_secret = is_secret and is_below(real, (workspace, home))
            is_secret = is_secret and not is_below(workspace, (real,))  # `.env` to `..`
        is_denied = rules.is_denied(real)
        match _kind(entry):
            case Kind.FOLDER if is_secret or is_denied:
                folders[real] = None
            case Kind.FILE if is_denied or (is_secret and not tracked.has(real)):
                files[real] = None
            case Kind.OTHER if not entry.is_symlink():  # a read-only mount holds no socket or pipe
                files[path] = None
            case _:
                pass
        names.add(entry, is_git=is_git)
    folders |= dict.fromkeys(unread)  # a program could make them readable
    inside = (workspace, *repository)
    by_git = [path for path in _by_git(names.found, workspace) if is_below(path, inside)]
    by_git += [first_link(path, inside) for path in by_git]
    found = {**dict(names.found), **{path: link_of(path) for path in by_git}}
    there = {path: link for path, link in found.items() if os.path.lexists(path)}
    real_names = dict.fromkeys(map(real_of, there))
    kept = tuple(path for path in real_names if is_below(path, inside) and os.path.exists(path))
    nowhere = (path for path in real_names if is_below(path, inside) and path not in kept)
    absent = (*(found.keys() - there.keys()), *nowhere)  # a link may lead to what is not there yet
    return Masks(tuple(files), tuple(folders), kept, tuple(there.items()), absent)


def _by_git(names: Iterable[tuple[str, str | None]], workspace: str) -> Iterator[str]:
    """Yield what the configurations among `names` name."""
    for path, _ in names:
        folder, name = os.path.split(path)
        if name.startswith("config") and not os.path.isdir(path):
            yield from named_by(path, os.path.dirname(folder), workspace)


def guarded_names(
    workspace: str, repository: Sequence[str], rules: Rules, unread: list[str]
) -> list[str]:
    """Return the paths whose names decide what other programs run, after one has run.

    Folders are made readable that are not; those of which that fails are added to `unread`, and the
    workspace, if there is too much to look at.
    """
    names = _Guarded(rules)
    try:
        for entry, is_git in _entries(workspace, repository, unread, is_after=True):
            names.add(entry, is_git=is_git)
    except SandboxError:
        unread.append(workspace)
    return [path for path, _ in names.found]


class _Guarded:
    """Collects such names; what lies in a folder of that kind counts with the folder."""

    def __init__(self, rules: Rules) -> None:
        self.found: list[tuple[str, str | None]] = []
        self._is_kept = rules.is_kept
        self._folders: set[str] = set()

    def add(self, entry: "os.DirEntry[str]", *, is_git: bool) -> None:
        is_within = os.path.dirname(entry.path) in self._folders
        is_guarded = is_within or self._is_guarded(entry, is_git=is_git)
        if is_guarded and entry.is_dir(follow_symlinks=False):
            self._folders.add(entry.path)
        if is_guarded and not is_within:
            self.found.append((entry.path, link_of(entry.path)))

    def _is_guarded(self, entry: "os.DirEntry[str]", *, is_git: bool) -> bool:
        if is_git:
            return entry.name in GIT_KEPT
        if entry.name == ".git":  # a file that says where the repository is
            return not entry.is_dir(follow_symlinks=False)
        return self._is_kept(entry.path)


def first_link(path: str, roots: Sequence[str]) -> str:
    """Return the first link on the way to `path`, which lies in one of `roots`; else `path`."""
    here = root = next(root for root in roots if is_below(path, (root,)))
    for part in path.removeprefix(root).strip("/").split("/")[:-1]:
        here = f"{here}/{part}"
        if os.path.islink(here):
            return here
    return path


def link_of(path: str) -> str | None:
    """Return where a link leads, as it says; `None`: it is none."""
    with suppress(OSError):
        return os.readlink(path)
    return None


def hidden_of(paths: Iterable[str]) -> Masks:
    """Return the masks of those of `paths` that are there."""
    real = dict.fromkeys(real_of(path) for path in paths if os.path.exists(path))
    folders = [path for path in real if os.path.isdir(path)]
    files = [path for path in real if not os.path.isdir(path)]
    return Masks(tuple(files), tuple(folders))


def in_any_case(paths: Iterable[str]) -> list[str]:
    """Return those of `paths` that are there, as they are written there: tables are folded."""
    by_folder: dict[str, set[str]] = {}
    for path in paths:
        folder, name = os.path.split(path)
        by_folder.setdefault(folder, set()).add(name.casefold())
    found: list[str] = []
    for folder, names in by_folder.items():
        with suppress(OSError):
            above = folder if os.path.isdir(folder) else "".join(in_any_case([folder])[:1])
            found += [f"{above}/{each}" for each in os.listdir(above) if each.casefold() in names]
    return found


def led_to_from(folders: Iterable[str], home: str, workspace: str) -> list[str]:
    """Return where links in hidden folders lead in a home or workspace: by a plain name, there."""
    found: list[str] = []
    entries = (each for top in folders for each in islice(os.walk(top), HIDDEN_FOLDERS_MAX))
    for folder, names, files in entries:
        paths = [f"{folder}/{name}" for name in (*names, *files)]
        found += [real_of(path) for path in paths if os.path.islink(path)]
    inside = [path for path in found if is_below(path, (home, workspace))]
    return [path for path in inside if not any(is_below(f, (path,)) for f in (home, workspace))]


def sockets() -> list[str]:
    """Return the sockets of this machine that have a path: a read-only mount does not hold them."""
    with open("/proc/net/unix", "rb") as table:
        lines = _SOCKET.split(table.read().removesuffix(b"\n"))[1:]
    names = (os.fsdecode(line.split(b" ", 7)[-1]) for line in lines)
    return sorted({name for name in names if name.startswith("/")})


def other_views_of_processes(mounts: str = "/proc/self/mountinfo") -> list[str]:
    """Return where else than at /proc processes can be seen: in the root of another system."""
    with open(mounts, "rb") as table:
        lines = table.read().splitlines()
    found: list[str] = []
    for line in lines:
        before, _, behind = line.partition(b" - ")
        if behind.split()[0] == b"proc":
            found.append(os.fsdecode(_ESCAPED.sub(_unescaped, before.split()[4])))
    return [path for path in found if not is_below(path, ("/proc",))]


def _unescaped(octal: re.Match[bytes]) -> bytes:
    return bytes([int(octal[1], 8)])


def together(*each: Masks) -> Masks:
    """Return all masks, each once.

    Raises:
        SandboxError: there are too many, or what is masked has another name.
    """
    fields = zip(*map(astuple, each), strict=True)
    found = Masks(*(tuple(dict.fromkeys(chain.from_iterable(field))) for field in fields))
    count = len(found.files) + len(found.folders) + len(found.kept)
    if count > MASKS_MAX:
        raise SandboxError(
            f"{count} files and folders would have to be hidden or kept, {MASKS_MAX} can be"
        )
    kept = chain.from_iterable(_files_of(path) for path, _ in found.names if path in found.kept)
    for path in (*found.files, *kept):
        with suppress(OSError):
            if stat.S_ISREG((found_as := os.stat(path)).st_mode) and found_as.st_nlink > 1:
                raise SandboxError(f"{path} cannot be masked: the file has another name as well")
    return found


def _files_of(path: str) -> Iterator[str]:
    """Yield a file, or those in a folder: what has another name could be written by that."""
    if not os.path.isdir(path):
        yield path
    for folder, _, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in names)


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Whether `path` is one of `folders` or lies in one."""
    return any(path == each or path.startswith(f"{each.rstrip('/')}/") for each in folders)


def _entries(
    workspace: str, repository: Iterable[str], unread: list[str], *, is_after: bool = False
) -> Iterator[tuple["os.DirEntry[str]", bool]]:
    """Yield all that may matter, and whether it is of a repository of git.

    Folders that cannot be read are added to `unread`; after a run they are made readable first.

    Raises:
        SandboxError: there is too much of it.
    """
    left, count = [(workspace, False), *((folder, True) for folder in repository)], 0
    limit = LEFT_ENTRIES_MAX if is_after else ENTRIES_MAX
    while left:
        folder, is_git = left.pop()
        entries = listing(folder, opens=is_after)
        if entries is None:
            unread.append(folder)
            continue
        count += len(entries)
        if count > limit:
            raise SandboxError(f"there are more than {limit} files in {workspace}")
        is_bare = {entry.name for entry in entries} >= _BARE  # besides whatever else it is
        for entry in entries:
            yield entry, is_git or (is_bare and entry.name in GIT_KEPT)
            passed_over = GIT_LEFT if is_git else INSTALLED
            if entry.is_dir(follow_symlinks=False) and entry.name not in passed_over:
                left.append((entry.path, is_git or entry.name == ".git"))


def listing(folder: str, *, opens: bool) -> "list[os.DirEntry[str]] | None":
    """Return what is in a folder; `None`: it cannot be read. `opens`: it is made readable first."""
    try:
        return list(os.scandir(folder))
    except OSError:
        if not opens:
            return None
    with suppress(OSError):
        make_accessible(folder)
        return list(os.scandir(folder))
    return None


def make_accessible(folder: str) -> None:
    """Let ourselves read and write a folder; raises `OSError` where we may not."""
    os.chmod(folder, stat.S_IMODE(os.lstat(folder).st_mode) | stat.S_IRWXU)


def is_bare(folder: str) -> bool:
    """Whether git takes a folder for a repository, whatever its name."""
    return all(os.path.lexists(f"{folder}/{name}") for name in _BARE)


class Kind(Enum):
    """What an entry of a folder is, or leads to."""

    FILE = auto()
    FOLDER = auto()
    OTHER = auto()
    NOTHING = auto()  # a link that leads nowhere, or where we may not look


def _kind(entry: "os.DirEntry[str]") -> Kind:
    with suppress(OSError):
        if entry.is_dir():
            return Kind.FOLDER
        if entry.is_file():
            return Kind.FILE
        return Kind.OTHER if os.path.exists(entry.path) else Kind.NOTHING
    return Kind.NOTHING


class _Tracked:
    """Whether git has exactly the content of a file: what it has can be read there anyway."""

    def __init__(self, repositories: Iterable[str]) -> None:
        self._paths = [f"{folder}/index" for folder in repositories]
        self._index: bytes | None = None

    def has(self, path: str) -> bool:
        if self._index is None:
            parts = (beginning_of(each, INDEX_BYTES_MAX) or b"" for each in self._paths)
            self._index = b"".join(parts)
        content = beginning_of(path, TRACKED_BYTES_MAX + 1) if self._index else None
        if content is None or len(content) > TRACKED_BYTES_MAX:
            return False
        blob = b"blob %d\0" % len(content) + content
        digests = (hashlib.sha1(blob, usedforsecurity=False), hashlib.sha256(blob))
        return any(each.digest() in self._index for each in digests)
