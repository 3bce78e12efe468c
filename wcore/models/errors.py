"""Why a provider did not answer, told by status code and by what it wrote. Pure.

Providers word the same failure differently; what they wrote is quoted in part. They may quote the
key: the session takes it out of all that it says, so no quotation ends in the middle of a word.
"""

import re
from collections.abc import Mapping, Sequence, Set
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, cast

from wcore.errors import Code, ProviderError
from wcore.models.provider_json import fields, parse
from wcore.visible import visible

QUOTE_CHARS_MAX: Final = 300  # an error is one line of a toast

#: More tokens than there are for a minute, which no wait mends: OpenAI says so with HTTP 429, Groq
#: and Azure with 413. Known from reports only. Anthropic words a busy minute and too large a
#: request alike ("would exceed the rate limit"), Azure words every 429 alike: those wait.
_TOO_LARGE: Final = re.compile(r"request (?:body )?too large|tokens must be reduced", re.IGNORECASE)
_OVERFLOW: Final = re.compile(
    rf"{_TOO_LARGE.pattern}"
    r"|context[_ ]length|context[_ ]window|context[_ ]size|maximum context|prompt is too long"
    r"|input is too long|too many (?:input )?tokens|request_too_large"
    r"|exceeds? (?:the .{0,40})?context"
    r"|(?:reduce|shorten) (?:the length|your prompt)|input token count .{0,40}exceeds",
    re.IGNORECASE,
)
#: A number of four to eight digits behind a word for a limit: `range of input length [1, 30720]`.
_WINDOW: Final = re.compile(
    r"(?:max\w*|limit\w*|window|range|up to|at most|no more than|less than|exceed\w*|supports?|>)"
    r"[^\n]{0,80}?\b([1-9]\d{0,2}(?:[,._]\d{3}){1,2}|[1-9]\d{3,7})\b",
    re.IGNORECASE,
)
#: That the thinking behind a call must come back with it, in the field in which it came.
_THINKING_WANTED: Final = re.compile(
    r"(?:missing|must|require\w*|need\w*|provide\w*|pass\w*|expect\w*).{0,120}reasoning_content"
    r"|reasoning_content.{0,120}(?:missing|must|require\w*|need\w*|provide\w*|pass\w*|expect\w*)",
    re.IGNORECASE,
)
_SEALED: Final = re.compile(
    r"thinking|thought|signature|reasoning|redacted|encrypted|extra_content", re.IGNORECASE
)
_NO_MONEY: Final = re.compile(
    r"insufficient_quota|insufficient balance|(?<!/)billing|credit balance", re.IGNORECASE
)  # and not the address where one may buy more
#: The place of a tool in the request, as vendors name it; AWS counts from 1 where it says `member`.
_TOOL_AT: Final = re.compile(
    r"\btools['\"]?[\s.,\[]+(\d+)\b(?:\]?\.function_?declarations\[(\d+)\])?(\.member\b)?",
    re.IGNORECASE,
)
_TOOL_NAMED: Final = re.compile(
    r"(?:schema|parameters|declaration|definition)s?\b[^'\"`]{0,60}\b(?:function|tool)\b"
    r"[^'\"`]{0,20}['\"`]([A-Za-z0-9_-]{1,64})['\"`]",
    re.IGNORECASE,
)
#: That a model takes no images at all, and not that it does not take this one.
_BLIND: Final = re.compile(
    r"(?:no|not|n't|without|lacks?)\b.{0,40}\b(?:support\w*|accept\w*|allow\w*|capab\w*|handle|see)\b"
    r".{0,60}(?:image|vision|multi-?modal)|(?:images?|vision|multi-?modal)\b.{0,60}\b(?:no|not|n't)\b"
    r".{0,20}\b(?:supported|accepted|allowed|available|enabled)|no vision|text[- ]only",
    re.IGNORECASE,
)
_NO_IMAGES: Final = re.compile(r"image|vision|multi-?modal", re.IGNORECASE)
_PASSING: Final = frozenset({408, 409, 425, 429})  # and every 5xx
_PASSING_TYPES: Final = re.compile(
    r"overloaded|rate_?limit|timeout|unavailable|server_?error|api_error|internal", re.IGNORECASE
)
_TOO_SOON: Final = re.compile(r"rate_?limit|throttl|\b429\b", re.IGNORECASE)
_REFUSED_TYPES: Final = re.compile(r"invalid_request|invalid_parameter|\b4(?:00|13|22)\b")
_NAMES_KEY: Final = re.compile(
    r"(?<![a-z])(?:api)?keys?(?![a-z])|authenticat|credential", re.IGNORECASE
)
_BAD_KEY_TYPES: Final = re.compile(r"authentication|invalid_api_key")
_LAST_WORD: Final = re.compile(r"[!-~]*\Z")  # as far as a key could go


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
    """The conversation does not fit into the model's window, which has `window_tokens` if known."""

    code = Code.CONTEXT_OVERFLOW
    retryable = False

    def __init__(self, message: str, window_tokens: int | None = None) -> None:
        super().__init__(message)
        self.window_tokens = window_tokens


