"""The audit after somebody with the rights of its owner has been at it."""

import hashlib
import json

import pytest
from store.samples import decided

from wcore.store import audit
from wcore.store.audit import COLUMNS, Entry
from wcore.store.audit_verify import PROBLEMS_MAX, Head, verify
from wcore.store.database import Database

TABLE = "agent_tool_approval_audit"
ROWS = 9


@pytest.fixture
def chain(database: Database) -> Database:
    """Nine rows without the triggers that refuse changes, as an owner can make it."""
    for number in range(1, ROWS + 1):
        audit.append(database, [Entry.of(decided(f"c{number}"))])
    on = f" ON {TABLE}" if "team" in database.name else ""
    for name in ("changed", "deleted", "replaced", "emptied"):
        with database.writing():
            database.change(f"DROP TRIGGER IF EXISTS audit_is_never_{name}{on}")
    return database


def change(database: Database, *statements: str) -> None:
    with database.writing():
        for statement in statements:
            database.change(statement)


def found(database: Database, head: Head | None = None) -> list[tuple[str, int]]:
    return [(problem.kind, problem.seq) for problem in verify(database, head).problems]


def swap(one: int, other: int) -> list[str]:
    numbers = [(one, -1), (other, one), (-1, other)]
    return [f"UPDATE {TABLE} SET seq = {b} WHERE seq = {a}" for a, b in numbers]


def test_an_untouched_audit_is_intact_and_its_head_is_its_last_row(chain: Database) -> None:
    result = verify(chain)
    assert (result.rows, result.problems, result.intact) == (ROWS, (), True)
    last = chain.query(f"SELECT hash FROM {TABLE} WHERE seq = {ROWS}")[0][0]
    assert result.head == Head(ROWS, str(last))
    assert verify(chain, result.head).intact


def test_an_empty_audit_is_intact(database: Database) -> None:
    result = verify(database)
    assert (result.rows, result.intact, result.head) == (0, True, Head(0, "0" * 64))
    assert verify(database, result.head).intact


@pytest.mark.parametrize("column", [c for c in COLUMNS if c not in ("seq", "prev_hash", "hash")])
def test_a_change_of_any_column_is_found_and_the_row_named(chain: Database, column: str) -> None:
    values = {
        "with_override": "NOT with_override",
        "decision": "'denied'",
        "source": "'mode'",
        "created_at": "'2020-01-01T00:00:00.000000Z'",
        "reason": "'x', decision = 'denied_with_reason'",
        "format": "1",
    }
    uuid = "'00000000-0000-7000-8000-00000000000f'"
    default = uuid if column.endswith("id") and column not in ("tool_call_id", "rule_id") else "'x'"
    change(chain, f"UPDATE {TABLE} SET {column} = {values.get(column, default)} WHERE seq = 4")
    assert found(chain) == [("altered", 4)]


@pytest.mark.parametrize("column", ["prev_hash", "hash"])
def test_a_changed_hash_is_found(chain: Database, column: str) -> None:
    change(chain, f"UPDATE {TABLE} SET {column} = '{'f' * 64}' WHERE seq = 4")
    assert ("altered", 4) in found(chain)


def test_a_row_that_was_altered_and_hashed_again_is_found_by_its_successor(
    chain: Database,
) -> None:
    change(chain, f"UPDATE {TABLE} SET tool_name = 'Read' WHERE seq = 4")
    names = ", ".join(COLUMNS)
    row = chain.query(f"SELECT {names} FROM {TABLE} WHERE seq = 4")[0]
    plain = [*row]
    plain[COLUMNS.index("with_override")] = False
    again = audit.hash_of(plain, str(row[COLUMNS.index("prev_hash")]))
    change(chain, f"UPDATE {TABLE} SET hash = '{again}' WHERE seq = 4")
    result = verify(chain)
    assert [(problem.kind, problem.seq) for problem in result.problems] == [("altered", 4)]
    assert "written anew" in result.problems[0].detail


@pytest.mark.parametrize(
    ("gone", "problem"),
    [("seq = 4", "row 4 is missing"), ("seq IN (1, 2)", "rows 1 to 2 are missing")],
)
def test_removed_rows_are_found_and_named(chain: Database, gone: str, problem: str) -> None:
    change(chain, f"DELETE FROM {TABLE} WHERE {gone}")
    assert [p.detail for p in verify(chain).problems] == [problem]


def test_a_gap_that_was_closed_by_renumbering_is_found(chain: Database) -> None:
    renumbered = [f"UPDATE {TABLE} SET seq = {n - 1} WHERE seq = {n}" for n in range(5, ROWS + 1)]
    change(chain, f"DELETE FROM {TABLE} WHERE seq = 4", *renumbered)
    assert found(chain) == [("reordered", n) for n in range(4, ROWS)]


def test_exchanged_rows_are_found_and_their_old_places_said(chain: Database) -> None:
    change(chain, *swap(3, 7))
    assert found(chain) == [("reordered", 3), ("reordered", 7)]
    assert verify(chain).problems[0].detail == "row 3 was written as row 7"


