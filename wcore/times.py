"""Times as wcore keeps and sends them: RFC 3339, UTC, microseconds."""

from datetime import UTC, datetime


def stamp(moment: datetime) -> str:
    """Return an aware time as RFC 3339: UTC, microseconds; such texts sort by time."""
    text = moment.astimezone(UTC).isoformat(timespec="microseconds")
    return text.replace("+00:00", "Z")


def now() -> str:
    """Return the time of day."""
    return stamp(datetime.now(UTC))


def age_s(at: str) -> float:
    """Return how long ago a time was, in seconds, by the time of day; negative if it is to come."""
    return (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds()
