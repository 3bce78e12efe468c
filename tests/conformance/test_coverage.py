"""Every requirement has a case and every case a requirement, or the list says what stands in."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from spec.schema import REF, bundle, title

from wcore.conformance.cases import Tier, folder, load
from wcore.conformance.engine.invariants import OWNED, Invariants
from wcore.conformance.engine.optional_features import OTHER_TOOLS
from wcore.conformance.host.runner import host_cases

ROOT = Path(__file__).parents[2]
README = ROOT / "protocol-spec" / "README.md"
#: What a case about a part needs, so that an engine without it is not judged by it.
HOOKS = {
    "sessions": r"--resume|--session-id",
    "policy files": r"policy\.toml",
    "ceiling": r"--max-mode",
    "unattended": r"--prompts",
    "questions": r"AskUserQuestion",
    "searches": r"Glob|Grep",
}


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


def test_every_part_that_may_be_left_out_says_how_it_shows() -> None:
    named = {r["part"] for r in requirements().values() if "part" in r}
    assert named == set(HOOKS)
    text = README.read_text()
    for part, hook in HOOKS.items():
        (row,) = re.findall(rf"^\| {part} \|.*", text, re.MULTILINE)
        assert re.search(hook, row), row


def test_a_case_about_a_part_is_run_only_where_the_part_is() -> None:
    for case in load(folder()):
        parts = {requirements()[name].get("part") for name in case.requires}
        if len(parts) == 1 and (part := parts.pop()):
            said = str((case.flags, case.steps, case.model))
            assert re.search(HOOKS[part], said), f"{case.id} is about {part}"


def test_tools_that_an_engine_may_lack_are_known_to_the_judge() -> None:
    called = {
        item["call"]["name"]
        for case in load(folder())
        for reply in case.model
        for item in reply
        if "call" in item
    }
    usual = {name for name in called if re.fullmatch(r"[A-Z]\w+", name) and name != "Teleport"}
    assert usual - {"Bash", "Read", "Write"} <= OTHER_TOOLS


def test_the_shapes_of_events_are_those_of_the_schema() -> None:
    defs: dict[str, Any] = bundle()["$defs"]
    for kind, shape in Invariants.load(folder()).shapes.items():
        made = defs[title("events", kind)]
        members = [defs[each["$ref"].removeprefix(REF)] for each in made.get("oneOf", ())] or [made]
        required: set[str] = set(members[0]["required"]) - {"type"}
        for each in members:
            required &= set(each["required"])
        always = {name.partition("?")[0] for name in shape if not name.endswith("?")}
        assert always == required, kind


def test_what_belongs_to_a_flag_is_listed() -> None:
    text = (README.parent / "events.md").read_text()
    text = text.partition("## What belongs to a flag")[2].partition("\n## ")[0]
    rows: dict[str, str] = dict(re.findall(r"^\| `(\w+)` \|(.*)$", text, re.MULTILINE))
    for event, flag in OWNED.items():
        assert f"`{event}`" in rows[flag]
    for kind, shape in Invariants.load(folder()).shapes.items():
        for name, _, flag in (entry.partition("?") for entry in shape):
            assert not flag or re.search(rf"`{name}`[^;|]* of `{kind}`", rows[flag]), (kind, name)


def test_arguments_that_cases_use_are_explained() -> None:
    text = (README.parent / "wire.md").read_text()
    said = str([(case.flags, case.steps) for case in load(folder())])
    used = set(re.findall(r"'(--[a-z-]+)'", said)) | set(
        re.findall(r"`(--[a-z-]+)", (README.parent / "requirements.toml").read_text())
    )
    told = set(re.findall(r"`(--[a-z-]+)", "".join(re.findall(r"^\| `--.*$", text, re.MULTILINE))))
    assert used - told == set()
