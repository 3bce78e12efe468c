from collections.abc import Callable
from itertools import product

import pytest
from store.samples import KEY, OTHER_USER, USER, granted

from wcore.store import grants, tiers
from wcore.store.database import Database
from wcore.store.encoding import seconds_from_now
from wcore.store.errors import StoreError
from wcore.store.values import GRANTS_MAX, GrantKey, LastingGrant, LoadedGrants
from wcore.vocabulary import Always, AlwaysExact, AlwaysPath, AlwaysPrefix, Persist

ELSEWHERE = GrantKey(USER, "/other")


def kept(database: Database, key: GrantKey = KEY) -> list[str]:
    loaded = grants.load(database, key)
    assert loaded.problem is None
    return [grant.grant_id for grant in loaded.grants]


@pytest.mark.parametrize(
    "scope",
    [
        Always(),
        AlwaysPrefix("cargo build"),
        AlwaysPath("/srv/docs"),
        AlwaysPrefix("ü\0"),
        AlwaysExact(" ./build.sh\t--fast \n"),
        AlwaysExact("!echo \udcff"),
    ],
)
def test_a_grant_comes_back_as_it_was_given(
    database: Database, scope: Always | AlwaysPrefix | AlwaysPath | AlwaysExact
) -> None:
    grant = granted(
        scope=scope,
        agent="reviewer/linter",
        tool="mcp__db__query",
        expires_at=seconds_from_now(60),
        created_at="2026-11-21T10:00:00.123456Z",
        agent_digest="a" * 64,
        launch_digest="b" * 64,
        schema_digest="c" * 64,
        ties_digest="d" * 64,
    )
    grants.add(database, KEY, grant)
    assert grants.load(database, KEY) == LoadedGrants((grant,))


def test_a_project_grant_holds_in_its_workspace_and_a_user_grant_everywhere(
    database: Database,
) -> None:
    grants.add(database, KEY, granted("g-project"))
    grants.add(database, KEY, granted("g-user", persist=Persist.USER))
    assert kept(database) == ["g-project", "g-user"]
    assert kept(database, ELSEWHERE) == ["g-user"]
    assert kept(database, GrantKey(OTHER_USER, "/w")) == []


def test_a_grant_for_the_session_is_refused(database: Database) -> None:
    with pytest.raises(ValueError, match="not kept"):
        grants.add(database, KEY, granted(persist=Persist.SESSION))


def test_an_equal_grant_is_kept_once(opened: Callable[[], Database]) -> None:
    one, other = opened(), opened()
    first = grants.add(one, KEY, granted("g-1"))
    assert grants.add(other, KEY, granted("g-2")).grant_id == first.grant_id
    assert kept(one) == ["g-1"]


def test_grants_that_differ_in_any_part_of_the_key_are_two(database: Database) -> None:
    parts: dict[str, tuple[object, ...]] = {
        "tool": ("Bash", "Read"),
        "agent": ("main", "reviewer"),
        "scope": (Always(), AlwaysPrefix("a"), AlwaysPath("/a"), AlwaysExact("/a")),
        "persist": (Persist.PROJECT, Persist.USER),
        "agent_digest": (None, "", "d"),
        "launch_digest": (None, "d"),
        "ties_digest": (None, "d"),
    }
    all_of_them = list(product(*parts.values()))
    for number, values in enumerate(all_of_them):
        grants.add(
            database, KEY, granted(f"g-{number:03}", **dict(zip(parts, values, strict=True)))
        )
    assert len(kept(database)) == len(all_of_them)


COPY = """
    INSERT INTO grants (grant_id, same, tool, user_id, workspace, agent, kind, value, from_call_id,
        created_at)
    SELECT :id, :id, :tool, user_id, workspace, agent, kind, value, from_call_id, created_at
    FROM grants WHERE grant_id = 'g-0'
"""


def test_of_several_grants_all_are_kept_or_none(database: Database) -> None:
    several = [granted("g-1"), granted("g-2", scope=AlwaysPrefix("git add"))]
    grants.add_all(database, KEY, several)
    assert kept(database) == ["g-1", "g-2"]
    one_is_none = [granted("g-3", scope=AlwaysPrefix("git log")), granted("g-4", created_at="?")]
    with pytest.raises(ValueError, match="isoformat"):
        grants.add_all(database, KEY, one_is_none)
    assert kept(database) == ["g-1", "g-2"]


