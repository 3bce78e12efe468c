"""Runs one text in real bash, alone: a fresh bubblewrap sandbox, strace around bash.

Nothing is carried from one run to the next: the stubs and the workspace are bound read-only, the
rest is a new tmpfs, and what the run leaves behind is one folder of records that is read and
removed. An attempt to write shows in the trace whether or not it succeeds.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .stubs import (
    ENVIRON,
    HANDOVER,
    HANDOVER_PROGRAMS,
    REAL_PROGRAMS,
    STUB,
    STUB_PROGRAMS,
    WORKSPACE_FILES,
    WORKSPACE_PROGRAMS,
)

RUN_SECONDS_MAX: Final = 2.0
CPU_SECONDS_MAX: Final = 3
FILE_BLOCKS_MAX: Final = 128 * 1024  # of 512 bytes
ARGUMENT_BYTES_MAX: Final = 120_000  # one argument over 128 KiB is refused by execve
SHELL: Final = "/o/bin/bash"
MARK: Final = "\x01oracle-1c9f:"  # begins every line of bash's own trace
PROBE_END: Final = "oracle-end-1c9f"
PARTS: Final = ("variables", "functions", "aliases", "options", "disabled", "traps")
TOOLS: Final = ("bash", "dash", "strace", "bwrap")
CALLS: Final = (
    "execve,execveat,open,openat,openat2,creat,connect,chdir,fchdir,clone,clone3,fork,vfork,"
    "mkdir,mkdirat,unlink,unlinkat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,"
    "truncate,mknod,mknodat,chmod,fchmodat"
)

_LIMITED: Final = (
    f'ulimit -t {CPU_SECONDS_MAX}; ulimit -f {FILE_BLOCKS_MAX}; ulimit -c 0; exec "$@"'
)
_PROBE: Final = f"""exec 250>>/o/out/trace 251>>/o/out/state
unset BASH_ENV
trap 'set +x {PROBE_END}; {{ builtin declare -p; builtin echo "@ functions"; builtin declare -F
builtin echo "@ aliases"; builtin alias -p; builtin echo "@ options"; builtin shopt -op
builtin shopt -p; builtin echo "@ disabled"; builtin enable -n; builtin echo "@ traps"
builtin trap -p; builtin echo "@ end"; }} >&251 2>/dev/null' EXIT
PS4='{MARK}'
BASH_XTRACEFD=250
set -x
"""


class OracleUnavailableError(Exception):
    """This machine cannot run the oracle; nothing was proved."""


@dataclass(frozen=True, slots=True)
class Records:
    """What one run left: raw traces, to be read by `traces`."""

    calls: Mapping[int, str]  # strace output by process id
    trace: str  # bash's xtrace
    state: str  # the shell at its end; empty if it did not get there
    errors: str  # standard error
    timed_out: bool


def why_unavailable() -> str | None:
    """Return what keeps the oracle from working here, or None."""
    for tool in TOOLS:
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    try:
        with Sandbox() as sandbox:
            sandbox.run("true")
    except OracleUnavailableError as error:
        return str(error)
    return None


class Sandbox:
    """The read-only parts, made once; `run` starts a new sandbox each time. Thread-safe."""

    def __init__(self, environ: Mapping[str, str] = ENVIRON) -> None:
        self.environ = dict(environ)
        self.folder = Path(tempfile.mkdtemp(prefix="shell-oracle-"))
        self.folder.chmod(0o755)
        self._tools = {tool: os.path.realpath(shutil.which(tool) or "") for tool in TOOLS}
        for tool, path in self._tools.items():
            if not os.path.isfile(path):
                raise OracleUnavailableError(f"{tool} is not installed")
        self._furnish()

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, text: str, pattern: str = "0", *, probed: bool = True) -> Records:
        """Run `text` as the engine does; stubs end with the statuses of `pattern`, in turn.

        `probed` adds bash's own trace and a look at its state. Without it bash is started exactly
        as by the engine, and only the kernel's view remains.

        Raises:
            OracleUnavailableError: the sandbox did not start.
            ValueError: the text cannot be given to a program (NUL, or too long).
        """
        raw = text.encode("utf-8", "surrogateescape")
        if b"\0" in raw or len(raw) > ARGUMENT_BYTES_MAX:
            raise ValueError("no program can be given this text as an argument")
        with tempfile.TemporaryDirectory(prefix="run-", dir=self.folder) as work:
            out = Path(work)
            out.chmod(0o777)
            command = [
                *self._wrapped(out, pattern, probed),
                "--noprofile",
                "--norc",
                "-c",
                "--",
                raw,
            ]
            return self._records(out, command)

    def _records(self, out: Path, command: list[str | bytes]) -> Records:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={},
        )
        timed_out = False
        try:
            _, errors = process.communicate(timeout=RUN_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            timed_out = True
            process.kill()
            _, errors = process.communicate()
        calls = {int(path.suffix[1:]): _text(path) for path in out.glob("calls.*")}
        said = errors.decode("utf-8", "surrogateescape")
        if not any(f"execve({_hex(SHELL)}" in text for text in calls.values()):
            raise OracleUnavailableError(f"the sandbox did not start: {said.strip()[:300]}")
        return Records(calls, _text(out / "trace"), _text(out / "state"), said, timed_out)

    def _wrapped(self, out: Path, pattern: str, probed: bool) -> list[str | bytes]:
        box = self.folder / f"box-{pattern}"
        words = [self._tools["bwrap"], "--unshare-all", "--die-with-parent", "--new-session"]
        words += ["--uid", "1000", "--gid", "1000", "--clearenv", "--proc", "/proc"]
        words += ["--dev", "/dev", "--tmpfs", "/tmp", "--bind", str(out), "/o/out"]
        for folder in ("/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/libexec"):
            if os.path.isdir(folder):
                words += ["--ro-bind", folder, folder]
        words += ["--ro-bind", str(self.folder / "stub"), "/stub"]
        words += ["--ro-bind", str(self.folder / "workspace"), "/home/u/ws"]
        words += ["--ro-bind", str(box), "/o/box"]
        words += ["--ro-bind", str(self.folder / "bin"), "/o/bin"]
        words += ["--chdir", "/home/u/ws", "/o/bin/dash", "-c", _LIMITED, "limited"]
        words += ["/o/bin/strace", "-ff", "--seccomp-bpf", "-qq", "-v", "-xx", "-s", "4096"]
        words += ["-e", f"trace={CALLS}", "-e", "signal=none", "-o", "/o/out/calls"]
        environ = {**self.environ, "BASH_ENV": "/o/box/probe"} if probed else self.environ
        for name, value in environ.items():
            words += ["-E", f"{name}={value}"]  # dash would lose names that it cannot write
        return [*words, SHELL]

    def _furnish(self) -> None:
        stub = self.folder / "stub"
        for name in STUB_PROGRAMS:
            _program(stub / name, STUB)
        for name in HANDOVER_PROGRAMS:
            _program(stub / name, HANDOVER)
        for name in REAL_PROGRAMS:
            if path := shutil.which(name):
                shutil.copy(path, stub / name)
        (self.folder / "bin").mkdir()
        for tool in ("bash", "dash", "strace"):
            shutil.copy(self._tools[tool], self.folder / "bin" / tool)
        workspace = self.folder / "workspace"
        for name, content in WORKSPACE_FILES.items():
            (workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (workspace / name).write_text(content)
        for name in WORKSPACE_PROGRAMS:
            _program(workspace / name, STUB)
        for pattern in ("0", "1", "01", "10", "001", "110"):
            box = self.folder / f"box-{pattern}"
            box.mkdir()
            (box / "pattern").write_text(pattern + "\n")
            (box / "probe").write_text(_PROBE)


def _program(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(0o755)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""


def _hex(text: str) -> str:
    return '"' + "".join(f"\\x{byte:02x}" for byte in text.encode()) + '"'
