"""The sandbox of one workspace: what it is made of, looked up anew for each program."""

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from wcore.sandbox import masks
from wcore.sandbox.masks import Masks, Rules, SandboxError, is_below
from wcore.sandbox.mounts import TMP, Place
from wcore.sandbox.repository import named_by, repository_folders

_PRIVATE: Final = {TMP: "tmp", "/var/tmp": "var-tmp"}
_HOMES: Final = ("/home", "/root", "/var/home")
_HOME: Final = re.compile(r"/root(?=/)|(?:/var)?/home/[^/]+(?=/)")
_SOCKETS: Final = ("/run", "/var/run")
#: Of a home what can be made or loaded again, and the variables by which it can be elsewhere.
_CACHES: Final = {".cache": "XDG_CACHE_HOME"}
#: Where no host can be reached, what has been loaded there already is read. Else it is private.
_LOADED: Final = {
    **{".npm": "npm_config_cache", ".gradle": "GRADLE_USER_HOME", "go/pkg/mod": "GOMODCACHE"},
    **{".cargo/registry": "CARGO_HOME", ".cargo/git": "CARGO_HOME", ".m2/repository": ""},
    ".nuget/packages": "NUGET_PACKAGES",
}
_ANY: Final = "x"  # of a folder of which only what is in it is denied
_RESOLVER: Final = "/etc/resolv.conf"
_NOT_WORKSPACES: Final = tuple(
    f"/{name}" for name in ("", *"etc usr var home root bin lib opt proc sys dev run tmp".split())
)
_CONFIGURED: Final = (".config", ".local/share", ".config/systemd/user")  # besides `~/.*`
#: Of a home: what decides what shells, desktops and git start. No folder to work in.
_HOME_KEPT: Final = (".config", ".local", ".local/bin", ".local/share", "bin")


