"""The specification says what the code does: its tables come from the code."""

import pytest
from spec_tables import BLOCK, POLICY, SPEC, TABLES, rendered

from wcore.errors import Code


def test_the_tables_of_the_specification_are_those_of_the_code() -> None:
    text = SPEC.read_text() + POLICY.read_text()
    assert {match["name"] for match in BLOCK.finditer(text)} == set(TABLES)
    assert rendered(text) == text, "run: python tests/spec_tables.py"


@pytest.mark.parametrize("code", list(Code))
def test_every_error_code_is_explained(code: Code) -> None:
    assert f"`{code}`" in SPEC.read_text()
