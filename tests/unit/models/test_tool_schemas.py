"""No tool of anybody's makes a request invalid, and what its schema allows stays allowed."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import jsonschema_rs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wcore.models.providers import MESSAGES_RULES, ToolRules
from wcore.models.tool_schemas import UnfitError, fit
from wcore.tools.builtin.catalog import builtin_tools
from wcore.tools.tool import ToolEnvironment

NAMES = ("a", "b", "$.xgafv", "filter[id]", "k" * 70, "", "$ref", "type")
TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
NOWHERE = ToolEnvironment("/", "/", {}, lambda _: False)
RULES = (ToolRules(), MESSAGES_RULES)


# --- what providers refuse ------------------------------------------------------------------------
#
# From their documentation and from reports of their refusals; no hosted model was asked.


def refusals(schema: Mapping[str, Any], *, is_messages_api: bool) -> list[str]:
    """Return why OpenAI or the Messages API would refuse the schema of a tool."""
    found = [
        f"{key} at the top" for key in ("oneOf", "anyOf", "allOf", "enum", "not") if key in schema
    ]
    found += ["no object"] * (schema.get("type") != "object")
    found += ["no properties"] * (not isinstance(schema.get("properties"), dict))
    found += ["$ref at the top"] * ("$ref" in schema)
    if not jsonschema_rs.meta.is_valid(
        {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    ):
        found.append("no JSON Schema")
    names: dict[str, Any] = schema.get("properties") or {}
    if is_messages_api:
        found += [f"name {n}" for n in names if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", n)]
    found += ["an unknown parameter is required"] * (not {*schema.get("required", ())} <= {*names})
    return found + list(inner_refusals(schema, schema))


def inner_refusals(given_node: Any, root: Any) -> Sequence[str]:
    if not isinstance(given_node, dict):
        return []
    node = cast("dict[str, Any]", given_node)
    kinds = node.get("type")
    found = ["array without items"] * (
        "array" in (kinds if isinstance(kinds, list) else [kinds]) and "items" not in node
    )
    if "$ref" in node and not leads(node["$ref"], root):
        found.append(f"a reference that leads nowhere: {node['$ref']}")
    for key in ("items", "additionalProperties", "not", "if", "then", "else", "contains"):
        found += inner_refusals(node.get(key), root)
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for each in node.get(key, ()):
            found += inner_refusals(each, root)
    for key in ("properties", "$defs", "definitions", "patternProperties"):
        for each in node.get(key, {}).values():
            found += inner_refusals(each, root)
    return found


def leads(reference: str, root: Any) -> bool:
    try:
        for part in reference.split("/")[1:]:
            root = cast("Any", root[int(part)] if isinstance(root, list) else root[part])
    except (KeyError, IndexError, ValueError, TypeError):
        return False
    return reference.startswith("#") and isinstance(root, dict)


# --- schemas as servers write them ----------------------------------------------------------------

REFS = ("#", "#/$defs/a", "#/$defs/b", "#/properties/a", "#/allOf/0", "https://x/y.json", "#named")
JUNK = st.sampled_from(
    [None, True, False, 0, -1, 2.5, "x", [], {}, [1, "a", "a"], ["object", "null"], {"a": 1}]
)


def keywords(inner: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    named = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    listed = st.lists(inner, max_size=3)
    number = st.sampled_from([0, 1, 2, 1.5])
    kind = st.sampled_from(TYPES)
    return {
        "type": kind | st.lists(kind, min_size=1, max_size=2, unique=True),
        **dict.fromkeys(("properties", "$defs", "definitions"), named),
        "patternProperties": st.dictionaries(st.just("^a"), inner, max_size=1),
        "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
        "items": inner | listed,
        **dict.fromkeys(("prefixItems", "anyOf", "oneOf", "allOf"), listed),
        **dict.fromkeys(("additionalProperties", "additionalItems", "not", "contains"), inner),
        **dict.fromkeys(("if", "then", "else", "unevaluatedProperties"), inner),
        "$ref": st.sampled_from(REFS),
        "enum": st.lists(st.sampled_from([1, "a", None, {}]), max_size=2),
        "const": st.sampled_from(["a", None, 1]),
        "exclusiveMinimum": number | st.booleans(),
        **dict.fromkeys(("minimum", "maxLength", "minItems", "multipleOf"), number),
        "description": st.just("words"),
        "pattern": st.just("^a"),
        "format": st.just("uri"),
        "$schema": st.sampled_from(["http://json-schema.org/draft-07/schema#", "https://x/y", 5]),
        "$id": st.just("https://x/y"),
        **dict.fromkeys(("default", "x-order", "dependentRequired", "examples"), JUNK),
        "uniqueItems": st.booleans(),
    }


def schemas(*, is_junk: bool) -> st.SearchStrategy[Any]:
    def bigger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        keys = keywords(inner)
        if is_junk:
            keys = {key: values | JUNK for key, values in keys.items()}
        return st.fixed_dictionaries({}, optional=keys)

    return st.recursive(st.booleans() | st.fixed_dictionaries({}), bigger, max_leaves=8)


def objects(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return values.filter(lambda schema: isinstance(schema, dict))


@given(objects(schemas(is_junk=True)), st.sampled_from(RULES))
@example({"type": "object"}, RULES[0])
@example({"properties": None, "required": None}, RULES[0])
@example({"type": ["object", "null"]}, RULES[0])
@example({"$ref": "#/definitions/a", "definitions": {"a": {"properties": {"x": {}}}}}, RULES[0])
@example({"$ref": "#"}, RULES[0])
@example({"anyOf": [{"$ref": "#"}] * 40}, RULES[0])
@example({"type": "object", "items": [{"type": "array"}]}, RULES[0])
def test_what_goes_out_is_taken_by_everybody(schema: dict[str, Any], rules: ToolRules) -> None:
    before = json.dumps(schema)
    try:
        found = fit(schema, rules).schema
    except UnfitError:
        if not rules.parameter_names:
            raise
        return
    assert not refusals(found, is_messages_api=bool(rules.parameter_names)), found
    assert json.dumps(schema) == before
    assert fit(found, rules).schema is found, "what is valid goes out as it is"


SCALARS = st.sampled_from([None, True, 0, 1, 2.5, "a", "abc", ""])
SMALL = (
    SCALARS
    | st.lists(SCALARS, max_size=3)
    | st.dictionaries(st.sampled_from(NAMES), SCALARS, max_size=3)
)
VALUES = (
    SMALL | st.lists(SMALL, max_size=3) | st.dictionaries(st.sampled_from(NAMES), SMALL, max_size=3)
)
ARGUMENTS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3)


def allows(schema: Mapping[str, Any], value: Any) -> bool:
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    try:
        return jsonschema_rs.is_valid({**schema, **draft}, value)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
        return False  # no schema that means anything


@given(objects(schemas(is_junk=False)), st.lists(ARGUMENTS, min_size=8, max_size=8))
def test_what_a_server_takes_can_be_said(schema: dict[str, Any], calls: list[Any]) -> None:
    """All of it where the top has no alternatives, which are the next test."""
    for key in ("anyOf", "oneOf", "allOf", "$ref"):
        schema.pop(key, None)
    schema["type"] = "object"  # a call has nothing else
    found = fit(schema, ToolRules()).schema
    for arguments in calls:
        assert allows(found, arguments) or not allows(schema, arguments), (found, arguments)


@given(
    st.sampled_from(["anyOf", "oneOf", "allOf"]),
    st.lists(objects(schemas(is_junk=False)), min_size=1, max_size=3),
    st.lists(ARGUMENTS, min_size=8, max_size=8),
)
def test_what_an_alternative_names_can_be_said(
    key: str, branches: list[dict[str, Any]], calls: list[Any]
) -> None:
    for branch in branches:
        for inner in ("anyOf", "oneOf", "allOf", "$ref"):
            branch.pop(inner, None)
    branches = json.loads(json.dumps(branches).replace('"#"', '"#x"'))  # the top is another there
    found = fit({key: branches}, ToolRules()).schema
    for arguments in calls:
        takes = [
            allows(b, arguments) and arguments.keys() <= b.get("properties", {}).keys()
            for b in branches
        ]
        if any(takes) and (key != "allOf" or all(takes)):
            assert allows(found, arguments), (found, arguments)


@pytest.mark.parametrize(
    ("given_schema", "sent"),
    [
        (
            {"type": "object", "oneOf": [
                {"properties": {"k": {"const": "a"}, "x": {"type": "string"}},
                 "required": ["k", "x"]},
                {"properties": {"k": {"const": "b"}}, "required": ["k"]}]},
            {"type": "object", "required": ["k"], "properties": {
                "k": {"anyOf": [{"const": "a"}, {"const": "b"}]}, "x": {"type": "string"}}},
        ),
        (
            {"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "number"}},
             "required": ["id"], "anyOf": [{"required": ["n"]}, {"required": ["m"]}]},
            {"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "number"}},
             "required": ["id"]},
        ),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/X",
             "definitions": {
                "X": {"type": "object", "properties": {"y": {"$ref": "#/definitions/X"}}}}},
            {"type": "object", "properties": {"y": {"$ref": "#/definitions/X"}},
             "definitions": {
                "X": {"type": "object", "properties": {"y": {"$ref": "#/definitions/X"}}}}},
        ),
        ({"properties": {"at": {"type": "array"}}, "required": None},
         {"type": "object", "properties": {"at": {"type": "array", "items": {}}}}),
    ],
)  # fmt: skip
def test_what_is_sent_for_schemas_of_real_servers(given_schema: Any, sent: Any) -> None:
    assert fit(given_schema, MESSAGES_RULES).schema == sent


def test_names_that_are_not_taken_cost_the_parameter_or_the_tool() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"filter[id]": {}, "ok": {}},
        "additionalProperties": False,
    }
    assert fit(schema, ToolRules()).schema is schema
    found = fit(schema, MESSAGES_RULES)
    assert found.without == ("filter[id]",)
    assert found.schema == {"type": "object", "properties": {"ok": {}}}
    with pytest.raises(UnfitError, match="filter"):
        fit({**schema, "required": ["filter[id]"]}, MESSAGES_RULES)


def test_our_own_tools_go_out_as_they_are() -> None:
    for tool in builtin_tools(NOWHERE).values():
        for rules in RULES:
            assert fit(tool.spec.schema, rules).schema is tool.spec.schema, tool.spec.name
