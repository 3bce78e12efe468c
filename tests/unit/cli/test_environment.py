"""What the environment means: folders that count, and keys that are taken out of it."""

import pytest

from wcore.cli import environment


@pytest.mark.parametrize("given", ["", "relative", "./config", "../config"])
def test_a_relative_xdg_folder_is_ignored(given: str) -> None:
    environ = {"HOME": "/home/ann", "XDG_CONFIG_HOME": given, "XDG_STATE_HOME": given}
    own = environment.places("/tmp", environ).own
    assert own == ("/home/ann/.config/wcore", "/home/ann/.local/state/wcore")


def test_absolute_xdg_folders_count() -> None:
    environ = {"HOME": "/home/ann", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"}
    assert environment.places("/tmp", environ).own == ("/c/wcore", "/s/wcore")


def test_only_path_folders_inside_the_workspace_are_noted(tmp_path: object) -> None:
    workspace = str(tmp_path)
    environ = {"HOME": "/home/ann", "PATH": f"/usr/bin:{workspace}/bin::relative"}
    assert environment.places(workspace, environ).on_path == (f"{workspace}/bin",)
