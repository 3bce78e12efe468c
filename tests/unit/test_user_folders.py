"""Where the user's folders are, and when one of them is the workspace's."""

import os
import pwd
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import waiting
from hypothesis import given
from hypothesis import strategies as st

from wcore import user_folders
from wcore.errors import ConfigError

NAMES = st.text("ab", min_size=1, max_size=2)
TREES = st.lists(NAMES, max_size=4).map(lambda names: "/".join(["", *names]) or "/")


@given(TREES, TREES)
def test_a_folder_lies_in_those_above_it_and_in_itself(path: str, folder: str) -> None:
    path, folder = f"/nowhere{path}".rstrip("/"), f"/nowhere{folder}".rstrip("/")
    assert user_folders.lies_in(path, folder) is (f"{path}/".startswith(f"{folder}/"))
    assert user_folders.lies_in(path, "/")
    for spelled in (path.upper(), folder), (path, folder.upper()):
        assert user_folders.lies_in(*spelled) is user_folders.lies_in(path, folder)


def by_link(place: Path) -> str:
    (place / "l").symlink_to(place / "ws")
    return str(place / "l" / "not" / "there")


def by_dangling_link(place: Path) -> str:
    (place / "l").symlink_to(place / "ws" / "to come")
    return str(place / "l")


def by_dots(place: Path) -> str:
    return str(place / "ws" / ".." / "ws" / "x")


def by_links_in_turn(place: Path) -> str:
    (place / "other").mkdir()
    (place / "other" / "l").symlink_to("../ws")
    (place / "m").symlink_to("other/l/x")
    return str(place / "m")


WAYS: list[Callable[[Path], str]] = [by_link, by_dangling_link, by_dots, by_links_in_turn]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_whatever_leads_there_lies_there(way: Callable[[Path], str], tmp_path: Path) -> None:
    place = tmp_path.resolve()
    (place / "ws").mkdir()
    path = way(place)
    assert user_folders.lies_in(path, str(place / "ws"))
    assert not user_folders.lies_in(str(place / "ws2"), str(place / "ws"))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a folder twice")
def test_a_folder_that_is_mounted_twice_is_one(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "home").mkdir()
    there = [str(tmp_path / "home" / "x"), str(tmp_path / "ws")]
    asks = "import sys; from wcore.user_folders import lies_in; print(lies_in(*sys.argv[1:]))"
    mount = f"mount --bind {shlex.quote(there[1])} {shlex.quote(str(tmp_path / 'home'))}"
    inner = shlex.join([sys.executable, "-c", asks, *there])
    done = waiting.run(["unshare", "--mount", "sh", "-c", f"{mount} && {inner}"])
    if done.returncode:
        pytest.skip(f"no mount here: {done.stderr}")
    assert done.stdout == "True\n"
    assert not user_folders.lies_in(*there)


BAD = ("", "~", "~/x", "~me", "x", "./x", "../x", "$HOME", " /x")


@pytest.mark.parametrize("value", BAD)
def test_what_is_no_absolute_path_is_no_folder(value: str) -> None:
    home = pwd.getpwuid(os.getuid()).pw_dir
    environ = {"HOME": value, "XDG_CONFIG_HOME": value, "XDG_STATE_HOME": value}
    assert user_folders.home(environ) == home
    assert user_folders.config_folder(environ) == os.path.realpath(f"{home}/.config/wcore")
    assert user_folders.state_folder(environ) == os.path.realpath(f"{home}/.local/state/wcore")
    told = user_folders.ignored(environ)
    assert [text.split()[0] for text in told] == ([*environ] if value else [])


@pytest.mark.parametrize("value", BAD)
def test_a_user_without_a_name_must_name_a_home(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)
    with pytest.raises(ConfigError, match="set HOME to an absolute path"):
        user_folders.home({"HOME": value})
    assert user_folders.home({"HOME": "/h"}) == "/h"
