"""The specification says what the code does: its tables and requirements come from there."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest
from spec.requirements import requirements
from spec_tables import BLOCK, PAGES, TABLES, rendered

from wcore.errors import Code
from wcore.store.values import DURABLE_KINDS, SOON_KINDS, SYNC_S, Kind

WCORE = Path(__file__).parent.parent / "wcore"
REMEDY = "run: python tests/write_spec.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_pages_have_what_the_code_has(page: Path) -> None:
    text = page.read_text()
    assert rendered(text) == text, REMEDY


def test_every_table_is_printed_somewhere() -> None:
    printed = {match["name"] for page in PAGES for match in BLOCK.finditer(page.read_text())}
    assert printed == set(TABLES)


def test_every_requirement_is_printed_exactly_once() -> None:
    text = "\n".join(page.read_text() for page in PAGES)
    printed = Counter(re.findall(r"\*\*(WC-[A-Z]+-\d{3})\*\*", text))
    assert printed == Counter(each.id for each in requirements())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#][^)]*|#[^)]*)\)", page.read_text()):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        there = page.parent / name if name else page
        assert there.exists(), target
        if anchor:
            assert anchor in _anchors(there), target


def _anchors(page: Path) -> set[str]:
    text = page.read_text()
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    named = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
    return named | set(re.findall(r'<a id="([^"]+)">', text))


def test_every_error_code_is_used_by_the_engine() -> None:
    used = {
        node.attr
        for path in WCORE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "Code"
    }
    never_sent = {code.name for code in Code} - used
    assert not never_sent, "they do not belong into the specification"


def test_the_journal_has_the_kinds_of_the_specification_and_synchronises_the_same() -> None:
    section = (WCORE.parent / "protocol-spec" / "store.md").read_text().partition("## Journal")[2]
    rows = [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("| `")]
    kinds = {kind: row[-1].strip() for row in rows for kind in re.findall(r"`(\w+)`", row[0])}
    assert set(kinds) == {kind.value for kind in Kind}
    assert {kind for kind, when in kinds.items() if when.startswith("yes")} == DURABLE_KINDS
    assert {kind for kind, when in kinds.items() if when == "soon"} == SOON_KINDS
    assert f"or {SYNC_S} s later" in section