class RefusedError(ProviderError):
    """The provider will refuse the same request again."""

    retryable = False


class UnexplainedError(RefusedError):
    """The request is refused for a reason that we do not know; length may be one.

    `window_tokens` is what the provider's words name as a limit, if they name one.
    """

    def __init__(self, message: str, window_tokens: int | None = None) -> None:
        super().__init__(message)
        self.window_tokens = window_tokens


class ImagesRefusedError(UnexplainedError):
    """The model takes not this image; with `takes_none`, no image at all."""

    takes_none = False


class NoImagesError(ImagesRefusedError):
    """The model takes no images, it seems."""

    takes_none = True


class SealRefusedError(UnexplainedError):
    """The provider does not take back what it sealed itself, or says so."""


class ThinkingWantedError(UnexplainedError):
    """The provider wants the thinking of earlier replies back."""


class ToolsRefusedError(UnexplainedError):
    """The provider does not take some tools, by their place in the request or by name."""

    def __init__(self, message: str, places: Set[int], names: Set[str]) -> None:
        super().__init__(message)
        self.places, self.names = places, names


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
    error, whole = _error_in(body), body.decode(errors="replace")
    said = _said(error)
    reason = f": {quoted(said)}" if said else ""
    if status == 401 or (status == 403 and _NAMES_KEY.search(f"{_kind(error)} {said}")):
        return AuthInvalidError(f"{provider} does not accept the key (HTTP {status}){reason}")
    text = f"{provider} answered HTTP {status}{reason}"
    if _NO_MONEY.search(whole) and status in {400, 402, 429}:
        return RefusedError(text)
    if status in {400, 413, 422} or (status == 429 and _TOO_LARGE.search(whole)):
        return _refusal(text, whole)
    if status in _PASSING or status >= 500:
        return TransientError(text, retry_after_s(headers))
    if status in {404, 415} and _NO_IMAGES.search(whole):
        return NoImagesError(text)
    return RefusedError(text)


def _refusal(text: str, words: str) -> ProviderError:
    """Return what it means that the request itself is refused."""
    at = [int(m[2] or m[1]) - bool(m[3]) for m in _TOOL_AT.finditer(words)]
    if at or _TOOL_NAMED.search(words):
        return ToolsRefusedError(text, {*at}, {*_TOOL_NAMED.findall(words)})
    if _OVERFLOW.search(words):
        return ContextOverflowError(text, window_in(words))
    window_tokens = window_in(words)
    if _THINKING_WANTED.search(words):
        return ThinkingWantedError(text, window_tokens)
    if _SEALED.search(words):
        return SealRefusedError(text, window_tokens)
    if _BLIND.search(words):
        return NoImagesError(text, window_tokens)
    if _NO_IMAGES.search(words):
        return ImagesRefusedError(text, window_tokens)
    return UnexplainedError(text, window_tokens)


def window_in(text: str) -> int | None:
    """Return the number of tokens that a refusal names as the most it takes, if it names one."""
    found = _WINDOW.search(text)
    return int(re.sub(r"\D", "", found[1])) if found else None


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
    kind = _kind(error)
    found = fields(error) or {"message": error}
    said = str(found.get("message") or kind.strip() or "an error without words")
    if _BAD_KEY_TYPES.search(kind) or ("permission" in kind and _NAMES_KEY.search(said)):
        return AuthInvalidError(f"{provider} does not accept the key: {quoted(said)}")
    text = f"{provider} broke off: {quoted(said)}"
    came_too_soon = _TOO_SOON.search(kind) and not _TOO_LARGE.search(said)
    if _OVERFLOW.search(f"{kind} {said}") and not came_too_soon:
        return ContextOverflowError(text, window_in(said))
    if _REFUSED_TYPES.search(kind):
        return _refusal(text, f"{kind} {said}")
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


def _error_in(body: bytes) -> object:
    """Return the error of an answer's body: nearly everybody has `error`."""
    try:
        value: object = parse(body)
    except ValueError:
        return body.decode(errors="replace")
    if isinstance(value, list):  # Google wraps it
        value = next(iter(cast("list[object]", value)), "")
    return fields(value).get("error", value)


def _said(error: object) -> str:
    found = fields(error)
    return str(found.get("message") or found.get("detail") or error)


def _kind(error: object) -> str:
    found = fields(error)
    return f"{found.get('type') or ''} {found.get('code') or ''}"


def quoted(text: str) -> str:
    """Return what somebody else wrote: on one line, all of it visible, with whole words only.

    Half a key would not be taken out, so what the cut is in the middle of stays out.
    """
    text = visible(" ".join(text.split()))
    whole = len(text) <= QUOTE_CHARS_MAX
    return text if whole else _LAST_WORD.sub("", text[:QUOTE_CHARS_MAX]) + "…"
