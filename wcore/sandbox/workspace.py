"""The sandbox of one workspace: what it is made of, looked up anew for each program."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct

from wcore.sandbox import masks
from wcore.sandbox.masks import Masks, Rules, SandboxError, is_below
from wcore.sandbox.mounts import TMP, Place
from wcore.sandbox.repository import repository_folders

_PRIVATE: Final = (TMP, "/var/tmp")
_HOMES: Final = ("/home", "/root", "/var/home")
_SOCKETS: Final = ("/run", "/var/run")
_CACHE: Final = ".cache"  # what is in it can be made again
_RESOLVER: Final = "/etc/resolv.conf"
_NOT_WORKSPACES: Final = tuple(
    f"/{name}" for name in ("", *"etc usr var home root bin lib opt proc sys dev run tmp".split())
)
#: Of a home: what decides what shells, desktops and git start. No folder to work in.
_HOME_KEPT: Final = (".config", ".local", ".local/bin", ".local/share", "bin")


class Workspace(Struct, frozen=True):
    """A workspace as its sandbox sees it. All paths are absolute and resolved.

    `own` are wcore's folders and files; `secrets` where secrets are known to lie outside the
    workspace; `programs` what must not change: folders of PATH and files of programs.
    """

    folder: str
    home: str
    own: Sequence[str]
    secrets: Sequence[str]
    programs: Sequence[str]
    rules: Rules

    def look(self) -> tuple[Place, Masks]:
        """Look up what is to be mounted and masked now. Blocks.

        Raises:
            SandboxError: no sandbox can be made here.
        """
        if self.folder in (*_NOT_WORKSPACES, *(f"{self.home}/{name}" for name in _HOME_KEPT)):
            raise SandboxError(
                f"{self.folder} is what programs are made of: work in another folder"
            )
        place = self._place()
        repository, rules = place.repository, self.rules
        within = masks.masks_of(self.folder, repository, self.home, rules)
        known = [*masks.in_any_case(self.secrets), *filter(rules.is_secret, _entries(self.home))]
        linked = masks.led_to_from(filter(os.path.isdir, known), self.home, self.folder)
        others = masks.other_views_of_processes()
        hidden = masks.hidden_of([*self.own, *known, *linked, *others])
        sockets = masks.hidden_of(path for path in masks.sockets() if _is_seen(path, place))
        found = masks.together(within, hidden, sockets, self._kept())
        above = next((each for each in found.folders if is_below(self.folder, (each,))), None)
        if above is not None:
            raise SandboxError(f"the workspace lies in {above}, which is hidden from programs")
        return place, found

    def _place(self) -> Place:
        private = [*_PRIVATE, f"{self.home}/{_CACHE}"]
        emptied = [*_SOCKETS, *(each for each in _HOMES if each != self.home)]
        shown = [self.home, *self.programs, os.path.realpath(_RESOLVER)]
        return Place(
            self.folder,
            _folders(private),
            _folders(emptied),
            tuple(dict.fromkeys(path for path in shown if os.path.exists(path))),
            repository_folders(self.folder),
        )

    def _kept(self) -> Masks:
        """Return what lies in the workspace and is not of the project: we, and a home's own."""
        found = [*self.programs, *(f"{self.home}/{name}" for name in _HOME_KEPT)]
        inside = [path for path in found if is_below(path, (self.folder,)) and path != self.folder]
        there = [path for path in inside if os.path.exists(path)]
        return Masks(kept=tuple(there), absent=tuple(path for path in inside if path not in there))


def _is_seen(path: str, place: Place) -> bool:
    shown = (place.workspace, *place.shown)
    return is_below(path, shown) or not is_below(path, (*place.private, *place.emptied))


def _folders(paths: Sequence[str]) -> tuple[str, ...]:
    """Return those that are folders and no links, each once."""
    return tuple(path for path in paths if os.path.isdir(path) and not os.path.islink(path))


def _entries(folder: str) -> list[str]:
    with suppress(OSError):
        return [f"{folder}/{name}" for name in os.listdir(folder)]
    return []


def programs(environ: Mapping[str, str], *files: str) -> list[str]:
    """Return what programs are found in or are made of: PATH, this interpreter, and `files`."""
    named = [sys.prefix, sys.base_prefix, *filter(os.path.isabs, sys.path), *files]
    named += [folder for folder in environ.get("PATH", "").split(":") if os.path.isabs(folder)]
    both = [*named, *map(os.path.realpath, named)]
    return list(dict.fromkeys(path for path in both if os.path.exists(path)))