class Workspace(Struct, frozen=True):
    """A workspace as its sandbox sees it. All paths are absolute and resolved.

    `own` are wcore's folders and files; `secrets` where secrets are known to lie outside the
    workspace; `homes` those of others in which programs lie: they are shown; `programs` what must
    not change: folders of PATH and files of programs. What programs leave in private folders stays
    in the folder `scratch`; without one nothing of it stays.
    """

    folder: str
    home: str
    own: Sequence[str]
    secrets: Sequence[str]
    programs: Sequence[str]
    rules: Rules
    homes: Sequence[str] = ()
    scratch: str = ""

    def look(self, *, online: bool = False) -> tuple[Place, Masks]:
        """Look up what is to be mounted and masked now, for what can reach a host or not. Blocks.

        Raises:
            SandboxError: no sandbox can be made here.
        """
        if self.folder in (*_NOT_WORKSPACES, *(f"{self.home}/{name}" for name in _HOME_KEPT)):
            raise SandboxError(
                f"{self.folder} is what programs are made of: work in another folder"
            )
        place = self._place(online=online)
        repository, rules = place.repository, self.rules
        within = masks.masks_of(self.folder, repository, self.home, rules)
        entries = [entry for home in (self.home, *self.homes) for entry in _entries(home)]
        known = [*masks.in_any_case(self.secrets), *filter(rules.is_secret, entries)]
        known += filter(self._is_denied, masks.in_any_case(rules.denied()))
        linked = masks.led_to_from(filter(os.path.isdir, known), self.home, self.folder)
        others = masks.other_views_of_processes()
        outside = [*self.own, *known, *linked, *others, *masks.sockets()]
        hidden = masks.hidden_of(path for path in outside if _is_seen(path, place))
        found = masks.together(within, hidden, self._kept())
        above = next((each for each in found.folders if is_below(self.folder, (each,))), None)
        if above is not None:
            raise SandboxError(f"the workspace lies in {above}, which is hidden from programs")
        return place, found

    def _place(self, *, online: bool) -> Place:
        own = {name: name.replace("/", "-") for name in (*_CACHES, *_LOADED)}
        known = os.listdir(self.scratch) if os.path.isdir(self.scratch) else ()
        caches = [name for name in own if online or name in _CACHES or own[name] in known]
        private = _PRIVATE | {f"{self.home}/{name}": own[name] for name in caches}
        usual = {(_CACHES | _LOADED)[name]: f"{self.home}/{name}" for name in caches}
        emptied = [*_SOCKETS, *(each for each in _HOMES if each not in (self.home, *self.homes))]
        shown = [self.home, *self.homes, *self.programs, os.path.realpath(_RESOLVER)]
        repository = repository_folders(self.folder)
        shown = [path for path in shown if os.path.exists(path)]
        below = (self.folder, *shown, *repository)

        def own_of(path: str) -> str | None:
            # What is mounted below it must not lead through what an earlier program left there.
            is_plain = not any(is_below(each, (path,)) for each in below)
            return f"{self.scratch}/{private[path]}" if self.scratch and is_plain else None

        return Place(
            self.folder,
            {each: own_of(each) for each in _folders(private)},
            {variable: path for variable, path in usual.items() if variable},
            _folders(emptied),
            tuple(dict.fromkeys(shown)),
            repository,
        )

    def _is_denied(self, path: str) -> bool:
        real = masks.real_of(path)
        return any(map(self.rules.is_denied, (real, f"{real}/{_ANY}")))

    def _kept(self) -> Masks:
        """Return what lies in the workspace and is not of the project: we, and a home's own."""
        found = [*self.programs, *(f"{self.home}/{name}" for name in _HOME_KEPT), *self._led_in()]
        inside = [path for path in found if is_below(path, (self.folder,)) and path != self.folder]
        there = [path for path in inside if os.path.exists(path)]
        # What would be hidden, were it there: keys that others may come in with.
        secrets = [path for path in self.secrets if is_below(path, (self.folder,))]
        absent = (path for path in (*inside, *secrets) if not os.path.exists(path))
        return Masks(kept=tuple(there), absent=tuple(absent))

    def _led_in(self) -> list[str]:
        """Return where the home's own configuration leads: it may be kept in the workspace."""
        found: list[str] = []
        for name in ("", *_CONFIGURED):
            entries = _entries(os.path.join(self.home, name))
            dots = [each for each in entries if name or os.path.basename(each).startswith(".")]
            found += [os.path.realpath(each) for each in dots if os.path.islink(each)]
        for config in (".gitconfig", ".config/git/config"):
            found += named_by(f"{self.home}/{config}", self.home)
        return [path for path in found if not is_below(self.folder, (path,))]


def _is_seen(path: str, place: Place) -> bool:
    """Whether what lies there outside is there within; else a mask would be made in its place."""
    unseen = (*place.private, *place.emptied)
    mounts = (*unseen, *place.shown, *place.repository, place.workspace)
    around = (each for each in mounts if is_below(path, (each,)))
    return max(around, key=len, default="") not in unseen


def _folders(paths: Iterable[str]) -> tuple[str, ...]:
    """Return those that are folders and no links, each once."""
    return tuple(path for path in paths if os.path.isdir(path) and not os.path.islink(path))


def _entries(folder: str) -> list[str]:
    return [entry.path for entry in masks.listing(folder, opens=False) or ()]


def homes_of(paths: Iterable[str]) -> list[str]:
    """Return the homes, as they usually are called, in which some of `paths` lie."""
    found = [match[0] for path in paths if (match := _HOME.match(path))]
    return list(dict.fromkeys(found))


def programs(environ: Mapping[str, str], *files: str) -> list[str]:
    """Return what programs are found in or are made of: PATH, this interpreter, and `files`."""
    named = [sys.prefix, sys.base_prefix, *filter(os.path.isabs, sys.path), *files]
    named += [folder for folder in environ.get("PATH", "").split(":") if os.path.isabs(folder)]
    both = [*named, *map(os.path.realpath, named)]
    return list(dict.fromkeys(path for path in both if os.path.exists(path)))
