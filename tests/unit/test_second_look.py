"""Real runs of pytest over a few tests: what is looked at again, what is red, how the log ends."""

import os
import shutil
import sys
from pathlib import Path
from textwrap import dedent
from typing import Final

import pytest
import second_look
import waiting

TESTS: Final = Path(second_look.__file__).parent
INI: Final = f"""
[pytest]
pythonpath = {TESTS}
addopts = --import-mode=importlib
markers = clock: about a time
"""
FIRST: Final = """
import pathlib
import pytest
from waiting import Hung, Late

def first(name):
    '''Tell whether this is the first run of a test.'''
    ran = pathlib.Path(__file__).with_name(name + ".ran")
    before = ran.exists()
    ran.touch()
    return not before

def fail(error):
    raise error
"""


def trial(folder: Path, body: str, *options: str) -> tuple[int, list[str]]:
    """Run tests; return the exit code and the log's lines."""
    (folder / "pytest.ini").write_text(INI)
    (folder / "conftest.py").write_text('pytest_plugins = ("second_look",)\n')
    (folder / "test_it.py").write_text(FIRST + dedent(body))
    command = [sys.executable, "-m", "pytest", "-n2", "--dist=loadfile", *options]
    lean = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    done = waiting.run(command, cwd=folder, env={**os.environ, **lean})
    return done.returncode, done.stdout.splitlines()


GREEN: Final = {
    "late": "def test_it(): first('a') and fail(Late('not yet'))",
    "late, in a group": """
        def test_it():
            first('a') and fail(ExceptionGroup('', [Late('1'), ExceptionGroup('', [Late('2')])]))
        """,
    "late in a fixture": """
        @pytest.fixture
        def slow(): first('a') and fail(Late('not yet'))
        def test_it(slow): pass
        """,
    "late in a wait that was ended": """
        import subprocess
        def test_it():
            try:
                raise subprocess.TimeoutExpired('x', 1)
            except subprocess.TimeoutExpired:
                first('a') and fail(Late('not yet'))
        """,
    "about a time": """
        @pytest.mark.clock
        def test_it(): assert not first('a'), 'not yet'
        """,
}


@pytest.mark.parametrize("body", GREEN.values(), ids=GREEN)
def test_what_was_only_late_passes_alone_and_is_named(tmp_path: Path, body: str) -> None:
    code, log = trial(tmp_path, dedent(body) + "\ndef test_other(): pass")
    assert code == 0
    assert log[-2:] == ["UNSTEADY test_it.py::test_it", "2 passed, 0 failed"]
    assert any("not yet" in line or "Late" in line for line in log), "why it was late is shown"


