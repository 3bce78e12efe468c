"""Every requirement has a case and every case a requirement, or the list says what stands in."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from wcore.conformance.cases import Tier, folder, load
from wcore.conformance.host_judging import host_cases
from wcore.conformance.judging import Invariants

ROOT = Path(__file__).parents[2]


@cache
def requirements() -> dict[str, dict[str, Any]]:
    return tomllib.loads((ROOT / "protocol-spec" / "requirements.toml").read_text())


def covered() -> set[str]:
    rules = Invariants.load(folder()).requires.values()
    return {name for case in load(folder()) for name in case.requires} | {
        name for names in rules for name in names
    }


def test_every_requirement_of_an_engine_has_a_case() -> None:
    wanted = {name for name, r in requirements().items() if r["side"] == "engine"}
    inside = {name for name, r in requirements().items() if "inside" in r}
    assert wanted - covered() - inside == set()


def test_every_requirement_of_a_host_has_a_scenario() -> None:
    wanted = {name for name, r in requirements().items() if r["side"] == "host"}
    assert wanted - {name for case in host_cases() for name in case.requires} == set()


def test_every_scenario_names_requirements_of_hosts() -> None:
    for case in host_cases():
        sides = {requirements()[name]["side"] for name in case.requires}
        assert sides == {"host"}, case.id


def test_every_case_names_requirements_that_exist() -> None:
    assert covered() - set(requirements()) == set()


def test_what_only_the_inside_can_show_names_a_test_that_exists() -> None:
    for name, requirement in requirements().items():
        if "inside" in requirement:
            assert (ROOT / requirement["inside"]).exists(), name


def test_a_case_about_a_flag_is_run_only_where_the_flag_is() -> None:
    for case in load(folder()):
        needs_flag = [n for n in case.requires if "capability" in requirements()[n]]
        if len(needs_flag) == len(case.requires):
            assert case.tier is not Tier.MANDATORY, case.id


def test_a_case_of_an_optional_flag_says_which() -> None:
    for case in load(folder()):
        assert (case.capability is not None) == (case.tier is Tier.CAPABILITY), case.id
