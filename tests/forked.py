"""Engines and hosts that start in a third of the time: forked where their code is loaded already.

Most of what a short conversation costs is the start of Python and its imports. So the first of our
programs that a test starts waits for a *nursery*: a process with one thread that imports it all.
`python -m wcore` is not executed but forked from that, with the arguments, folder, environment,
descriptors and session that it would have got, and as a child of who started it: he cannot tell.
All else is executed: other programs, options of Python, users; and all programs of tests marked
`real`, whose subject is the start itself or what others see of a process, of a night, and of the
other Pythons of CI.

    with installed():  # `subprocess`, and with it asyncio and anyio, fork these programs
        ...
"""

import atexit
import fcntl
import gc
import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Final, TextIO, TypeAlias, cast

TESTS: Final = Path(__file__).parent
NAME: Final = "_fork_exec"  # of the one function by which `subprocess` starts a program
NURSERY_LINK: Final = 3
LOADED: Final = b"!"
LENGTH_BYTES: Final = 8
DESCRIPTORS_MAX: Final = 100  # the kernel sends 253 at once
#: linux/prctl.h: who becomes the parent of those whose parent has ended.
SET_SUBREAPER: Final = 36
GET_SUBREAPER: Final = 37
POLL_S: Final = 0.0005
#: Programs that are forked: modules, and files of the tests.
PROGRAMS: Final = {
    *("wcore", "wcore_host.acp", "wcore_host.chat", "wcore_host.web"),
    *(str(TESTS / "crash" / "dying.py"), str(TESTS / "conformance" / "mutants.py")),
    str(TESTS / "mcp" / "restartable.py"),
}
#: Those of them that start others, as `wcore conformance` does: they have one child and one
#: descriptor more.
PARENTS: Final = PROGRAMS - {
    *("wcore", str(TESTS / "crash" / "dying.py"), str(TESTS / "mcp" / "restartable.py")),
}
#: What Python and its library read of the environment before any line of ours.
READ_AT_START: Final = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_")
#: What our modules import only when they need it.
LIBRARIES: Final = (
    *("bashlex", "mcp", "httpcore2", "trio", "anyio._backends._asyncio", "anyio.from_thread"),
    *("ctypes", "encodings.ascii", "sqlite3", "tomllib", "difflib", "uvicorn", "textual.app"),
)

ForkExec: TypeAlias = Callable[..., int]


@contextmanager
def installed() -> Generator[None]:
    """Fork these programs for a while; where that is not Linux, all is executed as ever."""
    if sys.platform != "linux":
        yield
        return
    forking = Forking(dict(os.environ), execute_nursery)
    forking.install()
    try:
        yield
    finally:
        forking.remove()


class Forking:
    """In place of what forks and executes a program for `subprocess`."""

    is_on: ClassVar = True

    def __init__(self, environ: dict[str, str], start: Callable[[socket.socket], int]) -> None:
        self._environ = environ  # of the nursery
        self._start = start
        self._execute: ForkExec = getattr(subprocess, NAME)
        self._owner = os.getpid()  # what the nursery forks would be no child of a child of ours
        self._lock = threading.Lock()
        self._nursery: Nursery | None = None

    def install(self) -> None:
        """Be called from now on."""
        setattr(subprocess, NAME, self)

    def remove(self) -> None:
        """Leave it as it was. Programs that were forked live on."""
        setattr(subprocess, NAME, self._execute)
        if self._nursery:
            self._nursery.close()

    def load(self) -> None:
        """Have a nursery that has imported it all."""
        with self._lock:
            self._nursery = self._nursery or Nursery(self._start)

    def __call__(self, args: Sequence[Any], executables: Any, *more: Any) -> int:
        """Take what `subprocess` knows of a program, return a process id."""
        _, kept, cwd, env, read, _, _, write, _, error, _, errors, _, session, *special = more
        words = [*map(os.fsdecode, args)]
        environ = _read(env)
        folder = os.fsdecode(cwd or os.getcwd())
        if (
            not Forking.is_on
            or self._owner != os.getpid()
            or program_of(words) not in PROGRAMS
            or read_at_start(environ) != read_at_start(self._environ)
            or special[:5] != [-1, None, None, None, -1]  # group, users, mask
            or special[5] is not None  # a function to be called
            or not os.path.isdir(folder)
        ):
            return self._execute(args, executables, *more)
        ends = {std: end if end >= 0 else std for std, end in enumerate((read, write, error))}
        ends.update((each, each) for each in kept if each != errors)
        request = (words, folder, environ, bool(session), [*ends])
        self.load()
        with self._lock:
            assert self._nursery
            return self._nursery.fork(request, [*ends.values()])


