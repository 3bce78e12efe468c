"""Where a provider is, and the key it wants."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from wcore import network
from wcore.errors import ConfigError

_ENDS: Final = ("/chat/completions", "/messages")  # of a URL copied from a manual
_VERSION: Final = re.compile(r"/v\d+(?:alpha|beta)?\d*(?:/|\Z)")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider's address, ending before the dialect's path, and how to get in."""

    name: str  # of the provider, for messages
    url: str
    host: str
    is_loopback: bool
    keys: Mapping[str, str] = field(repr=False)
    key_names: tuple[str, ...]

    @property
    def key(self) -> str | None:
        """The key to send, if there is one.

        Raises:
            SettingError: no header can carry it.
        """
        return network.usable_key(self.keys, *self.key_names)


def endpoint(
    name: str, given: str, keys: Mapping[str, str], key_names: tuple[str, ...]
) -> Endpoint:
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
        is_loopback=network.is_loopback(host),
        keys=keys,
        key_names=key_names,
    )
