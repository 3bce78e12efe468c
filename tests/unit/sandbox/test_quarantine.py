"""What a program may not leave behind is taken away."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from wcore.policy import protected
from wcore.policy_files.repositories import names_no_program
from wcore.sandbox import quarantine
from wcore.sandbox.masks import Rules, masks_of
from wcore.sandbox.quarantine import Moved

HARMLESS = '[core]\n\tbare = false\n[remote "o"]\n\turl = x\n'


class Left:
    """A workspace; what is new in it is taken away."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "ws"
        self.to = folder / "quarantine"
        self.problem = ""
        self.folder.mkdir()
        secret, unasked = protected.is_secret, protected.runs_unasked
        self.rules = Rules(secret, unasked, is_harmless=names_no_program)

    def write(self, path: str, text: str = "x") -> None:
        full = self.folder / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text)

    def moved(self, run: Callable[[], object]) -> list[Moved]:
        noted = masks_of(str(self.folder), (), "/nobody", self.rules)
        run()
        folders = (str(self.folder), ())
        to = str(self.to)
        moved, self.problem = quarantine.take_away(noted, *folders, self.rules, to)
        assert all(os.path.lexists(each.to) for each in moved)
        return moved

    def after(self, run: Callable[[], object]) -> list[str]:
        return [each.path.removeprefix(f"{self.folder}/") for each in self.moved(run)]


@pytest.fixture
def left(tmp_path: Path) -> Left:
    return Left(Path(os.path.realpath(tmp_path)))


@pytest.mark.parametrize(
    ("path", "gone"),
    [
        ("src/main.py", []),
        (".env", []),  # a secret that it made itself
        (".wcore/policy.toml", [".wcore"]),
        ("a/.vscode/tasks.json", ["a/.vscode"]),
        (".mcp.json", [".mcp.json"]),
        (".git/hooks/pre-commit", [".git/hooks/pre-commit"]),
        (".git/hooks/pre-commit.sample", []),
        (".git/commondir", [".git/commondir"]),
        (".git/config.worktree", [".git/config.worktree"]),
        ("new/.git", ["new/.git"]),
        ("node_modules/.git/config", []),  # nobody looks there
        (".git/modules/a/hooks/x", [".git/modules/a/hooks/x"]),
        (".git/refs/heads/config", []),
        (".envrc", [".envrc"]),
    ],
)
def test_what_is_new_under_a_protected_name_goes(left: Left, path: str, gone: list[str]) -> None:
    assert left.after(lambda: left.write(path)) == gone
    assert (left.folder / path).exists() == (not gone)


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        (HARMLESS, []),
        (HARMLESS + "[core]\n\tfsmonitor = ./x\n", ["new/.git/config"]),
        (HARMLESS + "[core]\n\tpager = ./x\n", ["new/.git/config"]),
        (HARMLESS + "[core]\n\tsshCommand = ./x\n", ["new/.git/config"]),
        (HARMLESS + "[core]\n\thooksPath = ./x\n", ["new/.git/config"]),
        (HARMLESS + "[include]\n\tpath = ./x\n", ["new/.git/config"]),
        (HARMLESS + "[alias]\n\tst = !x\n", ["new/.git/config"]),
        ("\0", ["new/.git/config"]),
    ],
)
def test_the_configuration_of_a_new_repository_may_name_no_program(
    left: Left, text: str, gone: list[str]
) -> None:
    assert left.after(lambda: left.write("new/.git/config", text)) == gone


GIT_FILE = "gitdir: ../.git/worktrees/tree"


