"""Arguments as a person changes them: what is read is what was written, and all of it is seen."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcore_host.events import Json
from wcore_host.headless.argument_editing import DraftError, differences, draft, read
from wcore_host.visible import visible

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["command", "content", "new_string", "__proto__"]) | TEXTS


@given(st.dictionaries(NAMES, VALUES, max_size=4), st.booleans())
def test_a_draft_hides_nothing_and_untouched_it_changes_nothing(
    args: dict[str, Json],
    whole: bool,
) -> None:
    found = draft(args, whole=whole)
    assert visible(found.text) == found.text
    assert read(args, found.name, found.text) == args


def test_the_command_comes_first_and_the_rest_stays() -> None:
    args: dict[str, Json] = {"timeout": 9007199254740993, "command": "ls\n\tcd"}
    found = draft(args)
    assert (found.name, found.text) == ("command", "ls\n\tcd")
    assert read(args, "command", "pwd") == {"timeout": 9007199254740993, "command": "pwd"}


@pytest.mark.parametrize("hidden", ["\u202e", "\x1b[31m", "\u200b", "\r", "\u3164", "\ue000"])
def test_a_command_that_hides_something_is_edited_as_json(hidden: str) -> None:
    found = draft({"command": f"ls{hidden}x"})
    assert found.name == ""
    assert json.dumps(f"ls{hidden}x") in found.text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": }', "line 1, column 7"),
        ("[1]", "a JSON object"),
        ('{"a": NaN}', "NaN"),
        ('{"a": "\\ud800"}', "surrogates"),
        ("[" * 100_000, "no JSON that can be sent"),
    ],
)
def test_what_cannot_be_sent_is_refused_with_its_place(text: str, told: str) -> None:
    with pytest.raises(DraftError, match=told):
        read({}, "", text)


def test_differences_name_what_came_and_what_went() -> None:
    before: dict[str, Json] = {"command": "a\nb", "gone": 1, "same": [1]}
    after: dict[str, Json] = {"command": "a\nc", "same": [1], "come": "x"}
    told = dict(differences(before, after))
    assert list(told) == ["command", "gone", "come"]
    assert told["command"].splitlines()[1:] == [" a", "-b", "+c"]
    assert "-1" in told["gone"]
    assert "+x" in told["come"]
    long: dict[str, Json] = {"content": "x" * 300_000}
    assert "too long to compare" in dict(differences({"content": ""}, long))["content"]
