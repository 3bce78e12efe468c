"""What of the network can be agreed to: `pypi.org`, `*.example.org:8443`, `10.1.0.0/16`, `*`."""

import re
from typing import Final

HOSTS_MAX: Final = 256  # more than a person can keep in mind
PORTS: Final = (80, 443)  # of a host that is written without one
PORT_MAX: Final = 65_535  # two bytes

_HOST: Final = re.compile(
    r"(?P<name>\*|(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?)(?::(?P<port>[0-9]{1,5}))?"
)

Agreed = tuple[str, tuple[int, ...]]


def agreed(text: str) -> Agreed:
    """Return the name and the ports that `text` agrees to, as the proxy is told them.

    `.example.org` is what lies below that name, an empty one is each that leads to a public
    address. A network has no ports: its addresses may be reached, and agreed names may lead there.

    Raises:
        ValueError: it spells nothing of that; it says so.
    """
    import ipaddress  # noqa: PLC0415 - 4 ms, for those who agree to something

    try:
        return str(ipaddress.ip_network(text)), ()
    except ValueError:
        host = _HOST.fullmatch(text.lower())
    if host is None or int(host["port"] or 1) not in range(1, PORT_MAX + 1):
        raise ValueError(f"{text!r} names no host: write pypi.org, *.example.org or 10.1.0.0/16")
    return host["name"].lstrip("*"), (int(host["port"]),) if host["port"] else PORTS
