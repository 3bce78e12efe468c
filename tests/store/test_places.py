"""Where the store lies, and who somebody is in it: the same today and tomorrow."""

import os
import pwd
import uuid
from pathlib import Path

import pytest

from wcore.errors import UsageError
from wcore.store import StoreError, StoreLostError, encoding, identity, locate
from wcore.store.opening import open_database

HOME = {"HOME": "/home/me"}


def test_the_default_store_is_in_the_state_folder() -> None:
    assert locate(None, HOME).path == "/home/me/.local/state/wcore/wcore.db"
    state = {**HOME, "XDG_STATE_HOME": "/state"}
    assert locate(None, state).path == "/state/wcore/wcore.db"
    assert locate(None, {**HOME, "XDG_STATE_HOME": "relative"}).path.startswith("/home/me/.local/")


def test_a_store_can_be_named_by_flag_and_by_environment(tmp_path: Path) -> None:
    named = {**HOME, "WCORE_STORE": str(tmp_path / "env.db")}
    assert locate(None, named).path == str(tmp_path / "env.db")
    assert locate(str(tmp_path / "flag.db"), named).path == str(tmp_path / "flag.db")


@pytest.mark.parametrize("given", ["", "~", "me"])
def test_a_tilde_is_the_home_folder_or_nothing(given: str) -> None:
    real = locate("~/x.db", {"HOME": given})
    assert real.path == os.path.realpath(f"{pwd.getpwuid(os.getuid()).pw_dir}/x.db")
    assert locate("~/x.db", HOME).path == "/home/me/x.db"
    with pytest.raises(UsageError, match="there is no such user"):
        locate("~nobody-of-that-name/x.db", HOME)


def test_a_state_folder_in_the_workspace_makes_a_store_that_is_not_opened(tmp_path: Path) -> None:
    at_home = {"HOME": str(tmp_path)}
    for workspace, is_inside in ((str(tmp_path), True), (f"{tmp_path}/below", False), ("/", True)):
        place = locate(None, at_home, workspace)
        assert place.in_workspace is is_inside
        assert (place.is_kept, place.own_folder) == (True, True)
        if is_inside:
            with pytest.raises(StoreLostError, match=r"would lie in the workspace.*XDG_STATE_HOME"):
                open_database(place)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["wcore.db", "a/../b/wcore.db", "."])
def test_a_store_in_the_workspace_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="would lie in the workspace"):
        locate(str(tmp_path / name), HOME, workspace=str(tmp_path))


def test_a_link_that_leads_into_the_workspace_is_refused(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    workspace.mkdir()
    (tmp_path / "link").symlink_to(workspace)
    with pytest.raises(StoreError, match="would lie in the workspace"):
        locate(str(tmp_path / "link" / "wcore.db"), HOME, workspace=str(workspace))
    beside = locate(f"{workspace}2/wcore.db", HOME, workspace=str(workspace))
    assert beside.path == f"{workspace}2/wcore.db"


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_url_is_shown_without_its_password(scheme: str) -> None:
    url = f"{scheme}://me:hunter2@db.example:5433/wcore?password=hunter2"
    location = locate(url, HOME)
    assert location.url == url
    assert location.name == "postgresql://me@db.example:5433/wcore"
    assert "hunter2" not in repr(location)


def test_a_url_of_another_kind_is_refused() -> None:
    with pytest.raises(StoreError, match="no known kind; give a file or a postgresql:// URL"):
        locate("mysql://me:hunter2@x/y", HOME)


def test_ids_are_stable_and_differ_for_what_differs() -> None:
    ids = {
        identity.user_id(),
        identity.agent_id("/w"),
        identity.agent_id("/w", "a"),
        identity.agent_id("/w2", "a"),
        identity.agent_id("/w\udcff", "a"),
        identity.chat_id("s"),
        identity.session_key(identity.user_id(), "s"),
    }
    assert len(ids) == 7
    assert {made.version for made in ids} == {5}
    assert identity.user_id() == identity.user_id()
    assert identity.agent_id("/w") == identity.agent_id("/w", "main")


def test_a_given_user_id_is_used_and_must_be_a_uuid() -> None:
    given = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    assert str(identity.user_id(given)) == given
    with pytest.raises(ValueError, match="UUID"):
        identity.user_id("me")


def test_new_ids_are_uuids_of_version_7_and_sort_by_time() -> None:
    made = [identity.new_id() for _ in range(100)]
    assert {(one.version, one.variant) for one in made} == {(7, uuid.RFC_4122)}
    assert len(set(made)) == 100
    times = [one.int >> 80 for one in made]
    assert times == sorted(times)


@pytest.mark.parametrize("text", ["", "/w", "!x", "!", "a\0b", "\ud800", "/w\udcff", "é🦊"])
def test_a_key_comes_back_as_it_was(text: str) -> None:
    stored = encoding.storable_key(text)
    assert encoding.from_key(stored) == text
    assert "\0" not in stored
    stored.encode()


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("2026-11-21T10:00:00Z", "2026-11-21T10:00:00.000000Z"),
        ("2026-11-21T10:00:00.5+02:00", "2026-11-21T08:00:00.500000Z"),
    ],
)
def test_times_are_stored_in_one_form(given: str, stored: str) -> None:
    assert encoding.normal_time(given) == stored
