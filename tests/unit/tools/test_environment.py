from pathlib import Path

import pytest

from wcore.tools.environment import cleaned, find_bash, find_ripgrep


@pytest.mark.parametrize("path", ["", ".", ":relative:", None])
def test_a_path_without_absolute_folders_falls_back_to_the_systems(path: str | None) -> None:
    environ = {} if path is None else {"PATH": path}
    assert cleaned(environ)["PATH"] == "/usr/local/bin:/usr/bin:/bin"


def test_programs_that_the_project_brings_along_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    workspace, outside = tmp_path / "w", tmp_path / "o"
    for folder in (workspace, outside):
        folder.mkdir()
    planted = workspace / "rg"
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o755)
    (outside / "rg").symlink_to(planted)
    environ = {"PATH": f"{workspace}:{outside}"}
    assert find_ripgrep(environ, str(workspace)) is None
    assert find_ripgrep(environ, str(outside)) == str(planted)


def test_the_systems_bash_comes_first(tmp_path: Path) -> None:
    planted = tmp_path / "bash"
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o755)
    found = find_bash({"PATH": str(tmp_path)}, "/elsewhere")
    assert found in ("/bin/bash", "/usr/bin/bash")
