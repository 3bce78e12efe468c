"""What bubblewrap is told of a view."""

from typing import Final

from wcore.sandbox.masks import Masks
from wcore.sandbox.mounts import Place, arguments
from wcore.sandbox.workspace import homes_of
from wcore.views import READ_ONLY, WORKSPACE

PLACE: Final = Place(
    "/home/me/ws",
    private={"/tmp": None, "/home/me/.cache": "/state/cache"},
    emptied=("/run", "/home"),
    shown=("/home/me", "/usr/bin", "/run/dns/resolv.conf", "/tmp/venv"),
)
MASKS: Final = Masks(
    files=("/home/me/.netrc", "/home/me/ws/a/b/.env", "/home/me/.ssh/config"),
    folders=("/home/me/.ssh", "/home/me/.ssh/keys"),
    kept=("/home/me/ws/.git/hooks", "/home/me/ws/.vscode", "/home/me/ws/.vscode/x"),
)


def mounts(view: str, place: Place = PLACE, masks: Masks = MASKS) -> list[str]:
    """Return the mounts, each as one text."""
    told = arguments(view, place, masks, as_root=False)
    found: list[str] = []
    for word in told[told.index("/proc/sys") + 2 :]:
        if word.startswith("--") and found[-1:] != ["--perms 0000"]:
            found.append(word)
        else:
            found[-1] += f" {word}"
    return found


def test_everything_lies_on_top_of_what_it_is_in() -> None:
    assert mounts(WORKSPACE) == [
        "--tmpfs /home",
        "--ro-bind /home/me /home/me",
        "--bind /state/cache /home/me/.cache",
        "--tmpfs /run",
        "--ro-bind /run/dns/resolv.conf /run/dns/resolv.conf",
        "--tmpfs /tmp",
        "--ro-bind /tmp/venv /tmp/venv",
        "--bind /home/me/ws /home/me/ws",
        # What can be renamed would take what is masked in it along.
        "--bind /home/me/ws/.git /home/me/ws/.git",
        "--bind /home/me/ws/.vscode /home/me/ws/.vscode",
        "--bind /home/me/ws/a /home/me/ws/a",
        "--bind /home/me/ws/a/b /home/me/ws/a/b",
        "--ro-bind /home/me/ws/.git/hooks /home/me/ws/.git/hooks",
        "--ro-bind /home/me/ws/.vscode /home/me/ws/.vscode",
        "--perms 0000 --tmpfs /home/me/.ssh",
        "--remount-ro /home/me/.ssh",
        "--ro-bind /dev/null /home/me/.netrc",
        "--ro-bind /dev/null /home/me/ws/a/b/.env",
        "--remount-ro /run",
        "--remount-ro /home",
        "--chdir /home/me/ws",
    ]


def test_to_read_only_nothing_of_the_workspace_is_mounted_to_write() -> None:
    found = mounts(READ_ONLY)
    assert "--ro-bind /home/me/ws /home/me/ws" in found
    binds = [each for each in found if each.startswith("--bind")]
    assert binds == ["--bind /state/cache /home/me/.cache"]
    assert "--ro-bind /dev/null /home/me/ws/a/b/.env" in found


def test_a_repository_elsewhere_is_written_too() -> None:
    place = Place("/ws", repository=("/repo/.git",))
    found = mounts(WORKSPACE, place, Masks(kept=("/repo/.git/worktrees/a/commondir",)))
    assert found == [
        "--bind /ws /ws",
        "--bind /repo/.git /repo/.git",
        "--bind /repo/.git/worktrees /repo/.git/worktrees",
        "--bind /repo/.git/worktrees/a /repo/.git/worktrees/a",
        "--ro-bind /repo/.git/worktrees/a/commondir /repo/.git/worktrees/a/commondir",
        "--chdir /ws",
    ]


def test_root_keeps_the_rights_over_files_only() -> None:
    told = arguments(WORKSPACE, PLACE, Masks(), as_root=True)
    added = [told[at + 1] for at, word in enumerate(told) if word == "--cap-add"]
    assert told[told.index("--cap-drop") + 1] == "ALL"
    assert added == ["CAP_DAC_OVERRIDE", "CAP_CHOWN", "CAP_FOWNER"]
    assert "--unshare-user" not in told


def test_others_get_a_namespace_and_no_further_one() -> None:
    told = arguments(WORKSPACE, PLACE, Masks(), as_root=False)
    assert {"--unshare-user", "--disable-userns", "--unshare-ipc", "--unshare-pid"} <= {*told}


def test_homes_of_others_are_shown_where_programs_lie_in_them() -> None:
    paths = ["/usr/bin", "/root/.pyenv/shims", "/home/ann/bin", "/home/ann/x", "/home/bob", "/root"]
    assert homes_of(paths) == ["/root", "/home/ann"]
    assert homes_of(["/var/home/ann/bin", "/rooted/bin", "/srv/home/x/bin"]) == ["/var/home/ann"]
