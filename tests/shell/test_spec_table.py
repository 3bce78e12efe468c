import re
from pathlib import Path

from tables import rows

from wcore.policy import shell

SPEC = Path(__file__).parents[2] / "protocol-spec" / "shell-grants.md"
CODE = re.compile(r"``(.+?)``|`(.+?)`")


def _codes(cell: str) -> list[str]:
    found = (one or two for one, two in CODE.findall(cell))
    return [code.replace("\\|", "|").replace("⏎", "\n").strip() for code in found]


def _rows() -> list[tuple[str, tuple[str, ...], bool]]:
    """Return text, grants and verdict of each example; `…` stands for what cannot be written."""
    section = SPEC.read_text().partition("## What is covered, and what is not, and why")[2]
    rows: list[tuple[str, tuple[str, ...], bool]] = []
    for line in section.partition("\n## ")[0].splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
        if len(cells) < 4 or not set(re.split(" · ", cells[2])) <= {"covered", "asks"}:
            continue
        texts, _, granted = re.sub(" with (?=`)", "@@", cells[1]).partition("@@")
        verdicts = cells[2].split(" · ")
        for at, text in enumerate(_codes(texts)):
            if "…" not in text:
                verdict = verdicts[min(at, len(verdicts) - 1)]
                rows.append((text, (*_codes(granted), "make", "echo"), verdict == "covered"))
    return rows


def test_the_table_has_the_examples_that_are_looked_for() -> None:
    rows = _rows()
    assert len(rows) >= 38
    assert ("make 2>&1 | head -5", ("head", "make", "echo"), True) in rows


@rows(("text", "grants", "covered"), _rows())
def test_an_example_of_the_specification_is_decided_as_it_says(
    text: str, grants: tuple[str, ...], covered: bool
) -> None:
    analysis = shell.in_folders(shell.analyse(text), {"sub"})
    parsed = map(shell.parse_grant, grants)
    found = [grant for grant in parsed if isinstance(grant, shell.PrefixGrant)]
    assert shell.matches(analysis, found).covered is covered
