from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from wcore.models import backoff, errors
from wcore.models.errors import TransientError, of_event, of_response, of_whole, retry_after_s

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


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, b"", errors.AuthInvalidError),
        (403, b"", errors.AuthInvalidError),
        (402, b'{"error": "insufficient balance"}', errors.RefusedError),
        (429, b'{"error": {"code": "insufficient_quota"}}', errors.RefusedError),
        (429, b"", errors.TransientError),
        (408, b"", errors.TransientError),
        (500, b"maximum context", errors.TransientError),
        (529, b"", errors.TransientError),
        (400, b'{"error": "this model has no vision"}', errors.ImagesRefusedError),
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
        ({"code": "context_length_exceeded"}, errors.ContextOverflowError),
        ({"type": "invalid_request_error", "message": "x"}, errors.UnexplainedError),
        ("no words", errors.RefusedError),
        ([1], errors.RefusedError),
    ],
)
def test_an_error_in_the_stream_says_so_too(error: object, kind: type) -> None:
    assert type(of_event("p", error)) is kind


def test_what_a_provider_wrote_is_quoted_in_part_and_on_one_line() -> None:
    text = str(of_response("p", 400, {}, b'{"error": {"message": "a\\n\\tb ' + b"x" * 999 + b'"}}'))
    assert text.startswith("p answered HTTP 400: a b xxx")
    assert len(text) < errors.QUOTE_CHARS_MAX + 50


def test_a_refused_key_is_never_quoted() -> None:
    assert "sk-1" not in str(of_response("p", 401, {}, b'{"error": {"message": "sk-1"}}'))
    assert "sk-1" not in str(of_event("p", {"type": "authentication_error", "message": "sk-1"}))


def test_an_answer_in_one_piece_may_be_an_error() -> None:
    assert isinstance(of_whole("p", b'{"error": {"code": 503}}'), TransientError)
    assert "base URL" in str(of_whole("p", b'{"choices": []}'))
    assert "base URL" in str(of_whole("p", b"<html>"))


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
