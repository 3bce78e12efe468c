import pytest
from tables import rows


def test_all_rows_are_tried_and_each_wrong_one_is_named() -> None:
    seen: list[tuple[str, int]] = []

    @rows("text", ("a", "b"))
    @rows(("number", "half"), [(2, 1), (3, 1), (4, 1)])
    def check(text: str, number: int, half: int) -> None:
        seen.append((text, number))
        assert number == 2 * half, "no half"

    with pytest.raises(AssertionError) as error:
        check()
    assert len(seen) == 6
    told = str(error.value)
    assert "2 of 2 rows" in told
    assert "2 of 3 rows" in told
    for named in ("{'text': 'a'}", "{'text': 'b'}", "{'number': 3, 'half': 1}", "no half"):
        assert named in told
    assert "'number': 2" not in told


@rows("number", range(3))
def test_what_is_no_column_is_a_fixture(tmp_path: object, number: int) -> None:
    assert tmp_path
    assert number < 3
