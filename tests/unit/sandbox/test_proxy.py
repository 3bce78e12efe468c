"""What may leave a sandbox: tables of the pure part, conversations with the real program."""

import ipaddress
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import pytest
import waiting
from tables import rows

from wcore.hosts import agreed
from wcore.sandbox import proxy
from wcore.sandbox.proxy import Hosts, RefusedError, asked

HERE: Final = "127.0.0.0/8:*"
ANSWER: Final = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nheard"


def hosts(*texts: str) -> Hosts:
    return Hosts(json.loads(json.dumps([agreed(text) for text in texts])))


@rows(
    ("text", "host", "port", "may"),
    [
        ("pypi.org", "pypi.org", 443, True),
        ("pypi.org", "pypi.org", 80, True),
        ("pypi.org", "pypi.org", 22, False),
        ("pypi.org", "www.pypi.org", 443, False),
        ("pypi.org", "pypi.org.evil.example", 443, False),
        ("pypi.org", "xpypi.org", 443, False),
        ("pypi.org:8443", "pypi.org", 8443, True),
        ("pypi.org:8443", "pypi.org", 443, False),
        ("*.pypi.org", "a.b.pypi.org", 443, True),
        ("*.pypi.org", "pypi.org", 443, False),
        ("*.pypi.org", "xpypi.org", 443, False),
        ("*", "anything.example", 443, True),
        ("*", "anything.example", 22, False),
        ("*", "10.1.2.3", 443, True),  # and leads nowhere, see below
        ("10.1.0.0/16", "10.1.2.3", 443, True),
        ("10.1.0.0/16", "10.1.2.3", 5432, False),
        ("10.1.0.0/16:5432", "10.1.2.3", 5432, True),
        ("10.1.0.0/16:5432", "10.1.2.3", 443, False),
        ("10.1.0.0/16:*", "10.1.2.3", 1, True),
        ("10.1.0.0/16", "10.2.2.3", 443, False),
        ("10.1.0.0/16", "::ffff:10.1.2.3", 443, True),
        ("pypi.org:*", "pypi.org", 22, True),
        ("10.1.0.0/16", "anything.example", 443, False),
        ("pypi.org", "1.2.3.4", 443, False),
    ],
)
def test_only_what_was_agreed_to_may_be_reached(text: str, host: str, port: int, may: bool) -> None:
    assert hosts(text).have(host, port) is may


