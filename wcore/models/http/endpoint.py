"""Where a provider is, and the key it wants."""

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from wcore.errors import ConfigError

_ENDS: Final = ("/chat/completions", "/messages")  # of a URL copied from a manual
_VERSION: Final = re.compile(r"/v\d+(?:alpha|beta)?\d*(?:/|\Z)")
_LOOPBACK: Final = re.compile(r"localhost|.+\.localhost|127(?:\.\d{1,3}){3}|::1", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider's address, ending before the dialect's path, and how to get in."""

    name: str  # of the provider, for messages
    url: str
    host: str
    is_loopback: bool
    key: str | None = field(repr=False)
    key_names: tuple[str, ...]


def endpoint(name: str, given: str, key: str | None, key_names: tuple[str, ...]) -> Endpoint:
    """Return the endpoint at the base URL `given`, with or without a trailing `/v1`.

    Raises:
        ConfigError: it is no URL that a key should be sent to.
    """
    try:
        url = urlsplit(given.strip())
        host, port = url.hostname, url.port
    except ValueError:
        host, port, url = None, None, urlsplit("")
    if url.scheme not in {"http", "https"} or not host:
        raise ConfigError("--base-url: not a URL that begins with http:// or https://")
    if "@" in url.netloc or url.query or url.fragment:
        raise ConfigError("--base-url: a user name, `?` or `#` has no place in it")
    path = url.path.rstrip("/")
    for end in _ENDS:
        path = path.removesuffix(end)
    if not _VERSION.search(path):
        path += "/v1"
    return Endpoint(
        name=name,
        url=urlunsplit((url.scheme, url.netloc, path, "", "")),
        host=host if port is None else f"{host}:{port}",
        is_loopback=_LOOPBACK.fullmatch(host) is not None,
        key=key,
        key_names=key_names,
    )
