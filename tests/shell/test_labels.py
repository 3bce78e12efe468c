from .check_labels import disagreements
from .corpus import read_cases
from .oracle import Oracle

JOBS = 2


def test_every_label_is_what_bash_shows(oracle: Oracle) -> None:
    not_shown = ("latent", "advisory", "argument")
    cases = [case for case in read_cases() if case.severity not in not_shown]
    wrong = [
        f"{case.id}: {case.severity or 'covered'}, but {finding.verdict} {finding.evidence[:2]}"
        for case, finding in disagreements(oracle, cases, JOBS)
    ]
    assert not wrong, "\n".join(wrong)
