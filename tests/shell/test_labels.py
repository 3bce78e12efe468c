import pytest

from .check_labels import disagreements
from .corpus import read_cases
from .oracle import Oracle

PARTS = 8  # of the corpus, each a test


@pytest.mark.parametrize("part", range(PARTS))
def test_every_label_is_what_bash_shows(oracle: Oracle, part: int) -> None:
    not_shown = ("latent", "advisory", "argument")
    cases = [case for case in read_cases() if case.severity not in not_shown]
    wrong = [
        f"{case.id}: {case.severity or 'covered'}, but {finding.verdict} {finding.evidence[:2]}"
        for case, finding in disagreements(oracle, cases[part::PARTS], jobs=1)
    ]
    assert not wrong, "\n".join(wrong)
