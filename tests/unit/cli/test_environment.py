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


def test_keys_of_providers_are_taken_out_and_nothing_else() -> None:
    environ = {
        "OPENAI_API_KEY": "a",
        "ANTHROPIC_AUTH_TOKEN": "b",
        "AWS_SECRET_ACCESS_KEY": "c",
        "PATH": "/bin",
        "API_KEY_FILE": "kept",
    }
    taken = environment.take_keys(environ)
    assert sorted(taken) == ["ANTHROPIC_AUTH_TOKEN", "AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY"]
    assert environ == {"PATH": "/bin", "API_KEY_FILE": "kept"}
