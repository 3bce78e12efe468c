"""The network of a sandbox: nothing leads out of it but the port of a proxy.

It is made once for all programs of a session: `proxy.py` runs in it for a moment to open the port,
and from then on outside of it, to answer what comes there.
"""

import json
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

import anyio
from msgspec import Struct

from wcore.hosts import agreed
from wcore.sandbox import proxy
from wcore.sandbox.masks import SandboxError
from wcore.supervisor.client import Held, Program

START_S_MAX: Final = 5.0  # of two small programs; 50 ms where the machine is not busy
ANSWER_S_MAX: Final = 2.0  # of the proxy, which does nothing first
_PYTHON: Final = (sys.executable, "-I", "-S", proxy.__file__)
_DESCRIPTORS: Final = 3  # the port, the network, who owns it

Start = Callable[[Program], Awaitable[Held]]


class NetworkGoneError(SandboxError):
    """The proxy does not answer: somebody has killed it."""


class Network(Struct):
    """A network with its proxy. `namespaces` are descriptors, for `Program.joins`."""

    namespaces: tuple[int, ...]
    link: socket.socket
    held: Held

    async def agree(self, hosts: Sequence[str]) -> list[str]:
        """Let only these hosts be reached from now on; return what was refused until now.

        Raises:
            NetworkGoneError: there is no proxy any more.
        """
        with suppress(OSError, ValueError), anyio.move_on_after(ANSWER_S_MAX, shield=True):
            # Shielded: an answer that nobody takes would be that to the next question.
            self.link.sendall(json.dumps([agreed(host) for host in hosts]).encode())
            await anyio.wait_readable(self.link)
            return json.loads(self.link.recv(proxy.MESSAGE_BYTES_MAX))
        raise NetworkGoneError("the proxy of the sandbox was killed: try again")

    def close(self) -> None:
        """End the proxy, and let go of the network."""
        self.link.close()
        self.held.close()
        for each in self.namespaces:
            os.close(each)


async def opened(start: Start, bwrap: str) -> Network:
    """Make a network.

    Raises:
        SandboxError: none can be made.
    """
    try:
        with anyio.fail_after(START_S_MAX):
            listener, net, user = await _listening(start, bwrap)
            try:
                link, held = await _serving(start, listener)
            except BaseException:
                os.close(net)
                os.close(user)
                raise
            finally:
                os.close(listener)
    except (OSError, TimeoutError) as error:
        raise SandboxError(f"the network of the sandbox could not be made: {error}") from error
    if os.geteuid() == 0:  # then nobody else owns it
        os.close(user)
        return Network((net,), link, held)
    return Network((user, net), link, held)


async def _listening(start: Start, bwrap: str) -> list[int]:
    owner = () if os.geteuid() == 0 else ("--unshare-user",)
    argv = (bwrap, *owner, "--unshare-net", "--dev-bind", "/", "/", *_PYTHON, "listen")
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            held = await start(Program(argv, "/", {}, (None, None, None), more=(theirs.fileno(),)))
        try:
            await anyio.wait_readable(ours)
            found = socket.recv_fds(ours, 1, _DESCRIPTORS)[1]
        finally:
            await held.abandon()
    if len(found) != _DESCRIPTORS:
        raise SandboxError(f"{bwrap} makes no network")
    return found


async def _serving(start: Start, listener: int) -> tuple[socket.socket, Held]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)  # noqa: FBT003 - it takes no name
    more = (theirs.fileno(), listener)
    try:
        with theirs:
            argv = (*_PYTHON, "serve")
            return ours, await start(Program(argv, "/", {}, (None, None, None), more=more))
    except BaseException:
        ours.close()
        raise
