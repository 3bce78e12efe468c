"""Text and time as both databases can keep them: no NUL, no lone surrogates, UTC."""

from datetime import UTC, datetime, timedelta

from wcore.times import stamp

_REPLACEMENT = "�"


def storable(text: str, chars_max: int) -> str:
    """Return `text` cut to `chars_max` characters; what cannot be stored becomes `�`."""
    text = text[:chars_max].replace("\0", _REPLACEMENT)
    return text.encode("utf-8", "replace").decode() if _has_surrogates(text) else text


def storable_key(text: str) -> str:
    """Return `text` for a key column: different texts stay different.

    Paths need not be UTF-8. What cannot be stored is kept as hexadecimal after a `!`, which no
    absolute path begins with.
    """
    if "\0" not in text and not text.startswith("!") and not _has_surrogates(text):
        return text
    return "!" + text.encode("utf-8", "surrogatepass").hex()


def from_key(stored: str) -> str:
    """Return the text that `storable_key` was given."""
    if not stored.startswith("!"):
        return stored
    return bytes.fromhex(stored[1:]).decode("utf-8", "surrogatepass")


def now() -> str:
    """Return the time as it is stored: RFC 3339, UTC, microseconds; sorts as text."""
    return stamp(datetime.now(UTC))


def normal_time(text: str) -> str:
    """Return an RFC 3339 time in the stored form.

    Raises:
        ValueError: it is no time, or has no offset.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"the time {text!r} has no offset from UTC")
    return stamp(moment)


def seconds_from_now(seconds: float) -> str:
    """Return the stored form of a moment `seconds` after now; negative is before."""
    return stamp(datetime.now(UTC) + timedelta(seconds=seconds))


def _has_surrogates(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text)
