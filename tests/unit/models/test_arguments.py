import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcore.models.arguments import read_call
from wcore.vocabulary import ModelCall


def test_an_object_becomes_the_arguments() -> None:
    call = read_call("c1", "Bash", '{"command": "ls", "timeout": 1.5}')
    assert call == ModelCall("c1", "Bash", {"command": "ls", "timeout": 1.5})


def test_no_text_at_all_means_no_arguments() -> None:
    assert read_call("c1", "LS", " \n").args == {}


def test_the_last_of_two_equal_keys_wins() -> None:
    assert read_call("c1", "LS", '{"path": "a", "path": "b"}').args == {"path": "b"}


@pytest.mark.parametrize(
    "raw",
    [
        "{broken",
        '{"a": 1} and more',
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": "\\ud800"}',
        '{"a":' * 10_000,
        '{"a":' * 10_000 + "1" + "}" * 10_000,
        '{"a": ' + "9" * 5_000 + "}",
    ],
)
def test_what_is_not_json_is_told_in_words(raw: str) -> None:
    call = read_call("c1", "Bash", raw)
    assert call.args is None
    assert call.problem.startswith("the arguments are not valid JSON: ")


def test_halves_of_a_character_are_joined_and_one_alone_is_replaced() -> None:
    assert read_call("c", "B", '{"a": "\ud83d\ude00 \ud83d"}').args == {"a": "\U0001f600 \ufffd"}


@pytest.mark.parametrize("raw", ["[]", '"text"', "1", "null", "true"])
def test_json_that_is_no_object_is_told_in_words(raw: str) -> None:
    call = read_call("c1", "Bash", raw)
    assert (call.args, call.problem) == (None, "the arguments are not a JSON object")


@pytest.mark.parametrize("raw", ['{"a": 1e999}', '{"a": [{"b": -1e999}]}'])
def test_a_number_that_no_event_could_carry_is_told_in_words(raw: str) -> None:
    call = read_call("c1", "Bash", raw)
    assert (call.args, call.problem) == (None, "the arguments hold a number out of range")


@given(st.text(), st.text(), st.text())
def test_any_argument_text_gives_a_call_or_a_problem(model_id: str, name: str, raw: str) -> None:
    call = read_call(model_id, name, raw)
    assert (call.model_id, call.name) == (model_id, name)
    assert (call.args is None) == bool(call.problem)