class Nursery:
    """A process that imports what engines need, and then forks them for us."""

    def __init__(self, start: Callable[[socket.socket], int]) -> None:
        self._link, theirs = socket.socketpair()
        with theirs:
            self._pid = start(theirs)
        _exactly(self._link, len(LOADED))

    def fork(self, request: object, descriptors: list[int]) -> int:
        """Start what is asked for, as our child; return its process id."""
        data = json.dumps(request).encode()
        with _adopting():
            socket.send_fds(self._link, [len(data).to_bytes(LENGTH_BYTES, "big")], descriptors)
            self._link.sendall(data)
            return int.from_bytes(_exactly(self._link, LENGTH_BYTES), "big")

    def close(self) -> None:
        """End it."""
        self._link.close()
        os.waitpid(self._pid, 0)


def execute_nursery(link: socket.socket) -> int:
    """Start one from nothing; return its process id."""
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", __file__, str(NURSERY_LINK)],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, link.fileno(), NURSERY_LINK),
        ],
    )


def program_of(words: Sequence[str]) -> str:
    """Return the module or file that this Python is to run, if that is all that it is told."""
    if words[0] != sys.executable:
        return ""
    rest = words[2 if words[1:2] == ["-P"] else 1 :]
    named = rest[1:2] if rest[:1] == ["-m"] else rest[:1]
    return named[0] if named else ""


def _read(env: Sequence[bytes] | None) -> dict[str, str]:
    if env is None:
        return dict(os.environ)
    return dict(os.fsdecode(each).split("=", 1) for each in env)


