"""Why a provider did not answer, told by status code and by what it wrote. Pure.

Providers word the same failure differently; what they wrote is quoted in part, and never where
they may quote the key.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, cast

from wcore.errors import Code, ProviderError
from wcore.models.provider_json import fields, parse

QUOTE_CHARS_MAX: Final = 300  # an error is one line of a toast

_OVERFLOW: Final = re.compile(
    r"context[_ ]length|context[_ ]window|context[_ ]size|maximum context|prompt is too long"
    r"|input is too long|too many (?:input )?tokens|request_too_large"
    r"|exceeds? (?:the .{0,40})?context"
    r"|(?:reduce|shorten) (?:the length|your prompt)|input token count .{0,40}exceeds",
    re.IGNORECASE,
)
_NO_MONEY: Final = re.compile(
    r"insufficient_quota|insufficient balance|billing|credit balance", re.IGNORECASE
)
_NO_IMAGES: Final = re.compile(r"image|vision|multi-?modal", re.IGNORECASE)
_PASSING: Final = frozenset({408, 409, 425, 429})  # and every 5xx
_PASSING_TYPES: Final = re.compile(
    r"overloaded|rate_?limit|timeout|unavailable|server_?error|api_error|internal", re.IGNORECASE
)
_BAD_KEY_TYPES: Final = re.compile(r"authentication|permission_error|invalid_api_key")


class UnusableModelError(ProviderError):
    """The model that the engine was started with cannot be had."""

    code = Code.CONFIG
    retryable = False


class AuthRequiredError(ProviderError):
    """No key was given."""

    code = Code.AUTH_REQUIRED
    retryable = False


class AuthInvalidError(ProviderError):
    """The provider does not accept the key, or not for this."""

    code = Code.AUTH_INVALID
    retryable = False


class ContextOverflowError(ProviderError):
    """The conversation does not fit into the model's window."""

    code = Code.CONTEXT_OVERFLOW
    retryable = False


class RefusedError(ProviderError):
    """The provider will refuse the same request again."""

    retryable = False


class ImagesRefusedError(RefusedError):
    """The model takes no images."""


class StalledError(ProviderError):
    """Nothing came for too long. Not tried again by itself: the wait was long enough."""


class TransientError(ProviderError):
    """Trying again can help; `retry_after_s` is what the provider asked for."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


def no_key(provider: str, names: Sequence[str]) -> AuthRequiredError:
    """Return the error that says how to give the engine a key."""
    return AuthRequiredError(
        f"{provider} needs a key: start the engine with {' or '.join(names) or 'a key'} in its "
        "environment (any text, where the server asks for none)"
    )


def of_response(
    provider: str, status: int, headers: Mapping[str, str], body: bytes
) -> ProviderError:
    """Return what an answer other than 200 means."""
    if status in {401, 403}:
        return AuthInvalidError(f"{provider} does not accept the key (HTTP {status})")
    said = _said(body)
    text = f"{provider} answered HTTP {status}" + (f": {_quoted(said)}" if said else "")
    whole = body.decode(errors="replace")
    if status in {400, 413, 422} and _OVERFLOW.search(whole):
        return ContextOverflowError(text)
    if _NO_MONEY.search(whole) and status in {400, 402, 429}:
        return RefusedError(text)
    if status in _PASSING or status >= 500:
        return TransientError(text, retry_after_s(headers))
    if status in {400, 404, 415, 422} and _NO_IMAGES.search(whole):
        return ImagesRefusedError(text)
    return RefusedError(text)


def of_whole(provider: str, body: bytes) -> ProviderError:
    """Return what an answer means that should have been a stream."""
    try:
        error = fields(parse(body)).get("error")
    except ValueError:
        error = None
    if error:
        return of_event(provider, error)
    return RefusedError(f"{provider} answered without a stream: is the base URL right?")


def of_event(provider: str, error: object) -> ProviderError:
    """Return what an error inside the stream means."""
    found = fields(error) or {"message": error}
    kind = f"{found.get('type') or ''} {found.get('code') or ''}"
    said = str(found.get("message") or kind.strip() or "an error without words")
    if _BAD_KEY_TYPES.search(kind):
        return AuthInvalidError(f"{provider} does not accept the key")
    text = f"{provider} broke off: {_quoted(said)}"
    if _OVERFLOW.search(f"{kind} {said}"):
        return ContextOverflowError(text)
    if _PASSING_TYPES.search(kind) or re.search(r"\b(?:5\d\d|429)\b", kind):
        return TransientError(text)
    return RefusedError(text)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds a provider asks us to wait; it may also name a date."""
    given = headers.get("retry-after-ms")
    scale = 1000.0 if given else 1.0
    given = given or headers.get("retry-after")
    if not given:
        return None
    try:
        return max(0.0, float(given) / scale)
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(given)
    except ValueError:
        return None
    return max(0.0, (date.astimezone(UTC) - datetime.now(UTC)).total_seconds())


def _said(body: bytes) -> str:
    """Return the message of an error body: nearly everybody has `error.message`."""
    try:
        value: object = parse(body)
    except ValueError:
        return body.decode(errors="replace")
    if isinstance(value, list):  # Google wraps it
        value = next(iter(cast("list[object]", value)), "")
    error: object = fields(value).get("error", value)
    found = fields(error)
    return str(found.get("message") or found.get("detail") or error)


def _quoted(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= QUOTE_CHARS_MAX else f"{text[:QUOTE_CHARS_MAX]}…"
