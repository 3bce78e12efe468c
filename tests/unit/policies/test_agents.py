"""Agent files: what they may say, and that nothing in them is taken on trust."""

from pathlib import Path

import pytest

from wcore.agents import AgentDefinition
from wcore.policy_files.agent_files import (
    AGENTS_MAX,
    FILE_BYTES_MAX,
    FRONTS_CHARS_MAX,
    Agents,
    agent_files,
    parse_agents,
)
from wcore.policy_files.front_matter import FRONT_CHARS_MAX

GOOD = """\
---
name: reviewer
description: reads and judges
model: small-one
tools: [Read, Grep]
tiers: {Read: always_allow, Grep: blocked}
---

You review.
"""


def read_agents(config: str, files: dict[str, bytes], *, trusted: bool) -> Agents:
    return parse_agents(agent_files(config, "/ws", files), trusted=trusted)


def project(text: str | bytes = GOOD, name: str = "reviewer.md") -> dict[str, bytes]:
    return {f"agents/{name}": text.encode() if isinstance(text, str) else text}


def one(text: str, config: Path, *, trusted: bool = True) -> AgentDefinition:
    found = read_agents(str(config), project(text), trusted=trusted)
    assert not found.problems
    (agent,) = found.named.values()
    return agent


def test_a_file_of_a_trusted_project_counts_in_full(tmp_path: Path) -> None:
    agent = one(GOOD, tmp_path)
    assert (agent.name, agent.description, agent.prompt) == (
        "reviewer", "reads and judges", "You review.",
    )  # fmt: skip
    assert agent.tools == {"Read", "Grep"}
    assert agent.tiers == {"Read": "always_allow", "Grep": "blocked"}
    assert agent.model == "small-one"


def test_a_file_of_an_untrusted_project_only_narrows(tmp_path: Path) -> None:
    agent = one(GOOD, tmp_path, trusted=False)
    assert agent.tools == {"Read", "Grep"}
    assert agent.tiers == {"Grep": "blocked"}
    assert agent.model is None
    assert agent.digest != one(GOOD, tmp_path).digest, "a yes to one is none to the other"


def test_a_persons_own_file_wins_and_needs_no_trust(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "reviewer.md").write_text("---\nmodel: mine\n---\nMine.\n")
    found = read_agents(str(tmp_path), project(), trusted=False)
    assert found.named["reviewer"].model == "mine"
    assert found.named["reviewer"].prompt == "Mine."