def read_at_start(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what a program cannot be told later."""
    return {name: value for name, value in environ.items() if name.startswith(READ_AT_START)}


@contextmanager
def _adopting() -> Generator[None]:
    """Be the parent of those below us whose own parent ends."""
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    before = ctypes.c_int()
    prctl(GET_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    prctl(SET_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(SET_SUBREAPER, before.value, 0, 0, 0)


def _exactly(link: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        if not (more := link.recv(length - len(data))):
            raise EOFError("the nursery has ended")
        data += more
    return data


# --- in the nursery -------------------------------------------------------------------------------


def main() -> None:
    """Import what engines need, then fork one for each request."""
    for module in (*LIBRARIES, *_below("wcore"), *_below("wcore_host")):
        with suppress(ImportError):  # of an extra that is not installed
            importlib.import_module(module)
    _warm()
    gc.collect()
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))


def _warm() -> None:
    """Build what pydantic leaves to the first use: in a short conversation, a quarter of it."""
    from pydantic import BaseModel

    from wcore.protocol import codec
    from wcore.tools.arguments import Arguments, schema_of

    for _ in codec.warm():
        pass
    for model in _kinds_of(BaseModel):
        if model.__module__.startswith("wcore."):
            model.model_rebuild()
    for arguments in _kinds_of(Arguments):
        schema_of(arguments)


def _kinds_of(model: Any) -> Generator[Any]:
    for kind in model.__subclasses__():
        yield kind
        yield from _kinds_of(kind)


def _below(package: str) -> list[str]:
    """Return a package and all modules below it."""
    folder = Path(importlib.import_module(package).__path__[0])
    files = [each for each in folder.rglob("*.py") if each.name != "__main__.py"]
    modules = [
        each.parent if each.name == "__init__.py" else each.with_suffix("") for each in files
    ]
    return sorted(".".join(each.relative_to(folder.parent).parts) for each in modules)


def _serve(link: socket.socket) -> None:
    with suppress(BrokenPipeError):  # the worker may have ended meanwhile
        link.sendall(LOADED)
    while True:
        length, descriptors, _, _ = socket.recv_fds(link, LENGTH_BYTES, DESCRIPTORS_MAX)
        if not length:
            return
        request = json.loads(_exactly(link, int.from_bytes(length, "big")))
        link.sendall(_fork(request, descriptors).to_bytes(LENGTH_BYTES, "big"))
        for each in descriptors:
            os.close(each)


def _fork(request: list[Any], descriptors: list[int]) -> int:
    """Fork an engine; return its id. Its parent has ended by then: it is of who adopts."""
    ours, theirs = os.pipe()
    if between := os.fork():
        os.close(theirs)
        pid = int(os.read(ours, LENGTH_BYTES))
        os.close(ours)
        os.waitpid(between, 0)
        return pid
    between = os.getpid()
    if pid := os.fork():
        os.write(theirs, str(pid).encode())
        os._exit(0)
    code = 1
    try:
        while os.getppid() == between:
            time.sleep(POLL_S)
        _become(request, descriptors)
        code = 0
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 0 if done.code is None else 1
    except BaseException:  # noqa: BLE001 - never back into the nursery
        traceback.print_exc()
    finally:
        threading._shutdown()  # type: ignore[attr-defined] - what Python does at its end
        atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def _become(request: list[Any], descriptors: list[int]) -> None:
    """Be what Python would be that was executed with these words."""
    words, folder, environ, is_session, numbers = request
    if is_session:
        os.setsid()
    _arrange(dict(zip(numbers, descriptors, strict=True)))
    os.chdir(folder)
    program = program_of(words)
    if program in PARENTS or "conformance" in words:
        forking = Forking(dict(os.environ), _fork_nursery)
        forking.install()
        forking.load()  # now, as one thread
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    sys.stdin, sys.stdout, sys.stderr = map(_reopened, (sys.stdin, sys.stdout, sys.stderr))
    sys.orig_argv, sys.argv = words, words[words.index(program) :]
    is_module = words[words.index(program) - 1] == "-m"
    if words[1] != "-P":
        sys.path.insert(0, folder if is_module else os.path.dirname(program))
    if is_module:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(program, run_name="__main__")


def _fork_nursery(link: socket.socket) -> int:
    """Leave a copy of ourselves below us: only what comes from below us can be our child."""
    if pid := os.fork():
        return pid
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        _arrange({0: null, 1: null, 2: null, NURSERY_LINK: link.fileno()})
        _serve(socket.socket(fileno=NURSERY_LINK))
    finally:
        os._exit(0)


def _arrange(descriptors: dict[int, int]) -> None:
    """Give descriptors the numbers that they are to have, and close all others."""
    free = max(descriptors) + 1
    apart = {number: fcntl.fcntl(each, fcntl.F_DUPFD, free) for number, each in descriptors.items()}
    for number, each in apart.items():
        os.dup2(each, number)
    ends = sorted(descriptors)
    for number, following in pairwise([*ends, os.sysconf("SC_OPEN_MAX")]):
        os.closerange(number + 1, following)


def _reopened(stream: TextIO) -> TextIO:
    """Return what Python makes of a descriptor at its start; buffers are not for two."""
    number, mode, encoding, errors = stream.fileno(), stream.mode, stream.encoding, stream.errors
    return cast("TextIO", open(number, mode, encoding=encoding, errors=errors, closefd=False))


if __name__ == "__main__":
    main()
