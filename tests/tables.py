"""Tables whose rows are tried in one test: to collect an id costs more than to try such a row.

    @rows(("text", "reason"), [("ls", None), ("rm x", "it writes")])
    def test_a_text_is_judged(text: str, reason: str | None) -> None: ...

It is written as `pytest.mark.parametrize` is, for rows that compute a little and touch nothing.
All of them are tried, whatever became of the others; the failure names each that was wrong.
"""

import inspect
import traceback
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeAlias

Test: TypeAlias = Callable[..., None]


def rows(names: str | tuple[str, ...], table: Iterable[Any]) -> Callable[[Test], Test]:
    """Try a test with each row of a table; a second table above it multiplies."""
    given = [
        {names: row} if isinstance(names, str) else dict(zip(names, row, strict=True))
        for row in table
    ]

    def decorate(test: Test) -> Test:
        @wraps(test)
        def try_all(**more: Any) -> None:
            wrong: list[str] = []
            for row in given:
                try:
                    test(**row, **more)
                except Exception:  # noqa: BLE001 - the others are tried as well
                    wrong.append(f"{row}\n{traceback.format_exc(limit=-1)}")
            assert not wrong, "\n".join([f"{len(wrong)} of {len(given)} rows", *wrong])

        signature = inspect.signature(test)
        left = [each for name, each in signature.parameters.items() if name not in given[0]]
        vars(try_all)["__signature__"] = signature.replace(parameters=left)  # for pytest
        return try_all

    return decorate