@pytest.mark.parametrize(
    ("marker", "gitdir", "commondir", "gone"),
    [
        (GIT_FILE, "{ws}/tree/.git", "../..", []),
        ("gitdir: {ws}/.git/worktrees/tree", "{ws}/tree/.git", "../..", []),
        ("gitdir: {ws}/.git/modules/a", "{ws}/tree/.git", "../..", []),
        (GIT_FILE, "{ws}/tree/.git", "../../../fake", ["commondir"]),
        (GIT_FILE, "/etc/.git", "../..", ["gitdir"]),
        ("gitdir: {ws}/fake", "{ws}/tree/.git", "../..", [".git"]),
        ("gitdir: ../.git/objects/worktrees/x", "{ws}/tree/.git", "../..", [".git"]),
        ("gitdir: ../.git/modules/hooks", "{ws}/tree/.git", "../..", [".git"]),
        ("gitdir: ../node_modules/.git/modules/x", "{ws}/tree/.git", "../..", [".git"]),
        ("gitdir: ../.git/modules/../../fake", "{ws}/tree/.git", "../..", [".git"]),
        ("gitdir: /elsewhere/.git/worktrees/x", "{ws}/tree/.git", "../..", [".git"]),
        ("nothing", "{ws}/tree/.git", "../..", [".git"]),
    ],
)
def test_a_new_worktree_may_lead_to_this_repository_only(
    left: Left, marker: str, gitdir: str, commondir: str, gone: list[str]
) -> None:
    def made() -> None:
        left.write("tree/.git", marker.format(ws=left.folder))
        left.write(".git/worktrees/tree/gitdir", gitdir.format(ws=left.folder))
        left.write(".git/worktrees/tree/commondir", commondir)

    assert [path.rpartition("/")[2] for path in left.after(made)] == gone


def test_what_was_there_stays(left: Left) -> None:
    left.write(".vscode/tasks.json")
    left.write(".git/config", "[core]\n\tfsmonitor = x\n")
    assert left.after(lambda: left.write(".vscode/tasks.json", "other")) == []


def test_a_link_that_leads_elsewhere_now_is_put_back(left: Left) -> None:
    left.write("ours/x")
    left.write("theirs/x")
    link = left.folder / ".vscode"
    link.symlink_to("ours")

    def turn() -> None:
        link.unlink()
        link.symlink_to("theirs")

    assert left.after(turn) == [".vscode"]
    assert os.readlink(link) == "ours"
    assert left.after(link.unlink) == []
    assert os.readlink(link) == "ours"


def test_a_link_to_a_repository_is_put_back(left: Left) -> None:
    left.write("real/config", HARMLESS)
    (left.folder / ".git").symlink_to("real")

    def replaced() -> None:
        (left.folder / ".git").unlink()
        left.write(".git/config", "[core]\n\tfsmonitor = ./x\n")

    assert left.after(replaced) == [".git/config", ".git"]
    assert os.readlink(left.folder / ".git") == "real"


def test_what_a_configuration_names_counts_as_its_own(left: Left) -> None:
    left.write(".git/config", "[include]\n\tpath = ../tools/git\n[core]\n\thooksPath=hooks\n")
    left.write("hooks/pre-commit")

    def made() -> None:
        left.write("tools/git", "[core]\n\tfsmonitor = ./x\n")

    noted = masks_of(str(left.folder), (), "/nobody", left.rules)
    assert f"{left.folder}/hooks" in noted.kept
    assert left.after(made) == ["tools/git"]


