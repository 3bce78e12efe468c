"""The oracle for the tests that ask real bash; without it they are skipped, never passed."""

from collections.abc import Iterator

import pytest

from .oracle import Oracle
from .sandbox import why_unavailable


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    """Give one oracle to all tests of the run."""
    if reason := why_unavailable():
        pytest.skip(f"oracle unavailable, nothing was proved: {reason}")
    with Oracle() as made:
        yield made
