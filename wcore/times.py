"""Times as wcore keeps and sends them. Pure."""

from datetime import UTC, datetime


def stamp(moment: datetime) -> str:
    """Return an aware time as RFC 3339: UTC, microseconds; such texts sort by time."""
    text = moment.astimezone(UTC).isoformat(timespec="microseconds")
    return text.replace("+00:00", "Z")
