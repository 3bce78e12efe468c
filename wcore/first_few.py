"""The first of many texts, and how many more there are: nobody reads all of a long list."""

from collections.abc import Sequence


def first_few(texts: Sequence[str], most: int, more: str = "and {} more") -> list[str]:
    """Return the first `most` texts; one more, made of `more`, counts those that are left."""
    left = len(texts) - most
    return [*texts[:most], more.format(left)] if left > 0 else [*texts]