def test_a_set_that_is_one_too_many_keeps_nothing(database: Database) -> None:
    grants.add(database, KEY, granted("g-0"))
    with database.writing():
        for number in range(1, GRANTS_MAX - 1):
            database.change(COPY, id=f"g-{number}", tool=f"t{number}")
    two = [granted("new-1", scope=AlwaysPrefix("a")), granted("new-2", scope=AlwaysPrefix("b"))]
    with pytest.raises(StoreError, match="revoke some"):
        grants.add_all(database, KEY, two)
    assert not [name for name in kept(database) if name.startswith("new")]


def test_an_expired_grant_is_not_loaded_and_does_not_stand_in_the_way(database: Database) -> None:
    grants.add(database, KEY, granted("g-old", expires_at=seconds_from_now(-1)))
    assert kept(database) == []
    assert grants.add(database, KEY, granted("g-new")).grant_id == "g-new"
    assert kept(database) == ["g-new"]


def test_a_yes_for_longer_replaces_a_shorter_one_and_a_shorter_one_changes_nothing(
    database: Database,
) -> None:
    soon, late = seconds_from_now(60), seconds_from_now(3600)
    given = [("g-1", soon), ("g-2", late), ("g-3", soon), ("g-4", None), ("g-5", late)]
    answers = [
        grants.add(database, KEY, granted(name, expires_at=until)).grant_id for name, until in given
    ]
    assert answers == ["g-1", "g-2", "g-2", "g-4", "g-4"]
    assert kept(database) == ["g-4"]


def test_a_revoke_is_seen_by_another_engine_through_the_counter(
    opened: Callable[[], Database],
) -> None:
    one, other = opened(), opened()
    grants.add(one, KEY, granted())
    known = tiers.versions(other)
    assert kept(other) == ["g-1"]
    assert grants.revoke(one, KEY, "g-1")
    assert tiers.versions(other).grants > known.grants
    assert kept(other) == []


def test_a_grant_can_be_revoked_from_another_workspace_but_not_by_another_user(
    database: Database,
) -> None:
    grants.add(database, KEY, granted())
    assert not grants.revoke(database, GrantKey(OTHER_USER, "/w"), "g-1")
    assert not grants.revoke(database, KEY, "g-unknown\0")
    assert kept(database) == ["g-1"]
    assert grants.revoke(database, ELSEWHERE, "g-1")


def test_uses_are_counted_and_do_not_make_other_engines_read_again(
    opened: Callable[[], Database],
) -> None:
    one, other = opened(), opened()
    grants.add(one, KEY, granted())
    known = tiers.versions(one)
    for database in (one, other, one):
        grants.count_use(database, "g-1")
    assert grants.load(other, KEY).grants[0].uses == 3
    assert tiers.versions(one) == known


def test_there_are_at_most_so_many_grants(database: Database) -> None:
    grants.add(database, KEY, granted("g-0", tool="t0"))
    with database.writing():
        for number in range(1, GRANTS_MAX):
            database.change(COPY, id=f"g-{number}", tool=f"t{number}")
    with pytest.raises(StoreError, match="revoke some"):
        grants.add(database, KEY, granted("g-more"))
    assert len(kept(database)) == GRANTS_MAX


def test_a_grant_that_makes_no_sense_is_left_out_and_said(database: Database) -> None:
    grants.add(database, KEY, granted("g-good"))
    for name, value in (("g-bad", ""), ("g-worse", "relative"), ("g-worst", "!zz")):
        grants.add(database, KEY, granted(name, scope=AlwaysPath(f"/{name}")))
        with database.writing():
            database.change(
                "UPDATE grants SET value = :value WHERE grant_id = :name", name=name, value=value
            )
    loaded = grants.load(database, KEY)
    assert [grant.grant_id for grant in loaded.grants] == ["g-good"]
    assert loaded.problem is not None
    assert "3 of them cannot be read" in loaded.problem


def test_workspaces_whose_names_are_no_text_do_not_share_grants(database: Database) -> None:
    odd = ["/w\udcff", "/w\udcfe", "/w�", "/w", "/w\\udcff"]
    for number, workspace in enumerate(odd):
        grants.add(database, GrantKey(USER, workspace), granted(f"g-{number}"))
    for number, workspace in enumerate(odd):
        assert kept(database, GrantKey(USER, workspace)) == [f"g-{number}"]


def test_a_time_without_an_offset_is_refused(database: Database) -> None:
    with pytest.raises(ValueError, match="no offset"):
        grants.add(database, KEY, granted(expires_at="2026-11-21T10:00:00"))
    assert grants.load(database, KEY) == LoadedGrants(())


def test_the_grant_type_has_no_place_for_arguments() -> None:
    assert not {"args", "arguments", "input"} & set(LastingGrant.__struct_fields__)
