import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import rows

from wcore.models import backoff, errors
from wcore.models.errors import TransientError, of_event, of_response, of_whole, retry_after_s
from wcore.models.provider_json import dump

OVERFLOWS = (
    b'{"error": {"code": "context_length_exceeded", "message": "x"}}',
    b'{"error": {"message": "This model\'s maximum context length is 8192 tokens."}}',
    b'{"type": "error", "error": {"message": "prompt is too long: 210000 tokens > 200000"}}',
    b'{"error": "input is too long for the context window"}',
    b'[{"error": {"message": "The input token count (1100000) exceeds the maximum"}}]',
    b'{"message": "Please reduce the length of the messages"}',
    b"the request exceeds the available context size",
    b'{"error": {"message": "input length and `max_tokens` exceed context limit: 1 + 2 > 2"}}',
)


@pytest.mark.parametrize("body", OVERFLOWS)
def test_providers_word_an_overflow_in_many_ways(body: bytes) -> None:
    assert isinstance(of_response("p", 400, {}, body), errors.ContextOverflowError)


PER_MINUTE = "Rate limit reached for m in organization o on tokens per min (TPM): Limit 30000, "
TOO_LARGE = (  # more than a minute's share of tokens in one request: waiting does not help
    "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, "
    "Requested 31538. The input or output tokens must be reduced in order to run successfully.",
    "Request too large for gpt-4.1-2025-04-14 (for limit gpt-4.1) in organization org-x on tokens "
    "per min (TPM): Limit 30000, Requested 37313. The input or output tokens must be reduced",
    "Request too large for model `llama-3.3-70b-versatile` in organization `org_x` service tier "
    "`on_demand` on tokens per minute (TPM): Limit 30000, Requested 34137, please reduce your "
    "message size and try again. Need more tokens? Visit https://console.groq.com/settings/billing",
    "Request body too large for m. Max size: 30000 tokens.",
)
BUSY = (  # as far as anybody can tell, this request or one like it is taken later
    f"{PER_MINUTE}Used 29937, Requested 385. Please try again in 644ms.",
    f"{PER_MINUTE}Used 8554, Requested 30000. Please try again in 9.8s.",
    "Rate limit reached for model `m` in organization `o` on tokens per day (TPD): Limit 100000, "
    "Used 97050, Requested 3619. Please try again in 9m38.016s. Need more tokens? Upgrade to Dev "
    "Tier today at https://console.groq.com/settings/billing",
    "This request would exceed the rate limit for your organization of 40,000 input tokens per "
    "minute. Please reduce the prompt length or the maximum tokens requested, or try again later.",
    "Number of request tokens has exceeded your per-minute rate limit; see the response headers. "
    "Please reduce the prompt length or the maximum tokens requested, or try again later.",
    "Requests to the ChatCompletions_Create Operation have exceeded token rate limit of your "
    "current OpenAI S0 pricing tier. Please retry after 86400 seconds.",
    "Too many tokens, please wait before trying again.",
)


@pytest.mark.parametrize("words", TOO_LARGE)
def test_a_request_larger_than_a_minute_has_tokens_is_too_long_and_no_wait(words: str) -> None:
    error = {"message": words, "type": "tokens", "code": "rate_limit_exceeded"}
    told = [of_response("p", status, {}, dump({"error": error})) for status in (413, 429)]
    for each in (*told, of_event("p", error)):
        assert isinstance(each, errors.ContextOverflowError)
        assert each.window_tokens == 30_000


@pytest.mark.parametrize("words", BUSY)
def test_a_request_that_came_too_soon_waits(words: str) -> None:
    error = {"message": words, "type": "rate_limit_error", "code": "rate_limit_exceeded"}
    body = dump({"error": error})
    assert isinstance(of_response("p", 429, {}, body), TransientError)
    assert isinstance(of_event("p", error), TransientError)


@rows(
    ("status", "body", "kind"),
    [
        (401, b"", errors.AuthInvalidError),
        (403, b"", errors.RefusedError),
        (403, b'{"error": {"message": "organization must be verified"}}', errors.RefusedError),
        (403, b'{"error": {"code": "unsupported_country_region_territory"}}', errors.RefusedError),
        (403, b'{"message": "the monkey pressed a keyboard"}', errors.RefusedError),
        (403, b'{"detail": "insufficient_quota"}', errors.RefusedError),
        (403, b"<html>Forbidden</html>", errors.RefusedError),
        (403, b'{"error": {"message": "Your API key has no access"}}', errors.AuthInvalidError),
        (403, b'{"error": {"code": "invalid_api_key"}}', errors.AuthInvalidError),
        (403, b'{"error": {"type": "authentication_error"}}', errors.AuthInvalidError),
        (403, b'[{"error": {"message": "no APIKEY"}}]', errors.AuthInvalidError),
        (403, b"bad credentials", errors.AuthInvalidError),
        (402, b'{"error": "insufficient balance"}', errors.RefusedError),
        (429, b'{"error": {"code": "insufficient_quota"}}', errors.RefusedError),
        (429, b"", errors.TransientError),
        (408, b"", errors.TransientError),
        (500, b"maximum context", errors.TransientError),
        (529, b"", errors.TransientError),
        (400, b'{"error": "this model has no vision"}', errors.NoImagesError),
        (400, b"\xff\xfe", errors.UnexplainedError),
        (400, b"[]", errors.UnexplainedError),
        (400, b"null", errors.UnexplainedError),
        (302, b"", errors.RefusedError),
    ],
)
def test_a_status_says_whether_trying_again_helps(status: int, body: bytes, kind: type) -> None:
    assert type(of_response("p", status, {}, body)) is kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error", "message": "x"}, errors.TransientError),
        ({"type": "api_error"}, errors.TransientError),
        ({"code": 502, "message": "upstream"}, errors.TransientError),
        ({"type": "rate_limit_error"}, errors.TransientError),
        ({"type": "authentication_error", "message": "x"}, errors.AuthInvalidError),
        ({"type": "permission_error", "message": "not your key"}, errors.AuthInvalidError),
        ({"type": "permission_error", "message": "verify first"}, errors.RefusedError),
        ({"code": "context_length_exceeded"}, errors.ContextOverflowError),
        ({"type": "invalid_request_error", "message": "x"}, errors.UnexplainedError),
        ("no words", errors.RefusedError),
        ([1], errors.RefusedError),
    ],
)
def test_an_error_in_the_stream_says_so_too(error: object, kind: type) -> None:
    assert type(of_event("p", error)) is kind


