"""The way out of a sandbox: a proxy of HTTP that passes on to agreed hosts, and to nobody else.

A program of two parts, started by `network.py` as `python -I -S proxy.py PART`: it imports nothing
of wcore, so it is there in milliseconds. `listen` runs in the network of the sandbox, opens the
port there and hands it out; `serve` runs outside of it and answers what comes to that port. It is
told, as JSON, what is agreed to from now on (`[["pypi.org", [80, 443]], ["10.1.0.0/16", []]]`, see
`wcore/hosts.py`), and answers with the hosts that it has refused since the last time. All
connections end then.

Where a name leads is looked up once, here, and only for agreed hosts. What it leads to must be an
address that everybody can reach, or lie in a network that was agreed to as such (`10.1.0.0/16`):
else a name could lead to this machine, or to what trusts it.
"""

import ipaddress
import json
import os
import re
import select
import socket
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlsplit

PORT = 3128  # where proxies are found; in a network of its own nothing else is there
MESSAGE_BYTES_MAX = 128 * 1024  # of the engine's: as many hosts as can be agreed to
REFUSED_MAX = 64  # told of at once
HEAD_BYTES_MAX = 32 * 1024  # of a request, as servers take them
CONNECTIONS_MAX = 256  # at a time, each with two threads; npm opens some fifteen
HEAD_S_MAX = 10.0  # until a request is there
CONNECT_S_MAX = 10.0  # to one address of a host
PIECE_BYTES = 64 * 1024  # of what is passed on: what a pipe of the kernel holds
_STACK_BYTES = 256 * 1024  # of a thread
_REQUEST = re.compile(rb"([A-Z]{1,16}) ([\x21-\x7e]{1,8192}) HTTP/1\.[01]")
_FOR_US = re.compile(rb"(?:proxy-[a-z-]+|connection|keep-alive|host|te|upgrade)[ \t]*:", re.I)
_SPECIAL = [
    ipaddress.ip_network(each)  # of protocols, and where clouds tell a machine about itself
    for each in ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32")
]
_UNICAST = ipaddress.ip_network("2000::/3")  # what has been given out of IPv6
_NAT64 = ipaddress.ip_network("64:ff9b::/96")

Agreed = tuple[str, Sequence[int]]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Hosts:
    """What was agreed to: names and networks, each with its ports; none: every port."""

    def __init__(self, agreed: list[Agreed]) -> None:
        networks = [(_network(name), ports) for name, ports in agreed]
        self._networks = [(network, ports) for network, ports in networks if network is not None]
        self._names = [(name, ports) for name, ports in agreed if _network(name) is None]

    def have(self, host: str, port: int) -> bool:
        """Whether a program may connect to a host, given by its name or its address."""
        address = _address(host)
        if address is not None:
            behind = _behind(address)
            ports_of = [ports for network, ports in self._networks if behind in network]
            if any(not ports or port in ports for ports in ports_of):
                return True
        return any(
            (not ports or port in ports)
            and (host.endswith(name) if name[:1] in ("", ".") else host == name)
            for name, ports in self._names
        )

    def may_lead_to(self, address: Address) -> bool:
        """Whether this is where an agreed name may lead."""
        real = _behind(address)
        is_one = real.version == 4 or real in _UNICAST
        is_public = is_one and real.is_global and not real.is_multicast and not real.is_reserved
        is_public = is_public and not any(real in network for network in _SPECIAL)
        return is_public or any(real in network for network, _ in self._networks)


def _network(text: str) -> "Network | None":
    with suppress(ValueError):
        return ipaddress.ip_network(text)
    return None


def _address(text: str) -> "Address | None":
    with suppress(ValueError):
        return ipaddress.ip_address(text)
    return None


