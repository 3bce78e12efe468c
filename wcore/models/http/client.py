"""One HTTP client for one provider: a POST whose answer streams in. Knows nothing of dialects.

The HTTP library is loaded on first need, in a thread: no start should wait for it.
"""

import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from wcore import __version__, network
from wcore.errors import ProviderError, SettingError
from wcore.models import errors
from wcore.models.http.endpoint import Endpoint

if TYPE_CHECKING:
    import httpx2

CONNECT_S: Final = 10.0  # a provider that is there answers sooner
STALL_S: Final = 120.0  # without a byte; local models may read a long prompt for a minute
KEPT_OPEN_S: Final = 120.0  # an idle connection; spares a TLS handshake when a person thinks
ERROR_BYTES_MAX: Final = 64 * 1024  # of an error page; its first words are enough

_NO_STREAM: Final = re.compile(r"application/json|text/html", re.IGNORECASE)

log = logging.getLogger("wcore.models")


class HttpClient:
    """The way to one endpoint. Shared by all models of a provider."""

    def __init__(self, endpoint: Endpoint, *, stall_s: float = STALL_S) -> None:
        self.endpoint = endpoint
        self._stall_s = stall_s
        self._client: httpx2.AsyncClient | None = None

    def warm(self) -> None:
        """Load the library and make the client."""
        try:
            self._opened()
        except SettingError:
            return  # told by the first request
        except Exception:
            log.exception("client.failed")

    @asynccontextmanager
    async def post(
        self, path: str, headers: Mapping[str, str], body: bytes
    ) -> AsyncGenerator[AsyncIterator[bytes], None]:
        """Send `body`; give the bytes of the answer as they come.

        Leaving early, by cancellation too, closes the connection at once.

        Raises:
            ProviderError: no answer, not a good one, or it broke off.
            SettingError: environment or address let nobody ask.
        """
        import httpx2  # noqa: PLC0415 - loaded already, by `warm`

        name = self.endpoint.name
        try:
            request = self._opened().stream(
                "POST", self.endpoint.url + path, content=body, headers=dict(headers)
            )
            async with request as response:
                if response.status_code != 200:
                    raise errors.of_response(
                        name, response.status_code, response.headers, await _head_of(response)
                    )
                if _NO_STREAM.match(response.headers.get("content-type", "")):
                    raise errors.of_whole(name, await _head_of(response))
                yield response.aiter_bytes()
        except httpx2.InvalidURL:
            raise SettingError(f"--base-url: {name} cannot be asked at such an address") from None
        except (httpx2.ReadTimeout, httpx2.WriteTimeout):
            text = f"{name} sent nothing for {self._stall_s:g} s; the request was given up"
            raise errors.StalledError(text) from None
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            text = f"no connection to {name} at {self.endpoint.host}: {_reason(error)}"
            raise errors.TransientError(text) from None
        except httpx2.TransportError as error:
            raise errors.TransientError(f"{name} broke off: {_reason(error)}") from None
        except httpx2.HTTPError as error:
            raise ProviderError(f"{name}: {_reason(error)}") from None

    def _opened(self) -> "httpx2.AsyncClient":
        if self._client is None:
            import httpx2  # noqa: PLC0415 - costs what no start should wait for

            headers = {
                "content-type": "application/json",
                "accept": "text/event-stream",
                "accept-encoding": "identity",  # compressing a stream holds deltas back
                "user-agent": f"wcore/{__version__}",
            }
            self._client = network.client(
                self.endpoint.url,
                headers=headers,
                timeout=httpx2.Timeout(self._stall_s, connect=CONNECT_S, pool=None),
                limits=httpx2.Limits(max_connections=None, keepalive_expiry=KEPT_OPEN_S),
            )
        return self._client


async def _head_of(response: "httpx2.Response") -> bytes:
    found = b""
    async for chunk in response.aiter_bytes():
        found += chunk
        if len(found) >= ERROR_BYTES_MAX:
            break
    return found[:ERROR_BYTES_MAX]


def _reason(error: Exception) -> str:
    return errors.quoted(str(error)) or type(error).__name__
