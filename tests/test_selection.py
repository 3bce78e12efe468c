"""What the selection names is there: a test that was renamed must not silently be left out."""

from collections import Counter
from functools import partial
from pathlib import Path

import pytest
import selection
from tables import rows

HERE = Path(__file__).parent
CHOSEN = (
    *(*selection.FAST, *selection.NOT_FAST, *selection.FAST_ALL_THE_SAME),
    *(*selection.SAMPLED, *selection.ONE_BY_ONE, *selection.FIRST),
)


@rows("name", CHOSEN)
def test_what_is_selected_exists(name: str) -> None:
    file, _, test = name.partition("::")
    assert (HERE / file).exists()
    assert not test or f"def {test}(" in (HERE / file).read_text()


@rows("files", selection.IN_TURN)
def test_what_has_its_turn_exists(files: str) -> None:
    assert any(HERE.glob(files))


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


def test_days_try_what_a_night_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row comes in some day, none of them tries more than its share, or no row of a table."""
    monkeypatch.setattr(selection, "SAMPLED", {"a.py": 4, "b.py::test_x": 3})
    monkeypatch.setattr(selection, "IN_TURN", {"c*": 4})
    monkeypatch.setattr(selection, "changed", tuple)
    single = ["tests/a.py::test_one", "tests/b.py::test_y[1]", "tests/b.py::test_y[2]"]
    of_a = [f"tests/a.py::test_x[{n}]" for n in range(9)]
    of_b = [f"tests/b.py::test_x[{n}]" for n in range(3)]
    of_c = ["tests/c.py::test_x", "tests/c.py::test_y[1]"]
    turns: Counter[str] = Counter()
    seen: set[str] = set()
    for day in range(100):
        monkeypatch.setattr(selection, "commit", partial(str, day))
        chosen = selection.of_a_day([*of_a, *single, *of_b, *of_c])
        assert chosen == selection.of_a_day([*of_c, *of_b, *of_a, *single])
        assert chosen.issuperset(single)
        assert [len(chosen.intersection(table)) for table in (of_a, of_b)] == [3, 1]
        seen |= chosen
        turns.update(chosen.intersection(of_c))
    assert seen == {*of_a, *single, *of_b, *of_c}
    assert all(10 < turns[each] < 40 for each in of_c)


def test_what_has_changed_has_all_its_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    tests = [f"tests/mcp/test_servers.py::test_{n}" for n in range(20)]
    others = [f"tests/mcp/test_hostile.py::test_{n}" for n in range(20)]
    for path, chosen in {
        "tests/mcp/test_servers.py": {*tests},
        "wcore/tools/mcp/names.py": {*tests, *others},
    }.items():
        monkeypatch.setattr(selection, "changed", lambda path=path: (path,))
        found = selection.of_a_day([*tests, *others])
        assert found >= chosen
        assert (found == {*tests, *others}) == (chosen == {*tests, *others})


@rows("place", [place for places in selection.ABOUT.values() for place in places])
def test_what_tests_are_about_exists(place: str) -> None:
    assert (HERE.parent / place).exists()
