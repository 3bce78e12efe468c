"""What the selection names is there: a test that was renamed must not silently be left out."""

from pathlib import Path

import pytest
import selection

HERE = Path(__file__).parent
CHOSEN = (
    *(*selection.FAST, *selection.NOT_FAST, *selection.FAST_ALL_THE_SAME),
    *(*selection.ONE_BY_ONE, *selection.FIRST),
)


@pytest.mark.parametrize("name", CHOSEN)
def test_what_is_selected_exists(name: str) -> None:
    file, _, test = name.partition("::")
    assert (HERE / file).exists()
    assert not test or f"def {test}(" in (HERE / file).read_text()


def test_what_is_not_chosen_is_not_even_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "IS_FAST", True)
    read = "unit unit/tools unit/tools/test_bash.py store store/conftest.py store/test_tiers.py e2e"
    left = "web crash unit/models/test_foreign.py store/test_audit.py e2e/test_memory.py"
    single = "e2e/test_resume.py"  # some of its tests are chosen
    tables = "unit/policy/shell/test_totality.py"  # of a folder that is left out
    for name in f"{read} {single} {tables}".split():
        assert selection.is_read(HERE / name), name
    for name in (*left.split(), "unit/policy/test_exact.py"):
        assert not selection.is_read(HERE / name), name
    assert selection.is_read(HERE)
    assert selection.is_read(HERE.parent)
