"""What tries to get out of a sandbox: `wcore sandbox check`, and the suite that tests it.

Each is a script that exits with 0 if it got out. All are harmless: what they reach for is planted
in a temporary folder, and what they would break is only opened.
"""

import os
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from anyio import to_thread
from msgspec import Struct

from wcore.sandbox import quarantine
from wcore.sandbox.confined import attempt
from wcore.sandbox.network import Start
from wcore.sandbox.proxy import PORT
from wcore.sandbox.workspace import Workspace
from wcore.supervisor.client import Program

TRY_S_MAX: Final = 10.0  # of one script; each takes milliseconds
_UNTRIED: Final = (126, 127)  # a program of the script is not there

#: Reaches the kernel if the answer is none of a filter: EPERM, ENOSYS.
_CALL: Final = """
import ctypes, os, platform, sys
numbers = {"x86_64": %s, "aarch64": %s}[platform.machine()]
call = ctypes.CDLL(None, use_errno=True).syscall
call.argtypes = [ctypes.c_long] * 6
def gets_through(number):
    return call(number, %s, 0, 0, 0, 0) >= 0 or ctypes.get_errno() not in (1, 38)
found = [number for number in numbers if gets_through(number)]
print(found)
sys.exit(not found)
"""


def _call(x86_64: Sequence[int], aarch64: Sequence[int], first: int = -1) -> str:
    return f"exec $PYTHON -I -c {_quoted(_CALL % (list(x86_64), list(aarch64), first))}"


def _python(code: str) -> str:
    return f"exec $PYTHON -I -c {_quoted(code)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_ASKING: Final = (
    f"exec 3<>/dev/tcp/127.0.0.1/{PORT} && printf 'CONNECT 127.0.0.1:%s HTTP/1.1\\r\\n\\r\\n' $PORT"
    " >&3 && read -r line <&3 && [[ $line == *' 200 '* ]]"
)
_NEWER: Final = (*range(425, 434), 435, 442)