def test_what_a_project_brings_cannot_stand_in_for_a_persons_own_file(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    own = tmp_path / "agents" / "reviewer.md"
    full = f"---\ndescription: {'x' * (FRONT_CHARS_MAX - 20)}\n---\n".encode()
    crowd = {f"agents/a{n}.md": full for n in range(AGENTS_MAX - 1)} | project("---\n---\n")
    own.write_text("---\ntools: [Read]\n---\n")
    assert read_agents(str(tmp_path), crowd, trusted=False).named["reviewer"].tools == {"Read"}
    own.write_text("---\ntools: Read: Write\n---\n")
    found = read_agents(str(tmp_path), project(), trusted=True)
    assert not found.named, "a mistake in the person's file does not let the project's count"
    assert len(found.problems) == 1


def test_a_page_of_merged_aliases_is_refused_before_it_grows(tmp_path: Path) -> None:
    lines = ["a0: &a0", "  k: v"]
    for n in range(1, 60):
        lines += [f"a{n}: &a{n}", "  <<:", *[f"  - *a{n - 1}"] * 8]
    found = read_agents(
        str(tmp_path), project("---\n" + "\n".join(lines) + "\n---\n"), trusted=False
    )
    assert "aliases" in found.problems[0]


def test_tools_may_be_listed_with_commas_and_front_matter_may_be_empty(tmp_path: Path) -> None:
    assert one("---\ntools: Read, Grep\n---\n", tmp_path).tools == {"Read", "Grep"}
    bare = one("---\r\n---\r\nhi", tmp_path)
    assert (bare.prompt, bare.tools, bare.tiers, bare.model) == ("hi", None, {}, None)
    assert one("---\ntools: []\n---\n", tmp_path).tools == frozenset()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no front matter", "front matter"),
        ("---\nname: other\n---\n", "`name` must be reviewer"),
        ("---\ntool: Read\n---\n", "unknown key 'tool'"),
        ("---\ntools: {a: b}\n---\n", "`tools` must be"),
        ("---\ntools: [1]\n---\n", "`tools` must be"),
        ("---\ntiers: {Read: yes}\n---\n", "`tiers` must give"),
        ("---\ntiers: [Read]\n---\n", "`tiers` must give"),
        ("---\ntiers: {Read: allow}\n---\n", "`tiers` must give"),
        ("---\nmodel: [x]\n---\n", "`model` must be a text"),
        ("---\ntiers: {Read: [blocked]}\n---\n", "`tiers` must give"),
        ('---\nmodel: !!int ""\n---\n', "no YAML"),
        ("---\nmodel: !!bool maybe\n---\n", "no YAML"),
        ("---\nmodel: !!timestamp now\n---\n", "no YAML"),
        ("---\ndescription: &a x\nmodel: *a\n---\n", "aliases"),
        ("---\n" + "- " * 4_000 + "\n---\n", "no YAML"),
        ("---\n- a\n---\n", "keys with values"),
        ("---\na: [\n---\n", "no YAML"),
        ("---\na: !!python/object/apply:os.system [id]\n---\n", "no YAML"),
        ("---\n" + "[" * 5_000 + "\n---\n", "no YAML"),
        ("---\n---\n" + "x" * FILE_BYTES_MAX, "longer than"),
        (b"---\n---\n\xff", "not UTF-8"),
    ],
)
def test_a_file_that_is_not_understood_makes_no_agent(
    tmp_path: Path, text: str | bytes, problem: str
) -> None:
    found = read_agents(str(tmp_path), project(text), trusted=True)
    assert not found.named
    assert problem in found.problems[0]


@pytest.mark.parametrize("name", ["main", "general", "a b", "a.b", "-x", "x" * 65, ""])
def test_a_name_that_means_something_else_is_refused(tmp_path: Path, name: str) -> None:
    found = read_agents(str(tmp_path), project("---\n---\n", f"{name}.md"), trusted=True)
    assert not found.named
    assert len(found.problems) == 1


def test_files_in_folders_and_of_other_kinds_are_no_agents(tmp_path: Path) -> None:
    files = {"agents/deep/x.md": b"---\n---\n", "agents/x.txt": b"", "policy.toml": b""}
    assert read_agents(str(tmp_path), files, trusted=True).named == {}


def test_there_are_no_more_agents_than_can_be_offered(tmp_path: Path) -> None:
    files = {f"agents/a{n}.md": b"---\n---\n" for n in range(AGENTS_MAX + 9)}
    assert len(read_agents(str(tmp_path), files, trusted=True).named) == AGENTS_MAX


def test_what_cannot_be_seen_is_made_visible(tmp_path: Path) -> None:
    agent = one('---\ndescription: "a\\u202Eb"\n---\nc\u200bd', tmp_path)
    assert agent.description == "a⟨U+202E⟩b"
    assert agent.prompt == "c⟨U+200B⟩d"


def test_a_file_that_others_may_write_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    folder.mkdir()
    (folder / "x.md").write_text("---\n---\n")
    (folder / "x.md").chmod(0o666)
    found = read_agents(str(tmp_path), {}, trusted=True)
    assert not found.named
    assert "others may write it" in found.problems[0]


def test_a_cloned_folder_cannot_hold_up_a_turn_with_front_matter(tmp_path: Path) -> None:
    long = f"---\ndescription: {'x' * FRONT_CHARS_MAX}\n---\n".encode()
    found = read_agents(str(tmp_path), {"agents/a.md": long}, trusted=True)
    assert "front matter is longer than" in found.problems[0]
    full = f"---\ndescription: {'x' * (FRONT_CHARS_MAX - 20)}\n---\n".encode()
    many = {f"agents/a{n:02}.md": full for n in range(AGENTS_MAX)}
    found = read_agents(str(tmp_path), many, trusted=True)
    assert 1 <= len(found.named) <= FRONTS_CHARS_MAX // (FRONT_CHARS_MAX - 20)
    assert "together" in found.problems[-1]
