"""How often and after how long a failed request is sent again. Pure: the dice are handed in."""

from typing import Final

from wcore.models.errors import TransientError

ATTEMPTS_MAX: Final = 4  # with the waits below about five seconds of patience
BACKOFF_S: Final = 0.5  # the first wait; doubled each time
BACKOFF_S_MAX: Final = 8.0  # should there ever be more attempts
RETRY_AFTER_S_MAX: Final = 60.0  # a person waits; beyond this they should decide themselves


def delay_s(error: TransientError, attempt: int, draw: float) -> float | None:
    """Return the seconds to wait after attempt number `attempt` (from 1); `None` gives up.

    `draw` is a random number in [0, 1): without it all clients of a provider that comes back
    would knock at the same moment.
    """
    if attempt >= ATTEMPTS_MAX:
        return None
    if error.retry_after_s is not None:
        return None if error.retry_after_s > RETRY_AFTER_S_MAX else error.retry_after_s
    return min(BACKOFF_S_MAX, BACKOFF_S * 2 ** (attempt - 1)) * (0.5 + draw / 2)


def in_words(seconds: float) -> str:
    """Return a wait for people: `0.5 s`, `30 s`, `2.5 min`, `24 h`, `10 days`."""
    for unit, size_s in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size_s:
            return f"{seconds / size_s:.3g} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"
