"""What the selection names is there: a test that was renamed must not silently be left out."""

from pathlib import Path

import pytest
import selection

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", [*selection.FAST, *selection.FIRST])
def test_what_is_selected_exists(name: str) -> None:
    file, _, test = name.partition("::")
    assert (HERE / file).exists()
    assert not test or f"def {test}(" in (HERE / file).read_text()