def _behind(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address stands for, if it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    found = address.ipv4_mapped or address.sixtofour
    return found or (address.teredo[1] if address.teredo else address)


class RefusedError(Exception):
    """What the client is told instead of an answer; `status` is that of HTTP."""

    def __init__(self, status: str, told: str) -> None:
        super().__init__(told)
        self.status = status


def asked(head: bytes) -> "tuple[str, int, bytes]":
    """Return host and port of a request, and what is to be sent there; of a CONNECT nothing.

    Raises:
        RefusedError: it is no request to a proxy.
    """
    first, *rest = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    request = _REQUEST.fullmatch(first)
    if request is None:
        raise RefusedError("400 Bad Request", "this is a proxy of HTTP, and that was no request")
    method, target = request[1], request[2].decode()
    is_tunnel = method == b"CONNECT"
    wrong = RefusedError("400 Bad Request", f"this is a proxy: {target} names no host")
    try:
        parts = urlsplit(f"//{target}" if is_tunnel else target)
        host, port = (parts.hostname or "").rstrip("."), parts.port or (0 if is_tunnel else 80)
    except ValueError as error:
        raise wrong from error
    if not host or not port or (not is_tunnel and parts.scheme != "http"):
        raise wrong
    if is_tunnel:
        return host, port, b""
    place = f"[{host}]" if ":" in host else host
    path = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
    lines = [
        b"%s %s HTTP/1.1" % (method, path.encode()),
        b"Host: " + (place if port == 80 else f"{place}:{port}").encode(),
        *(line for line in rest if not _FOR_US.match(line)),
        b"Connection: close",  # the next request may be for another host
    ]
    return host, port, b"\r\n".join(lines) + b"\r\n\r\n"


class Proxy:
    """Answers what comes to a port; each connection in a thread of its own."""

    def __init__(self, listener: socket.socket) -> None:
        listener.setblocking(False)  # noqa: FBT003 - it takes no name
        self._listener = listener
        self._hosts = Hosts([])
        self._refused: dict[str, None] = {}
        self._open: dict[socket.socket, socket.socket | None] = {}  # clients, and their servers
        self._guard = threading.Lock()

    def agree(self, agreed: list[Agreed]) -> list[str]:
        """Let only this be reached from now on; return what was refused until now.

        What has come by now is not answered: it came from a program that is over.
        """
        while client := self._next():
            client.close()
        with self._guard:
            refused, self._refused = list(self._refused), {}
            self._hosts = Hosts(agreed)
            for each in (*self._open.keys(), *filter(None, self._open.values())):
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
        return refused

    def accept(self) -> None:
        """Answer one connection, if there is one."""
        client = self._next()
        if client is None:
            return
        with self._guard:
            is_full = len(self._open) >= CONNECTIONS_MAX
            if not is_full:
                self._open[client] = None
        if is_full:
            client.close()
        else:
            threading.Thread(target=self._served, args=(client, self._hosts), daemon=True).start()

    def _next(self) -> "socket.socket | None":
        with suppress(OSError):
            return self._listener.accept()[0]
        return None

    def _served(self, client: socket.socket, hosts: Hosts) -> None:
        try:
            with client, suppress(OSError):
                self._answer(client, hosts)
        finally:
            with self._guard:
                del self._open[client]

    def _answer(self, client: socket.socket, hosts: Hosts) -> None:
        client.settimeout(HEAD_S_MAX)
        try:
            head, more = _read_head(client)
            host, port, request = asked(head)
            server = self._connected(hosts, host, port)
        except RefusedError as error:
            text = f"wcore: {error}\n".encode()
            said = f"HTTP/1.1 {error.status}\r\nContent-Type: text/plain\r\nConnection: close\r\n"
            client.sendall(f"{said}Content-Length: {len(text)}\r\n\r\n".encode() + text)
            return
        with server:
            with self._guard:
                if hosts is not self._hosts:
                    return  # another program's turn has begun
                self._open[client] = server
            if request:
                server.sendall(request + more)
            else:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                server.sendall(more)
            for each in (client, server):
                each.settimeout(None)  # the program ends, and with it its connections
            back = threading.Thread(target=_passed_on, args=(server, client), daemon=True)
            back.start()
            _passed_on(client, server)
            back.join()

    def _connected(self, hosts: Hosts, host: str, port: int) -> socket.socket:
        name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if not hosts.have(host, port):
            self._note(name)
            raise RefusedError("403 Forbidden", f"{name} is none of the hosts that were agreed to")
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise RefusedError("502 Bad Gateway", f"{host} was not found: {error}") from error
        names = [str(place[0]) for *_, place in found]
        places = [name for name in names if hosts.may_lead_to(ipaddress.ip_address(name))]
        if not places:
            self._note(name)
            told = f"{host} leads into a private network, which was not agreed to"
            raise RefusedError("403 Forbidden", told)
        problem = ""
        for place in places:
            try:
                return socket.create_connection((place, port), CONNECT_S_MAX)
            except OSError as error:
                problem = error.strerror or str(error)
        raise RefusedError("502 Bad Gateway", f"{name} was not reached: {problem}")

    def _note(self, name: str) -> None:
        with self._guard:
            if len(self._refused) < REFUSED_MAX:
                self._refused[name] = None


def _read_head(client: socket.socket) -> "tuple[bytes, bytes]":
    """Return the head of a request, and what came behind it."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = client.recv(PIECE_BYTES)
        data += piece
        if not piece or len(data) > HEAD_BYTES_MAX:
            raise RefusedError("400 Bad Request", "the head of the request is not as it should be")
    head, end, more = data.partition(b"\r\n\r\n")
    return head + end, more


def _passed_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(PIECE_BYTES):
            target.sendall(piece)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def listen(link: socket.socket) -> None:
    """Open the port here, and hand it out with the namespaces of the network and its owner."""
    listener = socket.create_server(("127.0.0.1", PORT), backlog=CONNECTIONS_MAX)
    namespaces = [os.open(f"/proc/self/ns/{name}", os.O_RDONLY) for name in ("net", "user")]
    socket.send_fds(link, [b"\0"], [listener.fileno(), *namespaces])


def serve(link: socket.socket, listener: socket.socket) -> None:
    """Serve until `link` is closed."""
    threading.stack_size(_STACK_BYTES)
    proxy = Proxy(listener)
    both = select.poll()
    for each in (link, listener):
        both.register(each, select.POLLIN)
    while True:
        ready = dict(both.poll())
        if link.fileno() in ready:
            message = link.recv(MESSAGE_BYTES_MAX)
            if not message:
                return
            link.sendall(json.dumps(proxy.agree(json.loads(message))).encode())
        else:
            proxy.accept()


if __name__ == "__main__":
    LINK = socket.socket(fileno=3)
    if sys.argv[1:] == ["listen"]:
        listen(LINK)
    else:
        serve(LINK, socket.socket(fileno=4))
        os._exit(0)  # threads wait for others