def test_a_truncation_is_found_with_a_head_and_only_with_one(chain: Database) -> None:
    head = verify(chain).head
    change(chain, f"DELETE FROM {TABLE} WHERE seq > 6")
    result = verify(chain)
    assert result.intact
    assert result.checked_head is None
    assert found(chain, head) == [("truncated", ROWS)]
    change(chain, f"DELETE FROM {TABLE} WHERE seq > 0")
    assert found(chain, head) == [("truncated", ROWS)]


def test_a_chain_that_was_written_anew_from_a_point_is_found_with_a_head(chain: Database) -> None:
    head = verify(chain).head
    change(chain, f"DELETE FROM {TABLE} WHERE seq > 6")
    for number in range(7, ROWS + 3):
        audit.append(chain, [Entry.of(decided(f"forged{number}"))])
    assert verify(chain).intact
    assert found(chain, head) == [("altered", ROWS)]


def test_an_older_head_still_fits_a_chain_that_has_grown(chain: Database) -> None:
    head = verify(chain).head
    audit.append(chain, [Entry.of(decided("later"))])
    assert verify(chain, head).intact


def test_many_problems_are_cut_and_said(chain: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    audit.append(chain, [Entry.of(decided(f"more{n}")) for n in range(PROBLEMS_MAX)])
    change(chain, f"UPDATE {TABLE} SET tool_name = 'x'")
    result = verify(chain)
    assert len(result.problems) == PROBLEMS_MAX
    assert result.more_problems


@pytest.mark.parametrize("page_rows", [1, 2, 3, 9, 10])
def test_the_borders_of_pages_hide_nothing(chain: Database, page_rows: int) -> None:
    rows = [row for page in audit.pages(chain, page_rows) for row in page]
    assert [row[COLUMNS.index("seq")] for row in rows] == list(range(1, ROWS + 1))


def test_the_hash_can_be_recomputed_from_the_documentation_alone(chain: Database) -> None:
    # protocol-spec/store.md: SHA-256 over prev_hash and the canonical JSON of the other columns.
    names = ", ".join(COLUMNS)
    for row in chain.query(f"SELECT {names} FROM {TABLE} ORDER BY seq"):
        columns = dict(zip(COLUMNS, row, strict=True))
        columns["with_override"] = bool(columns["with_override"])
        own, before = columns.pop("hash"), columns.pop("prev_hash")
        text = json.dumps(columns, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        assert hashlib.sha256(f"{before}{text}".encode()).hexdigest() == own


@pytest.mark.parametrize("text", ["", "5", "5:abc", f"x:{'0' * 64}", f"-1:{'0' * 64}", "5:" * 9])
def test_a_head_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="SEQ:HASH"):
        Head.parse(text)


def test_a_head_is_read_as_it_is_printed() -> None:
    head = Head(17, "ab" * 32)
    assert Head.parse(str(head)) == head
    assert Head.parse(str(head).upper()) == head


# --- formats ------------------------------------------------------------------------------------


FIRST_COLUMNS = (
    "id tool_call_id user_id agent_id chat_id tool_name decision with_override reason created_at "
    "source rule_id seq"
).split()


@pytest.fixture
def old_chain(chain: Database) -> Database:
    """The same rows, written as the first version wrote them."""
    names = ", ".join([*FIRST_COLUMNS, "hash"])
    before = "0" * 64
    for row in chain.query(f"SELECT {names} FROM {TABLE} ORDER BY seq"):
        columns = dict(zip(FIRST_COLUMNS, row, strict=False))
        columns["with_override"] = columns["with_override"] in (1, True)
        text = json.dumps(columns, sort_keys=True, separators=(",", ":"))
        now = hashlib.sha256((before + text).encode()).hexdigest()
        at = f"WHERE seq = {columns['seq']}"
        change(chain, f"UPDATE {TABLE} SET format = 1, prev_hash = '{before}', hash = '{now}' {at}")
        before = now
    return chain


def test_rows_of_the_first_format_are_intact_and_new_ones_follow_them(
    old_chain: Database,
) -> None:
    audit.append(old_chain, [Entry.of(decided("later", rule_id="Write", rule_source="/p:1"))])
    result = verify(old_chain)
    assert (result.rows, result.problems) == (ROWS + 1, ())


@pytest.mark.parametrize(
    ("assignment", "kind"),
    [
        ("rule_source = '/etc/wcore/policy.toml:1'", "altered"),  # what no hash covers
        ("format = 2", "altered"),
        ("format = 3", "altered"),  # a format that nobody has written
        ("format = 0", "altered"),
        ("decision = 'denied'", "altered"),
        ("seq = 40", "reordered"),
    ],
)
def test_a_change_of_a_row_of_the_first_format_is_found(
    old_chain: Database, assignment: str, kind: str
) -> None:
    change(old_chain, f"UPDATE {TABLE} SET {assignment} WHERE seq = {ROWS}")
    assert [each[0] for each in found(old_chain) if each[0] != "removed"] == [kind]
