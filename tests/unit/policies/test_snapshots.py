"""A snapshot of the rules differs from another one when any of its parts does."""

from pathlib import Path
from typing import Any

import pytest

from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.policy_files.policy_files import PolicyFiles
from wcore.policy_files.snapshot import PolicySnapshot, Rules

PARTS: list[dict[str, Any]] = [
    {"policies": PolicySet([], trusted=True)},
    {"texts": {Level.USER: ("/p.toml", "")}},
    {"real": {"/ws/link": "/elsewhere"}},
    {"since": {(Level.USER, "Bash"): "2026-01-01T00:00:00Z"}},
    {"agents": {}},
]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: next(iter(part)))
def test_each_part_of_the_rules_is_a_change(part: dict[str, Any]) -> None:
    assert PolicySnapshot().says_what(PolicySnapshot())
    assert not PolicySnapshot(**part).says_what(PolicySnapshot())


@pytest.mark.parametrize(
    ("held", "present", "hosts"),
    [
        (["a", "b"], ["b", "c"], ("b",)),
        (["a"], ["a"], ("a",)),
        ([], ["a"], ()),
        (["a"], [], ()),
    ],
)
def test_hosts_that_are_new_wait_and_those_that_are_gone_count_at_once(
    held: list[str], present: list[str], hosts: tuple[str, ...]
) -> None:
    def snapshot(hosts: list[str]) -> PolicySnapshot:
        text = f"[sandbox]\nhosts = {hosts}"
        file = parse(text, "/p.toml", Level.USER, ParseContext(Places("/ws", "/home"), {}))
        return PolicySnapshot(PolicySet([file]), {Level.USER: ("/p.toml", text)})

    rules = Rules.of(snapshot(held))
    rules.read(snapshot(present))
    assert rules.hosts() == hosts


@pytest.mark.parametrize("starts_inside", [True, False])
def test_a_policy_that_moves_out_of_the_workspace_waits(
    starts_inside: bool, tmp_path: Path
) -> None:
    """The same text, but another author: what it allows counts from the next start."""
    place = tmp_path.resolve()
    for folder in ("ws", "config", "state"):
        (place / folder).mkdir()
    text = 'default = "allow"\n[[mcp]]\nname = "s"\ncommand = "x"\n'
    path = place / "config" / "policy.toml"

    def put(*, inside: bool) -> None:
        path.unlink(missing_ok=True)
        (place / "ws" / "theirs").write_text(text)
        path.symlink_to(place / "ws" / "theirs") if inside else path.write_text(text)

    places = Places(str(place / "ws"), str(place))
    files = PolicyFiles(places, str(place / "config"), str(place / "state"))
    put(inside=starts_inside)
    rules = Rules.of(files.load().snapshot)
    put(inside=not starts_inside)
    rules.read(files.look())
    defaults = [each.policies.default for each in rules.both]
    assert sorted(default is None for default in defaults) == [False, True]
    (table,) = rules.present.policies.files[Level.USER].mcp
    assert rules.holds_server(Level.USER, table) is not starts_inside
