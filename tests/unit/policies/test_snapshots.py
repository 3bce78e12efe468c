"""A snapshot of the rules differs from another one when any of its parts does."""

from typing import Any

import pytest

from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level
from wcore.policy_files.snapshot import PolicySnapshot

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
