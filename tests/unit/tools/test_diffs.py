import difflib

from hypothesis import given
from hypothesis import strategies as st

from wcore.tools.fs import diffs
from wcore.tools.fs.diffs import LINES_MAX
from wcore.vocabulary import OUTPUT_BYTES_MAX

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c\r\n", "d\x0c\u2028\n"]), max_size=30).map(
    "".join
)


def _applied(before: str, diff: str) -> str:
    """Apply a unified diff as `patch` would, checking every line of it against `before`."""
    old = before.split("\n")
    new: list[str] = []
    at = 0
    body = diff.split("\n")[2:-1]
    for number, line in enumerate(body):
        if line.startswith("@@"):
            start, _, length = line.split()[1][1:].partition(",")
            first = int(start) - (length != "0")
            new += old[at:first]
            at = first
        elif line[:1] in "- ":
            assert old[at] == line[1:], (number, line)
            at += 1
            new += [line[1:]] * (line[0] == " ")
        elif line[0] == "+":
            new.append(line[1:])
    return "\n".join(new + old[at:])


@given(TEXTS, TEXTS)
def test_a_diff_applied_to_the_old_text_gives_the_new_one(before: str, after: str) -> None:
    diff = diffs.unified("f", before, after)
    assert (_applied(before, diff) if diff else before) == after


@given(TEXTS, TEXTS)
def test_no_more_is_shown_than_the_library_shows(before: str, after: str) -> None:
    ours = diffs.unified("f", before, after).count("\n")
    theirs = sum(1 for _ in difflib.unified_diff(before.split("\n")[:-1], after.split("\n")[:-1]))
    assert ours <= theirs + 12


def test_a_missing_last_line_end_is_marked() -> None:
    diff = diffs.unified("f", "a\nb", "a\nc\n")
    assert diff == ("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n")


def test_a_removed_file_and_a_new_empty_one_have_null_sides() -> None:
    assert diffs.unified("f", "a\n", None) == "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    assert diffs.unified("f", None, "") == "--- /dev/null\n+++ b/f\n"
    assert diffs.unified("f", "a", "a") == ""


def test_a_name_cannot_add_lines_to_the_diff() -> None:
    assert diffs.unified("a\n+++ b/x", None, "").count("\n") == 2


def test_a_small_change_in_a_large_file_is_exact() -> None:
    lines = [f"{number}\n" for number in range(50_000)]
    after = [*lines[:40_000], "new\n", *lines[40_001:]]
    diff = diffs.unified("f", "".join(lines), "".join(after))
    assert diff.splitlines()[2] == "@@ -39998,7 +39998,7 @@"
    assert diff.count("\n") == 2 + 1 + 8


def test_a_large_rewrite_is_whole_what_comes_before_what_goes() -> None:
    count = LINES_MAX + 1
    before = "first\n" + "".join(f"a{number}\n" for number in range(count)) + "last\n"
    after = "first\n" + "".join(f"b{number}\n" for number in range(count)) + "last\n"
    diff = diffs.unified("f", before, after)
    assert diff.count("\n") == 3 + 2 * count
    assert diff.index(f"\n+b{count - 1}\n") < diff.index("\n-a0\n")
    assert _applied(before, diff) == after


def test_a_result_is_bounded() -> None:
    text = diffs.result("f", None, "x\n" * 1_000_000)
    assert len(text.encode()) <= OUTPUT_BYTES_MAX
    assert "cut here" in text