def test_what_a_provider_wrote_is_quoted_in_part_and_on_one_line() -> None:
    for status in (400, 401, 403, 500):
        body = b'{"error": {"message": "a\\n\\tkey ' + b"x " * 999 + b'"}}'
        text = str(of_response("p", status, {}, body))
        assert "p answered HTTP" in text or f"p does not accept the key (HTTP {status})" in text
        assert ": a key x x" in text
        assert len(text) < errors.QUOTE_CHARS_MAX + 50


def test_what_cannot_be_seen_is_marked_in_a_quotation() -> None:
    said = {"message": "no\x1b[2J \u202ekey\u200b"}
    told = (of_response("p", 401, {}, dump(said)), of_event("p", said))
    assert all(str(text).endswith("no⟨U+001B⟩[2J ⟨U+202E⟩key⟨U+200B⟩") for text in told)


@given(
    st.integers(250, 320), st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=9)
)
def test_no_quotation_ends_in_the_middle_of_a_key(before: int, key: str) -> None:
    for space in (" ", "的"):
        text = errors.quoted("语" * before + space + key + space + "x" * 400)
        assert key in text or not re.search("[!-~]", text)


def test_an_answer_in_one_piece_may_be_an_error() -> None:
    assert isinstance(of_whole("p", b'{"error": {"code": 503}}'), TransientError)
    assert "base URL" in str(of_whole("p", b'{"choices": []}'))
    assert "base URL" in str(of_whole("p", b"<html>"))


@rows("depth", [*range(150, 1_050, 50), 100_000])
def test_an_error_that_is_nested_however_deeply_is_one(depth: int) -> None:
    for opens, closes in ((b"[", b"]"), (b'{"error":', b"}")):
        body = opens * depth + b"1" + closes * depth
        for sent in (body, b'{"error": {"message": %s}}' % body, opens * depth):
            assert isinstance(of_response("p", 400, {}, sent), errors.RefusedError)
            assert isinstance(of_whole("p", sent), errors.RefusedError)


def test_the_wait_is_given_in_seconds_milliseconds_or_as_a_date() -> None:
    assert retry_after_s({"retry-after": "7"}) == 7
    assert retry_after_s({"retry-after-ms": "250", "retry-after": "7"}) == 0.25
    assert retry_after_s({"retry-after": "-3"}) == 0
    assert retry_after_s({"retry-after": "soon"}) is None
    assert retry_after_s({}) is None
    date = datetime.now(UTC) + timedelta(seconds=100)
    given = retry_after_s({"retry-after": format_datetime(date)})
    assert given is not None
    assert 90 < given <= 100


def test_waits_grow_are_spread_and_end() -> None:
    error = TransientError("x")
    for attempt, longest in ((1, 0.5), (2, 1.0), (3, 2.0)):
        assert backoff.delay_s(error, attempt, 0.0) == longest / 2
        assert backoff.delay_s(error, attempt, 0.999) == pytest.approx(longest, rel=0.01)  # pyright: ignore[reportUnknownMemberType]
    assert backoff.delay_s(error, backoff.ATTEMPTS_MAX, 0.0) is None


def test_the_provider_decides_the_wait_unless_it_is_too_long() -> None:
    assert backoff.delay_s(TransientError("x", 3.0), 1, 0.9) == 3.0
    assert backoff.delay_s(TransientError("x", backoff.RETRY_AFTER_S_MAX + 1), 1, 0.9) is None


@rows(
    ("seconds", "words"),
    [(0.02, "0.02 s"), (0.26, "0.26 s"), (9.99, "10 s"), (30, "30 s"), (119.6, "120 s"),
     (120, "2 min"), (150, "2.5 min"), (3600, "60 min"), (7200, "2 h"), (86_400, "24 h"),
     (10 * 86_400, "10 days"), (float("inf"), "inf days")],
)  # fmt: skip
def test_a_wait_is_told_in_words_of_its_size(seconds: float, words: str) -> None:
    assert backoff.in_words(seconds) == words