#: By what they try. `$OUTSIDE` is a folder beside the workspace, `$OWN` one of wcore's.
ESCAPES: Final[Mapping[str, str]] = {
    "write beside the workspace": 'echo x >"$OUTSIDE/new"',
    "write beside it through a link": 'ln -s "$OUTSIDE/file" way && echo x >way',
    "write in the home": 'echo x >"$HOME/new"',
    "write where programs are": 'touch "$(dirname "$(realpath "$PYTHON")")/x"',
    "write in /etc": "touch /etc/wcore-sandbox-check",
    "read a hidden file": "grep planted .env",
    "read it by another link": "ln -s .env way && grep planted way",
    "read it by a hard link": "ln .env way && grep planted way",
    "move it away": "mv .env way && grep planted way",
    "move its folder away": "mv deep way",
    "replace it": "rm -f .env && echo new >.env",
    "read what the rules deny": "grep planted denied.txt",
    "read a key of the home": 'grep planted "$HOME/.ssh/id_ed25519"',
    "read what the system hides": "cat /etc/shadow",
    "read wcore's own files": 'grep planted "$OWN/policy.toml"',
    "write wcore's own files": 'mkdir -p "$OWN" && echo x >"$OWN/policy.toml"',
    "write the project's rules": "echo x >.wcore/policy.toml",
    "write the hooks of git": "echo x >.git/hooks/post-commit",
    "write the configuration of git": "echo x >.git/config",
    "replace the repository": "mv .git way && mkdir .git && echo x >.git/config",
    "write what an editor runs": "echo x >.vscode/tasks.json",
    "undo a mask": "umount .env && grep planted .env",
    "undo it by the system call": _call((166,), (39,), 0),
    "mount anew": "mount -o remount,rw / || mount --bind . /mnt",
    "make a namespace": "unshare --user --map-root-user true || unshare --mount true",
    "make one by clone": _python(
        "import ctypes, os, platform, signal\n"
        "number = {'x86_64': 56, 'aarch64': 220}[platform.machine()]\n"
        "call = ctypes.CDLL(None, use_errno=True).syscall\n"
        "found = call(number, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)\n"
        "os._exit(0 if found >= 0 else 1)"
    ),
    "enter a namespace": _call((308,), (268,)),
    "mount by newer system calls": _call(_NEWER, _NEWER),
    "use keys, filters and counters of the kernel": _call(
        (248, 249, 250, 321, 298, 323), (217, 218, 219, 280, 241, 282)
    ),
    "open files by handle": _call((303, 304), (264, 265)),
    "type into a terminal": _python(
        "import fcntl, os, pty\n"
        "pid, terminal = pty.fork()\n"
        "if not pid:\n"
        "    try: fcntl.ioctl(0, 0x5412, b'x')\n"
        "    except OSError as error: os._exit(error.errno == 1)\n"
        "    os._exit(0)\n"
        "os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    ),
    "gain rights by a program": "[ $(grep -c 'NoNewPrivs:\t1' /proc/self/status) = 0 ]",
    "have rights over the machine": (
        "(( 16#$(sed -n 's/CapEff:\t//p' /proc/self/status) & ~16#b ))"  # CHOWN, DAC, FOWNER
    ),
    "set what the kernel starts": (
        "for f in core_pattern modprobe sysrq; do [ -w /proc/sys/kernel/$f ] && exit 0; done;"
        " : >>/proc/sys/kernel/core_pattern"
    ),
    "reach the machine by /proc": (
        "for f in /proc/sysrq-trigger /proc/irq/default_smp_affinity /proc/acpi/wakeup;"
        " do : >>$f && exit 0; done 2>/dev/null; exit 1"
    ),
    "make a device": "mknod zero c 1 5 && head -c 1 zero",
    "see programs outside": "[ $(tr '\\0' ' ' </proc/1/cmdline | grep -c '^[^ ]*bwrap ') = 0 ]",
    "reach the root of another": (
        "for f in /proc/[0-9]*/root; do [ -e $f$BESIDE ] && exit 0; done; exit 1"
    ),
    "see secrets in the environment": "printenv PLANTED_TOKEN || printenv SSH_AUTH_SOCK",
    "use descriptors that were left open": (
        "exec 3>&- 3<&-; for f in /proc/self/fd/*; do [ ${f##*/} -gt 3 ] && [ -e $f ] && exit 0;"
        " done; exit 1"
    ),
    "connect to a socket with a path": _python(
        "import os, socket\nsocket.socket(socket.AF_UNIX).connect(os.environ['SOCKET'])"
    ),
    "connect to one without a path": _python(
        "import os, socket\nsocket.socket(socket.AF_UNIX).connect('\\0' + os.environ['ABSTRACT'])"
    ),
    "reach the host of a virtual machine": _python(
        "import socket\nsocket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)"
    ),
    "connect to this machine": "exec 3<>/dev/tcp/127.0.0.1/$PORT",
    "connect to it by the proxy": _ASKING,
    "send something to another": _python(
        "import socket\nsocket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))"
    ),
}

#: Those that are seen afterwards: what is left in the workspace, or goes on.
LEFTOVERS: Final[Mapping[str, str]] = {
    "leave rules for wcore": "mkdir -p sub/.wcore && echo x >sub/.wcore/policy.toml",
    "leave a hook of git": "rm -rf .git/hooks; mkdir -p new/.git/hooks && echo x >new/.git/hooks/a",
    "leave configuration of git": (
        "mkdir -p new/.git && printf '[core]\\n\\tfsmonitor = x\\n' >new/.git/config"
    ),
    "leave a repository in the open": (
        "mkdir -p objects refs && echo 'ref: refs/heads/x' >HEAD"
        " && printf '[core]\\n\\tfsmonitor = x\\n' >config"
    ),
    "hide it in a closed folder": "mkdir -p a/.vscode && echo x >a/.vscode/x && chmod 311 a",
    "keep it in a fixed folder": "mkdir -p a/.vscode && echo x >a/.vscode/x && chmod 555 a",
    "keep it as a fixed folder": "mkdir .zed && echo x >.zed/tasks.json && chmod 500 .zed",
    "lead git elsewhere": "echo ../elsewhere >.git/commondir",
    "leave what an editor runs": "mkdir -p sub/.vscode && echo x >sub/.vscode/tasks.json",
    "lead an editor elsewhere": "rm .idea; mkdir elsewhere; ln -s elsewhere .idea",
}


class Tried(Struct, frozen=True):
    """One try: whether it was held; if not, what it said."""

    name: str
    held: bool
    said: str = ""


class Planted(Struct, frozen=True):
    """What was planted to be reached for."""

    workspace: str
    home: str
    own: str
    environ: dict[str, str]


def plant(stack: ExitStack) -> Planted:
    """Plant what the scripts reach for; the stack removes it. Blocks."""
    base = Path(os.path.realpath(tempfile.mkdtemp(prefix="wcore-sandbox-")))
    stack.callback(shutil.rmtree, base, ignore_errors=True)
    home = base / "home"
    ws, outside, own = (home / name for name in ("ws", "outside", ".config/wcore"))
    for path in (
        *(ws / ".env", ws / "deep/er/.env", ws / "denied.txt", ws / ".wcore/policy.toml"),
        *(ws / ".git/config", ws / ".git/hooks/x.sample", ws / ".vscode/tasks.json"),
        *(home / ".ssh/id_ed25519", outside / "file", own / "policy.toml", ws / "idea/x"),
        base / "beside",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("planted\n")
    (ws / ".idea").symlink_to("idea")
    path, abstract, port = str(outside / "socket"), f"wcore-sandbox-{secrets.token_hex(4)}", 0
    addresses = [path, f"\0{abstract}", ("127.0.0.1", 0)]
    for address in addresses:
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        listener = stack.enter_context(socket.socket(family))
        listener.bind(address)
        listener.listen()
        port = 0 if family == socket.AF_UNIX else listener.getsockname()[1]
    environ = {
        **{"HOME": str(home), "OUTSIDE": str(outside), "OWN": str(own), "PYTHON": sys.executable},
        **{"BESIDE": str(base / "beside"), "SOCKET": path, "ABSTRACT": abstract, "PORT": str(port)},
        **{"PATH": os.defpath, "PLANTED_TOKEN": "x", "SSH_AUTH_SOCK": path},
    }
    return Planted(str(ws), str(home), str(own), environ)


def is_denied(path: str) -> bool:
    """Whether the rules of the place deny to read a path."""
    return path.endswith("/denied.txt")


async def check(
    start: Start,
    bwrap: str,
    shell: str,
    workspace_of: Callable[[Planted], Workspace],
    namespaces: Sequence[int],
    names: Collection[str] | None = None,
) -> list[Tried]:
    """Try all, or what `names` says, in a workspace of its own; return what came of it.

    Raises:
        SandboxError: there is no sandbox here.
    """
    tried: list[Tried] = []
    for name, script in (*ESCAPES.items(), *LEFTOVERS.items()):
        if names is None or name in names:
            with ExitStack() as stack:
                planted = await to_thread.run_sync(plant, stack)
                workspace = workspace_of(planted)
                one = _Try(start, bwrap, shell, planted, workspace, namespaces)
                tried.append(await one.run(name, script))
    return tried


class _Try(Struct, frozen=True):
    start: Start
    bwrap: str
    shell: str
    planted: Planted
    workspace: Workspace
    namespaces: Sequence[int]

    async def run(self, name: str, script: str) -> Tried:
        """Run one script in the sandbox, and look at what it left."""
        place, masks = self.workspace.look()
        folders, rules = (place.workspace, place.repository), self.workspace.rules
        argv, environ = (self.shell, "-c", script), self.planted.environ
        program = Program(argv, "/", environ, (None, None, None), limit_s=TRY_S_MAX)
        where = place, masks
        code, said = await attempt(self.start, self.bwrap, program, where, self.namespaces)
        to = f"{self.planted.home}/quarantine/{secrets.token_hex(4)}"
        moved, _ = quarantine.take_away(masks, *folders, rules, to)
        if code is None or code in _UNTRIED:
            return Tried(name, held=False, said=f"it could not be tried: {said}")
        is_held = bool(moved) if name in LEFTOVERS else code != 0
        return Tried(name, is_held, "" if is_held else said)