RED: Final = {
    "wrong": ("def test_it(): assert not first('a')", 1),
    "hung": ("def test_it(): first('a') and fail(Hung('never'))", 1),
    "wrong beside late": (
        """
        def test_it(): assert not first('a')
        def test_late(): first('b') and fail(Late('not yet'))
        """,
        2,
    ),
    "late and wrong in one": (
        """
        def test_it(): first('a') and fail(ExceptionGroup('', [Late('1'), ValueError('2')]))
        """,
        1,
    ),
    "late, then wrong at its end": (
        """
        @pytest.fixture
        def wrong():
            yield
            assert not first('b')
        def test_it(wrong): first('a') and fail(Late('not yet'))
        """,
        1,
    ),
    "late after something wrong": (
        """
        def test_it():
            try:
                assert not first('a')
            finally:
                first('b') and fail(Late('not yet'))
        """,
        1,
    ),
    "late after something wrong, behind a wait that was ended": (
        """
        import subprocess
        def test_it():
            try:
                assert not first('a')
            finally:
                try:
                    raise subprocess.TimeoutExpired('x', 1)
                except subprocess.TimeoutExpired:
                    if first('b'):
                        raise Late('not yet') from None
        """,
        1,
    ),
    "late at its end": (
        """
        @pytest.fixture
        def slow():
            yield
            first('a') and fail(Late('not yet'))
        def test_it(slow): pass
        """,
        1,
    ),
    "wrong at the end of what others used": (
        """
        @pytest.fixture(scope="module")
        def shared():
            yield
            fail(ValueError('wrong'))
        def test_it(shared): pass
        pytestmark = pytest.mark.clock
        """,
        1,
    ),
    "wrong in a part": (
        """
        def test_it(subtests):
            with subtests.test('part'):
                assert not first('a')
        def test_late(): first('b') and fail(Late('not yet'))
        """,
        2,
    ),
    "late, then skipped": (
        """
        def test_it(): fail(Late('not yet')) if first('a') else pytest.skip('today')
        """,
        1,
    ),
    "late, then wrong with the last words of success": (
        """
        import atexit
        def test_it():
            first('a') and fail(Late('not yet'))
            atexit.register(print, '1 passed, 0 failed')
            assert False
        """,
        1,
    ),
    "late beside a dead worker": (
        """
        import os
        def test_it(): first('a') and fail(Late('not yet'))
        def test_dies(): first('b') and os._exit(1)
        """,
        2,
    ),
    "late again": ("def test_it(): fail(Late('not yet'))", 1),
    "more than three": (
        """
        @pytest.mark.parametrize("n", range(4))
        def test_it(n): first(str(n)) and fail(Late('not yet'))
        """,
        4,
    ),
}


@pytest.mark.parametrize(("body", "failed"), RED.values(), ids=RED)
def test_all_else_is_red(tmp_path: Path, body: str, failed: int) -> None:
    code, log = trial(tmp_path, dedent(body) + "\ndef test_other(): pass")
    assert code == 1
    assert not any(line.startswith("UNSTEADY") for line in log)
    assert log[-1] == f"1 passed, {failed} failed"


def test_nothing_is_let_pass_twice(tmp_path: Path) -> None:
    listed = tmp_path / "listed"
    listed.mkdir()
    for name in ("second_look.py", "waiting.py", "processes.py"):
        shutil.copy(TESTS / name, listed)
    (listed / "unsteady.txt").write_text("# why\ntest_it.py::test_it\n")
    body = "def test_it(): first('a') and fail(Late('not yet'))"
    code, log = trial(tmp_path, body, "-o", f"pythonpath={listed}")
    assert (code, log[-1]) == (1, "0 passed, 1 failed")
    assert "unsteady.txt lists test_it.py::test_it already" in "\n".join(log)


def test_a_collection_that_fails_is_counted(tmp_path: Path) -> None:
    code, log = trial(tmp_path, "import nothing_of_this_name")
    assert (code != 0, log[-1]) == (True, "0 passed, 1 failed")


def test_what_hangs_ends_as_a_stack_and_one_failed_test(tmp_path: Path) -> None:
    body = """
        import time
        def test_sleeps(): time.sleep(1000)
        @pytest.fixture
        def slow():
            yield
            time.sleep(1000)
        def test_leaves(slow): pass
        def test_swallows():
            try: time.sleep(1000)
            except BaseException: pass
        def test_other(): pass
        """
    shutil.copy(TESTS / "hanging.py", tmp_path)
    (tmp_path / "hasty.py").write_text("import waiting\nwaiting.HANG_S = 1.0\n")
    code, log = trial(tmp_path, body, "-p", "hasty", "-p", "hanging")
    assert (code, log[-1]) == (1, "1 passed, 3 failed")
    assert sum("in test_sleeps" in line for line in log) >= 1, "where it hung is shown"


def test_the_list_names_few_tests_and_none_twice() -> None:
    listed = second_look.listed()
    assert len(listed) == len(set(listed)) <= 10
    for each in listed:
        file, _, name = each.partition("::")
        assert f"def {name.partition('[')[0]}(" in (TESTS.parent / file).read_text()
