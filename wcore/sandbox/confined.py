"""One program in a view: what is started in its place, and what became of it.

What bubblewrap is told goes through descriptors, not through its command line, which everybody can
read, and not through its environment, which could change what it does itself.
"""

import json
import os
import signal
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import anyio
from msgspec.structs import replace

from wcore.sandbox import environment, scratch, seccomp
from wcore.sandbox.masks import Masks, SandboxError
from wcore.sandbox.mounts import Place, arguments
from wcore.sandbox.network import Start
from wcore.sandbox.quarantine import Moved
from wcore.sandbox.watch import Watch
from wcore.supervisor.client import Held, Program
from wcore.views import WORKSPACE, SandboxView
from wcore.visible import visible_line
from wcore.vocabulary import Json, Status, ToolOutput

STATUS_BYTES_MAX: Final = 4096  # two short objects
SAID_BYTES_MAX: Final = 4096  # of an attempt: what a person reads to see what is wrong
MOVED_TOLD_MAX: Final = 32  # paths, one by one; what made more of them did not do it by mistake
SIGNAL_EXIT: Final = 128  # bubblewrap tells a death by signal as shells do

_ARGUMENTS, _FILTER, _STATUS = "3", "4", "5"  # descriptors of bubblewrap


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
    if not namespaces:  # only in them may links be mounted
        place = replace(place, git=None)
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
        links = [(f"{place.git.folder}.link", place.git.real)] if place.git else []
        outer = replace(program, argv=(*argv, "--", *program.argv), cwd="/", environ={}, more=more)
        yield Confined(replace(outer, boundary=True, joins=namespaces, links=links), view, pipe)
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
