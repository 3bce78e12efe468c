"""What the sandbox is told of names: the tables of the policy, asked by the ends of paths."""

from wcore.cli import sandbox
from wcore.policy import protected
from wcore.policy.protected import Places, guarded, protection
from wcore.vocabulary import Access

BELOW = "/home/me/ws/a/b/c/d/e"


def test_each_name_of_the_tables_is_known_however_deep_it_lies() -> None:
    names = {name for table in guarded(Access.WRITE) for name in table}
    names = {name.replace("*", "x") for name in names if not name.startswith("/")}
    assert max(name.count("/") + 1 for name in names) == sandbox.NAME_PARTS_MAX
    for name in names:
        for path in (f"{BELOW}/{name}", f"{BELOW}/{name.upper()}"):
            assert sandbox.is_secret(path) == protected.is_secret(path), path
            assert sandbox.is_kept(path) == protected.runs_unasked(path), path
            assert sandbox.is_secret(path) or sandbox.is_kept(path), path
            assert protection(path, Access.WRITE, Places(BELOW, "/home/me")), path


def test_other_names_are_neither() -> None:
    for name in ("main.py", "environment", "hooks", "config", "key", "a.keys", ".github/x"):
        path = f"{BELOW}/{name}"
        assert not sandbox.is_secret(path)
        assert not sandbox.is_kept(path)
