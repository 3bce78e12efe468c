"""What the audit comes to: counts for the plots, and rows for the table. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from wcore_host.events import Json

ROWS_SHOWN_MAX: Final = 200  # decisions in one table; a search finds the others

Row = Mapping[str, Json]


def decisions(rows: Sequence[Row], *, more: bool, words: str) -> dict[str, Json]:
    """Return counts by day, outcome and source, and the newest rows that hold all `words`."""
    wanted = words.casefold().split()
    days: Counter[tuple[str, str, str]] = Counter()
    shown: list[Json] = []
    found = 0
    for row in rows:
        if wanted and not _holds(row, wanted):
            continue
        found += 1
        outcome = "approved" if row.get("decision") == "approved" else "denied"
        days[str(row.get("created_at"))[:10], outcome, str(row.get("source"))] += 1
        if len(shown) < ROWS_SHOWN_MAX:
            shown.append(dict(row))
    counts: list[Json] = [
        {"day": day, "outcome": outcome, "source": source, "count": count}
        for (day, outcome, source), count in sorted(days.items())
    ]
    return {"rows": shown, "found": found, "more": more, "days": counts}


def _holds(row: Row, wanted: Sequence[str]) -> bool:
    text = " ".join(str(value) for value in row.values() if value is not None).casefold()
    return all(word in text for word in wanted)