def test_a_link_is_moved_and_not_what_it_leads_to(left: Left, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("x")
    assert left.after(lambda: (left.folder / ".vscode").symlink_to(tmp_path / "outside")) == [
        ".vscode"
    ]
    assert (tmp_path / "outside" / "file").exists()


def test_nothing_is_made_or_moved_outside(left: Left, tmp_path: Path) -> None:
    """By a folder that has become a link, on the way to a link or to what was not there."""
    outside = tmp_path / "outside"
    outside.mkdir()
    left.write("sub/x")
    left.write(".git/config", "[include]\n\tpath = ../tools/git\n")
    (left.folder / "sub" / ".bashrc").symlink_to("x")
    (left.folder / "tools").mkdir()

    def turned() -> None:
        (left.folder / "sub").rename(left.folder / "elsewhere")
        (left.folder / "tools").rename(left.folder / "elsewhere" / "tools")
        (left.folder / "sub").symlink_to(outside)
        (left.folder / "tools").symlink_to(outside)
        (outside / "git").write_text("the user's own")

    moved = left.after(turned)
    assert os.listdir(outside) == ["git"]
    assert (outside / "git").read_text() == "the user's own"
    assert "tools" in moved


@pytest.mark.parametrize("name", ["core.worktree", "core.fsmonitor", "include.path"])
def test_a_new_repository_may_not_lead_git_elsewhere(left: Left, name: str) -> None:
    section, _, key = name.partition(".")
    text = f"[{section}]\n\t{key} = /x\n"
    assert left.after(lambda: left.write("new/.git/config", text)) == ["new/.git/config"]


def test_on_another_file_system_it_stays_beside_under_another_name(left: Left) -> None:
    """What cannot be copied as well: a pipe, what is closed, more than fits there."""
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == left.folder.stat().st_dev:
        pytest.skip("there is no other file system")
    with tempfile.TemporaryDirectory(dir=shared) as other:
        left.to = Path(other) / "quarantine"

        def made() -> None:
            left.write("sub/.vscode/tasks.json")
            os.mkfifo(left.folder / "sub/.vscode/pipe")
            (left.folder / "sub/.vscode/closed").mkdir(mode=0)

        (moved,) = left.moved(made)
    assert left.problem == ""
    assert Path(moved.to).parent == left.folder / "sub"
    assert Path(moved.to).name.startswith("quarantined-quarantine-0-.vscode")


def test_what_has_the_longest_name_is_moved_and_the_rest_as_well(left: Left) -> None:
    names = ["x" * 240 + ".code-workspace", ".mcp.json", "sub/.vscode/x"]
    moved = left.after(lambda: [left.write(name) for name in names])
    assert sorted(moved) == sorted([*names[:2], "sub/.vscode"])
    assert left.problem == ""


def test_a_deep_tree_is_moved_with_what_it_is_in(left: Left) -> None:
    def made() -> None:
        left.write(".vscode/tasks.json")
        deepen(left.folder / ".vscode", 25)

    assert left.after(made) == [".vscode"]
    assert left.problem == ""


def test_what_cannot_be_moved_is_told_with_what_was(left: Left) -> None:
    left.to.write_text("a file in the way")
    folder = left.folder
    while len(str(folder)) < 3850:
        folder /= "d" * 200
    folder /= "d" * (4080 - len(str(folder)) - len("/.mcp.json"))

    def made() -> None:
        left.write(".vscode/x")
        folder.mkdir(parents=True)
        (folder / ".mcp.json").write_text("x")

    assert left.after(made) == [".vscode"]
    assert f"cannot be moved: {folder}/.mcp.json" in left.problem


def deepen(folder: Path, count: int) -> None:
    """Make folders below `folder`, deeper than a path is long."""
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(folder)
        for _ in range(count):
            os.mkdir("d" * 200)
            os.chdir("d" * 200)
    finally:
        os.fchdir(before)
        os.close(before)


def test_a_link_that_led_nowhere_leads_nowhere_afterwards(left: Left) -> None:
    (left.folder / ".vscode").symlink_to("later/vscode")
    (left.folder / ".envrc").symlink_to("/nowhere")

    def made() -> None:
        left.write("later/vscode/tasks.json")
        left.write("later/other")

    assert left.after(made) == ["later/vscode"]
    assert os.readlink(left.folder / ".vscode") == "later/vscode"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
@pytest.mark.parametrize("mode", [0o000, 0o111, 0o311, 0o500])
def test_a_folder_that_was_closed_is_opened(left: Left, mode: int) -> None:
    def made() -> None:
        left.write("a/.vscode/tasks.json")
        left.write("b/.mcp.json")
        (left.folder / "a").chmod(mode)

    assert sorted(left.after(made)) == ["a/.vscode", "b/.mcp.json"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root moves every folder")
def test_a_folder_that_was_fixed_is_moved(left: Left) -> None:
    def made() -> None:
        left.write(".vscode/tasks.json")
        (left.folder / ".vscode").chmod(0o500)

    assert left.after(made) == [".vscode"]


def test_the_modes_of_other_folders_stay(left: Left) -> None:
    left.folder.chmod(0o755)
    left.after(lambda: left.write(".mcp.json"))
    assert left.folder.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    ("text", "gone"), [(HARMLESS, []), ("[core]\n\tfsmonitor = ./x\n", ["{}config"])]
)
@pytest.mark.parametrize("folder", ["", "bare/"])
def test_a_bare_repository_in_the_open_is_one(
    left: Left, folder: str, text: str, gone: list[str]
) -> None:
    def made() -> None:
        left.write(f"{folder}config", text)
        left.write(f"{folder}HEAD", "ref: refs/heads/main")
        (left.folder / folder / "objects").mkdir()
        (left.folder / folder / "refs").mkdir()

    assert left.after(made) == [each.format(folder) for each in gone]
    left.write(f"{folder}objects/.vscode/x")  # nothing hides there
    left.write(f"{folder}.env")
    noted = masks_of(str(left.folder), (), "/nobody", left.rules)
    assert f"{left.folder}/{folder}objects/.vscode" in noted.kept
    assert f"{left.folder}/{folder}.env" in noted.files
