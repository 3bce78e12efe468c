"""What of the network can be agreed to: `pypi.org`, `*.example.org:8443`, `10.1.0.0/16:*`, `*`."""

import re
from typing import Final

HOSTS_MAX: Final = 256  # more than a person can keep in mind
PORTS: Final = (80, 443)  # of a host that is written without one
PORT_MAX: Final = 65_535  # two bytes

_HOST: Final = re.compile(r"\*|(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)\.?\Z")  # an address, to resolvers
_PORT: Final = re.compile(r":(\*|[0-9]{1,5})\Z")

Agreed = tuple[str, tuple[int, ...]]


def agreed(text: str) -> Agreed:
    """Return the name or network and the ports that `text` agrees to, as the proxy is told them.

    `.example.org` is what lies below that name, an empty one is each that leads to a public
    address; agreed names may lead into agreed networks. Ports are 80 and 443 if none is written,
    no port is each of them (`:*`). An IPv6 address with a port stands in brackets.

    Raises:
        ValueError: it spells nothing of that; it says so.
    """
    text = text.lower()
    found = None if _network(text) else _PORT.search(text)  # `::1` ends in no port
    place, port = (text[: found.start()], found[1]) if found else (text, None)
    network = _network(place.strip("[]"))
    is_port = port in (None, "*") or int(port) in range(1, PORT_MAX + 1)
    if not is_port or not (network or _HOST.fullmatch(place)):
        raise ValueError(f"{text!r} names no host: write pypi.org, *.example.org or 10.1.0.0/16")
    ports = PORTS if port is None else () if port == "*" else (int(port),)
    return network or place.lstrip("*"), ports


def one_host(text: str) -> str:
    """Return the host that `text` asks for, by its name: no pattern, network or address.

    Raises:
        ValueError: it is something else; it says so.
    """
    name, ports = agreed(text)
    is_plain = text.isascii() and text.lower().startswith(name) and not _NUMBER.search(name)
    if not name or not ports or not is_plain or "/" in name:
        raise ValueError(f"{text!r} is not one host: ask for them by name, such as pypi.org")
    return text.lower()


def _network(text: str) -> str | None:
    import ipaddress  # noqa: PLC0415 - 4 ms, for those who agree to something

    try:
        return str(ipaddress.ip_network(text))
    except ValueError:
        return None
