"""The way out: the keys that go along, and every HTTP client; the only reader of what is set there.

A key or a setting of the environment that cannot be used is one `SettingError` that names the
variable, and never what stands in it: keys and addresses of proxies are secret.
"""

import os
import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from wcore.errors import SettingError

if TYPE_CHECKING:
    import ssl

    import httpx2

_NO_KEY: Final = re.compile(r"[^!-~]")  # servers and the HTTP library take no more in a header
_LOOPBACK: Final = re.compile(
    r"(?:.+\.)?localhost\.?|127(?:\.\d{1,8}){1,3}|0\.0\.0\.0", re.IGNORECASE
)
_PROXIED: Final = ("http", "https", "all")


def usable_key(keys: Mapping[str, str], *names: str) -> str | None:
    """Return the first of the keys `names` that there is.

    Raises:
        SettingError: no header can carry it; says where in it the first odd character is.
    """
    name = next((name for name in names if keys.get(name)), None)
    if name is None:
        return None
    odd = _NO_KEY.search(keys[name])
    if odd is not None:
        raise SettingError(
            f"{name} is no key: its character {odd.start() + 1} is {_kind(odd.group())}; set it "
            "again, in the environment or by --keys-fd, without quotes, blanks or notes"
        )
    return keys[name]


def _kind(char: str) -> str:
    """Return what is odd about a character, without telling which it is."""
    if char.isspace():
        return "a blank or the end of a line"
    return "not visible" if not char.isprintable() else "none of ASCII"


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine, by its name or address alone."""
    try:
        address = ip_address(host)
    except ValueError:
        return _LOOPBACK.fullmatch(host) is not None
    mapped = getattr(address, "ipv4_mapped", None) or address
    return mapped.is_loopback or mapped.is_unspecified


def client(url: str, **options: Any) -> "httpx2.AsyncClient":
    """Return an HTTP client for `url`, by the proxies and certificates of the environment.

    What is on this machine is never reached through a proxy; `options` are the library's own.

    Raises:
        SettingError: a variable of the environment keeps the client from being made.
    """
    import httpx2  # noqa: PLC0415 - costs what no start should wait for

    parts = urlsplit(url)
    is_near = is_loopback(parts.hostname or "")
    try:
        context = _tls(is_used=parts.scheme == "https" or not is_near)
        if not is_near:
            _refuse_proxies(context)
        return httpx2.AsyncClient(verify=context, trust_env=not is_near, **options)
    except SettingError:
        raise
    except Exception as error:  # noqa: BLE001 - libraries read the rest, and each raises its own
        name = next((n for n in ("no_proxy", "NO_PROXY") if os.environ.get(n)), "the environment")
        text = f"{name}: no HTTP client can be made of it ({type(error).__name__})"
        raise SettingError(text) from None


def _tls(*, is_used: bool) -> "ssl.SSLContext":
    """Return what certificates are checked by; one that is not used asks nobody."""
    import httpx2  # noqa: PLC0415 - see above

    if not is_used:
        return httpx2.create_ssl_context(trust_env=False)
    name = next((n for n in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(n)), "")
    folders = os.environ.get("SSL_CERT_DIR", "").split(os.pathsep)
    try:
        context = httpx2.create_ssl_context()
    except (OSError, ValueError):  # an `SSLError` is the first of them
        context = None
    if context is None or (name == "SSL_CERT_DIR" and not any(map(os.path.isdir, folders))):
        what = "a folder" if name == "SSL_CERT_DIR" else "a file"
        raise SettingError(
            f"{name or 'TLS'}: no certificates can be read there; name {what} of them, or unset it"
        )
    return context


def _refuse_proxies(context: "ssl.SSLContext") -> None:
    """Look at every proxy that the library would use.

    Raises:
        SettingError: one of them is none.
    """
    from urllib.request import getproxies  # noqa: PLC0415 - loaded with the library

    found = getproxies()
    if "*" in (host.strip() for host in found.get("no", "").split(",")):
        return
    for scheme in _PROXIED:
        given = found.get(scheme)
        problem = _problem(given if "://" in given else f"http://{given}", context) if given else ""
        if problem:
            fitting = (n for n, value in os.environ.items() if value == given)
            name = next((n for n in fitting if n.lower() == f"{scheme}_proxy"), "system settings")
            raise SettingError(f"{name}: {problem}")


def _problem(proxy: str, context: "ssl.SSLContext") -> str:
    """Return why nothing can go through `proxy`; empty if something may."""
    import httpx2  # noqa: PLC0415 - see above

    try:
        url = httpx2.Proxy(proxy).url
        httpx2.AsyncHTTPTransport(verify=context, proxy=proxy)
        usable = bool(url.host) and (url.port is None or 0 < url.port < 65536)
    except Exception:  # noqa: BLE001 - it is no address, in one way of many
        usable = False
    return "" if usable else "no address of a proxy; write http://HOST:PORT or socks5://HOST:PORT"
