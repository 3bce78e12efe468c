"""Forms of servers: what may be answered, and what can simply be picked."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcore.errors import ToolError
from wcore.tools.mcp import elicitation_form

Field = dict[str, Any]


def form(*required: str, **fields: Field) -> Field:
    return {"type": "object", "properties": fields, "required": list(required)}


VALUES: list[tuple[Field, list[Any], list[Any]]] = [
    ({"type": "string"}, ["", "x"], [1, None, [], True]),
    ({"type": "string", "minLength": 2, "maxLength": 3}, ["ab"], ["a", "abcd"]),
    ({"type": "string", "enum": ["a", "b"]}, ["a"], ["c", ""]),
    ({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, ["a"], ["A"]),
    ({"type": "string", "pattern": "(a+)+$"}, ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"], [1]),
    ({"type": "integer", "minimum": 1, "maximum": 9}, [1, 9], [0, 10, 1.5, "1", True]),
    ({"type": "number"}, [1, 1.5], ["1", False]),
    ({"type": "boolean"}, [True, False], [0, "true"]),
    (
        {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1},
        [[], ["a"]],
        [["a", "b"], ["c"], [[]], "a"],
    ),
    ({"type": "object"}, [], [{}]),
    ({"type": ["string", "null"]}, [], ["a"]),
]


@pytest.mark.parametrize(("field", "good", "bad"), VALUES)
def test_a_value_has_to_fit_its_field(field: Field, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        assert elicitation_form.read(form("f", f=field), json.dumps({"f": value})) == {"f": value}
    for value in bad:
        with pytest.raises(ToolError):
            elicitation_form.read(form("f", f=field), json.dumps({"f": value}))


def test_defaults_fill_what_was_left_out_if_they_fit_themselves() -> None:
    good, bad = {"type": "string", "default": "x"}, {"type": "string", "default": 3}
    assert elicitation_form.read(form("a", a=good, b=bad), "{}") == {"a": "x"}
    with pytest.raises(ToolError, match="missing"):
        elicitation_form.read(form("b", b=bad), "{}")


@pytest.mark.parametrize(
    ("schema", "labels"),
    [
        (form("a", a={"type": "boolean"}), ['{"a": true}', '{"a": false}']),
        (form("a", a={"type": "string", "enum": ["x"]}), ['{"a": "x"}']),
        (form(), ["{}"]),
        (form(a={"type": "string", "default": "d"}, b={"type": "string"}), ['{"a": "d"}']),
        (form("b", a={"type": "string", "default": "d"}, b={"type": "string"}), []),
    ],
)
def test_what_can_be_picked_is_a_whole_answer(schema: Field, labels: list[str]) -> None:
    assert [option["label"] for option in elicitation_form.options(schema)] == labels
    for label in labels:
        elicitation_form.read(schema, label)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
KEYS = ["type", "properties", "required", "enum", "oneOf", "items", "default", "minimum"]


@given(st.dictionaries(st.sampled_from(KEYS), JSON), st.text(max_size=20) | JSON.map(json.dumps))
def test_no_form_and_no_answer_breaks_anything(schema: Field, answer: str) -> None:
    try:
        elicitation_form.shown(schema)
        elicitation_form.options(schema)
        elicitation_form.read(schema, answer)
    except ToolError:
        pass
