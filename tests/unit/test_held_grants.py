"""What the own host took back does not count when somebody else puts it in again."""

from msgspec.structs import replace

from wcore.persistence.held_grants import HeldGrants
from wcore.store import LastingGrant, LoadedGrants
from wcore.vocabulary import Always, Persist

GRANT = LastingGrant(
    grant_id="g-1", tool="Read", scope=Always(), persist=Persist.PROJECT, from_call_id="c1",
    created_at="2026-01-01T00:00:00Z",
)  # fmt: skip


def test_a_grant_that_was_taken_back_and_put_in_again_by_somebody_else_waits() -> None:
    held = HeldGrants()
    assert held.read(LoadedGrants((GRANT,))) == [GRANT]
    held.drop("g-1")
    again = replace(GRANT, grant_id="g-2")
    assert held.read(LoadedGrants((again,))) == [], "nobody looked in between"
    assert held.waiting == [again]
    held.accept()
    assert held.read(LoadedGrants((again,))) == [again]
