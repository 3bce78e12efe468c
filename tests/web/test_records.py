"""The pictures: what counts of an audit and of a journal, and what is passed over."""

from typing import Any

from wcore_host.web import audit_stats, session_stats

Row = dict[str, Any]


def decided(day: int, decision: str, source: str, **more: str) -> Row:
    at = f"2026-11-{day:02}T10:00:00.000000Z"
    return {"created_at": at, "decision": decision, "source": source, "tool_name": "Bash", **more}


def record(seconds: float, kind: str, **body: Any) -> Row:
    return {"seq": 1, "kind": kind, "at": f"2026-11-22T10:00:{seconds:06.3f}+00:00", "body": body}


def test_decisions_are_counted_by_day_outcome_and_source() -> None:
    rows = [
        decided(2, "approved", "user"),
        decided(2, "approved", "user"),
        decided(2, "denied_with_reason", "user", reason="no"),
        decided(1, "denied", "timeout"),
    ]
    found = audit_stats.decisions(rows, more=False, words="")
    assert found["days"] == [
        {"day": "2026-11-01", "outcome": "denied", "source": "timeout", "count": 1},
        {"day": "2026-11-02", "outcome": "approved", "source": "user", "count": 2},
        {"day": "2026-11-02", "outcome": "denied", "source": "user", "count": 1},
    ]


def test_a_search_keeps_rows_that_hold_all_words_whatever_their_case() -> None:
    rows = [
        decided(1, "denied_with_reason", "user", reason="Not Today"),
        decided(1, "denied", "rule", rule_id="today"),
    ]
    found = audit_stats.decisions(rows, more=True, words="TODAY user")
    assert found["found"] == 1
    assert found["more"] is True
    assert found["rows"] == [rows[0]]


def test_only_the_newest_rows_are_shown_but_all_are_counted() -> None:
    rows = [decided(1, "approved", "mode") for _ in range(audit_stats.ROWS_SHOWN_MAX + 5)]
    found = audit_stats.decisions(rows, more=False, words="")
    assert found["found"] == len(rows)
    assert isinstance(found["rows"], list)
    assert len(found["rows"]) == audit_stats.ROWS_SHOWN_MAX


JOURNAL = [
    {"session_id": "s1"},
    record(0, "turn_started", msg_id="m1"),
    record(
        1,
        "replied",
        calls=[{"call_id": "c1", "name": "Bash", "args": {"command": "make"}}, "odd", {}],
    ),
    record(1, "asked", call_id="c1", row="default"),
    record(4, "decided", call_id="c1", tool="Bash", source="user", decision="approved"),
    record(4, "started", call_id="c1"),
    record(6, "ended", call_id="c1"),
    record(7, "turn_ended", msg_id="m1"),
    record(47, "turn_started", msg_id="m2"),
    record(48, "prepared", call_id="c2", command="make", description="Execute: make"),
    record(48, "asked", call_id="c2"),
    record(58, "decided", call_id="c2", tool="Bash", source="timeout", decision="denied"),
    record(59, "turn_ended", msg_id="m2"),
]


def test_a_session_is_drawn_without_what_passes_between_turns() -> None:
    found = session_stats.session(JOURNAL, more=False)
    assert found["session_id"] == "s1"
    assert isinstance(found["stretches"], list)
    drawn = [(e["kind"], e["start"], e["end"]) for e in found["stretches"] if isinstance(e, dict)]
    assert drawn == [
        ("turn", 0.0, 7.0),
        ("wait", 1.0, 4.0),
        ("run", 4.0, 6.0),
        ("turn", 7.0, 19.0),
        ("wait", 8.0, 18.0),
    ]


def test_only_answers_of_a_person_count_as_time_to_answer() -> None:
    found = session_stats.session(JOURNAL, more=False)
    assert found["median_s"] == 3.0
    assert isinstance(found["answers"], list)
    counts = [(e["label"], e["count"]) for e in found["answers"] if isinstance(e, dict)]
    assert [each for each in counts if each[1]] == [("2 to 5 s", 1)]


def test_questions_about_the_same_command_are_one_with_a_count() -> None:
    found = session_stats.session(JOURNAL, more=False)
    assert found["asked"] == [{"tool": "Bash", "what": "make", "count": 2}]


def test_records_that_make_no_sense_are_passed_over() -> None:
    odd: list[Row] = [
        {"session_id": "s1"},
        {},
        {"kind": "asked", "at": "never", "body": {"call_id": "c"}},
        {"kind": "decided", "at": "2026-11-22T10:00:00Z", "body": {"call_id": 7}},
        {"kind": "ended", "at": "2026-11-22T10:00:00Z", "body": None},
        record(1, "turn_ended"),
        record(2, "invented_tomorrow", call_id="c"),
    ]
    found = session_stats.session(odd, more=False)
    assert found["asked"] == []
    assert session_stats.session([], more=False)["stretches"] == []