@rows(
    "address",
    [
        *("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
        *("0.0.0.0", "224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.2.1", "198.18.0.1"),
        *("::", "::1", "fe80::1", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1"),
        *("192.0.0.192", "192.0.0.8", "192.88.99.1", "168.63.129.16", "::ffff:192.0.0.192"),
        *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a00:1::", "::7f00:1"),
        *("2001:0:0:0:0:0:80ff:fffe", "fe80::1%lo", "64:ff9b:1::1", "2001:db8::1", "fec0::1"),
    ],
)
def test_names_lead_to_no_address_that_not_everybody_can_reach(address: str) -> None:
    found = ipaddress.ip_address(address)
    assert not hosts("*", "pypi.org").may_lead_to(found)


@rows("address", ["1.1.1.1", "8.8.8.8", "2606:4700::1111", "64:ff9b::101:101", "::ffff:8.8.8.8"])
def test_names_lead_to_what_everybody_can_reach(address: str) -> None:
    assert hosts("pypi.org").may_lead_to(ipaddress.ip_address(address))


def test_names_lead_into_a_network_that_was_agreed_to() -> None:
    assert hosts("x.example", "10.1.0.0/16").may_lead_to(ipaddress.ip_address("10.1.2.3"))
    assert not hosts("x.example", "10.1.0.0/16").may_lead_to(ipaddress.ip_address("10.2.2.3"))


@rows(
    ("head", "found"),
    [
        (b"CONNECT a.example:443 HTTP/1.1", ("a.example", 443, b"")),
        (b"CONNECT A.Example.:443 HTTP/1.0", ("a.example", 443, b"")),
        (b"CONNECT [::1]:8443 HTTP/1.1", ("::1", 8443, b"")),
        (
            b"GET http://a.example HTTP/1.1",
            ("a.example", 80, b"GET / HTTP/1.1\r\nHost: a.example\r\n"),
        ),
        (
            b"POST http://u@a.example:8080/x?y#z HTTP/1.1\r\nHost: other\r\nA: b\r\nProxy-X: y",
            ("a.example", 8080, b"POST /x?y HTTP/1.1\r\nHost: a.example:8080\r\nA: b\r\n"),
        ),
        (
            b"GET http://a.example/ HTTP/1.1\r\nConnection : keep-alive, x\r\nHost:b",
            ("a.example", 80, b"GET / HTTP/1.1\r\nHost: a.example\r\n"),
        ),
    ],
)
def test_requests_are_understood(head: bytes, found: tuple[str, int, bytes]) -> None:
    end = b"Connection: close\r\n\r\n" if found[2] else b""
    assert asked(head + b"\r\n\r\n") == (*found[:2], found[2] + end)


@rows(
    "head",
    [
        *(
            b"",
            b"GET / HTTP/1.1",
            b"GET https://a.example/ HTTP/1.1",
            b"CONNECT a.example HTTP/1.1",
        ),
        *(b"CONNECT :443 HTTP/1.1", b"CONNECT a:99999 HTTP/1.1", b"CONNECT [::1:443 HTTP/1.1"),
        *(b"get http://a/ HTTP/1.1", b"GET http:///x HTTP/1.1", b"GET  http://a/ HTTP/1.1"),
        *(b"GET http://a/ HTTP/2", b"GET http://a\x00b/ HTTP/1.1", b"\x16\x03\x01\x02\x00"),
        *(b"GET ftp://a/ HTTP/1.1", b"CONNECT a:0 HTTP/1.1", "GET http://ä/ HTTP/1.1".encode()),
    ],
)
def test_what_is_no_request_to_a_proxy_is_refused(head: bytes) -> None:
    with pytest.raises(RefusedError, match="this is a proxy"):
        asked(head + b"\r\n\r\n")


class Proxied:
    """The real program, and a server that it may be asked for."""

    def __init__(self) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = listener.getsockname()
        self.link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        given = (theirs.fileno(), listener.fileno())
        code = (
            f"import fcntl, os, sys; apart = [fcntl.fcntl(n, fcntl.F_DUPFD, 10) for n in {given}];"
            " os.dup2(apart[0], 3); os.dup2(apart[1], 4); os.closerange(5, 1000)"
        )
        run = f"os.execv(sys.executable, [sys.executable, '-I', '-S', {proxy.__file__!r}, 'serve'])"
        self.process = subprocess.Popen([sys.executable, "-c", f"{code}; {run}"], pass_fds=given)
        for each in (theirs, listener):
            each.close()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.server.getsockname()[1]
        self.heard: list[bytes] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.server.accept()
                with client:
                    self.heard.append(client.recv(65536))
                    client.sendall(ANSWER)

    def agree(self, *texts: str) -> list[str]:
        """Say what is agreed to; return what was refused."""
        self.link.sendall(json.dumps([agreed(text) for text in texts]).encode())
        return json.loads(self.link.recv(65536))

    def connected(self) -> socket.socket:
        return socket.create_connection(self.address)

    def ask(self, request: str) -> bytes:
        """Return all that is answered to a request."""
        with self.connected() as client:
            client.sendall(request.encode())
            return rest(client)

    def close(self) -> None:
        self.link.close()
        assert waiting.finish(self.process).returncode == 0
        self.server.close()


def rest(client: socket.socket) -> bytes:
    found = b""
    with suppress(ConnectionError):
        while piece := client.recv(65536):
            found += piece
    return found


@pytest.fixture
def proxied() -> Iterator[Proxied]:
    found = Proxied()
    yield found
    found.close()


def test_what_was_not_agreed_to_is_refused_and_told_once(proxied: Proxied) -> None:
    answer = proxied.ask(f"GET http://localhost:{proxied.port}/ HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert b"is none of the hosts that were agreed to" in answer
    assert proxied.ask("CONNECT [::2]:7 HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 403")
    assert proxied.agree() == [f"localhost:{proxied.port}", "[::2]:7"]
    assert proxied.agree() == []
    assert proxied.heard == []


def test_a_name_that_leads_to_this_machine_is_refused_unless_its_network_was_agreed_to(
    proxied: Proxied,
) -> None:
    name = f"localhost:{proxied.port}"
    proxied.agree(name)
    answer = proxied.ask(f"GET http://{name}/ HTTP/1.1\r\n\r\n")
    assert b"403 Forbidden" in answer
    assert b"leads into a private network" in answer
    assert proxied.agree(name, HERE) == [name]
    assert proxied.ask(f"GET http://{name}/a HTTP/1.1\r\n\r\n") == ANSWER
    assert [each.split(b"\r\n")[0] for each in proxied.heard] == [b"GET /a HTTP/1.1"]


def test_a_tunnel_passes_everything_on(proxied: Proxied) -> None:
    proxied.agree(HERE)
    request = f"CONNECT 127.0.0.1:{proxied.port} HTTP/1.1\r\n\r\nat once"
    assert proxied.ask(request) == b"HTTP/1.1 200 Connection established\r\n\r\n" + ANSWER
    assert proxied.heard == [b"at once"]


def test_a_second_request_on_a_connection_goes_nowhere_else(proxied: Proxied) -> None:
    """It reaches the server of the first, which was told that there is none."""
    proxied.agree(HERE)
    request = f"GET http://127.0.0.1:{proxied.port}/ HTTP/1.1\r\n\r\n"
    assert proxied.ask(request + "GET http://other.example/ HTTP/1.1\r\n\r\n") == ANSWER
    assert b"\r\nConnection: close\r\n" in proxied.heard[0]


def test_connections_end_when_something_else_is_agreed_to(proxied: Proxied) -> None:
    """Also such as nobody says anything on, and such as were not answered yet."""
    quiet = socket.create_server(("127.0.0.1", 0))
    proxied.agree(HERE)
    with quiet, proxied.connected() as client, proxied.connected() as early:
        client.sendall(f"CONNECT 127.0.0.1:{quiet.getsockname()[1]} HTTP/1.1\r\n\r\n".encode())
        assert client.recv(65536).startswith(b"HTTP/1.1 200")
        server = quiet.accept()[0]
        early.sendall(b"GET http://127.0.0.1")
        proxied.agree(HERE)
        early_rest = f":{proxied.port}/ HTTP/1.1\r\n\r\n"
        with suppress(ConnectionError):
            early.sendall(early_rest.encode())
        assert rest(early) == b""
        assert rest(client) == b""
        with server:
            assert rest(server) == b""
    assert proxied.heard == []


def test_more_connections_than_there_may_be_are_ended(proxied: Proxied) -> None:
    many = [proxied.connected() for _ in range(proxy.CONNECTIONS_MAX)]
    with proxied.connected() as one_more:
        assert rest(one_more) == b""
    for each in many:
        each.close()


def test_no_more_refusals_are_told_than_a_person_reads(proxied: Proxied) -> None:
    for number in range(proxy.REFUSED_MAX + 2):
        proxied.ask(f"CONNECT a{number}.example:443 HTTP/1.1\r\n\r\n")
    assert len(proxied.agree()) == proxy.REFUSED_MAX


def test_a_head_that_does_not_end_is_refused(proxied: Proxied) -> None:
    begin = b"GET http://a/ HTTP/1.1\r\nA: "
    with proxied.connected() as client:
        client.sendall(begin + b"x" * (proxy.HEAD_BYTES_MAX + 1 - len(begin)))
        assert rest(client).startswith(b"HTTP/1.1 400 Bad Request")


def test_a_host_that_is_not_there_is_told(proxied: Proxied) -> None:
    proxied.agree("nobody.invalid", HERE)
    found = proxied.ask("CONNECT nobody.invalid:443 HTTP/1.1\r\n\r\n")
    assert found.startswith(b"HTTP/1.1 502 Bad Gateway")
    closed = socket.create_server(("127.0.0.1", 0))
    port = closed.getsockname()[1]
    closed.close()
    answer = proxied.ask(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n")
    assert b"was not reached: Connection refused" in answer
    assert proxied.agree() == []


def test_it_ends_with_the_engine(proxied: Proxied) -> None:
    with proxied.connected() as client:
        proxied.link.close()
        assert waiting.finish(proxied.process).returncode == 0
        assert rest(client) == b""
