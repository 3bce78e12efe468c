"""The published schema and types say what the code does."""

import json
from collections.abc import Iterator
from typing import Any, get_args

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec import asyncapi, schema, typescript, visible_texts
from spec.requirements import SPEC
from spec.validating import complaint
from spec.words import SIDES, Entry, entries, results
from wcore.protocol import codec, commands, events

REMEDY = "run: python tests/write_spec.py"
RESULT_ENVELOPE = {"type", "request_id", "command", "ok", "error"}


def _examples() -> Iterator[tuple[str, Entry]]:
    return ((side, each) for side in SIDES[:2] for each in entries(side).values())


def _inside() -> set[str]:
    """Return the names of all objects and enumerations that messages are made of."""
    models = {**schema.models("commands"), **schema.models("events")}
    parts = {name for name, each in models.items() if "type" not in each.get("properties", {})}
    return parts - {schema.ANY}


def test_the_files_are_those_of_the_code() -> None:
    folder = SPEC / "schema"
    there = {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*.json")}
    assert there == schema.files(), REMEDY
    assert typescript.PATH.read_text() == typescript.text(), REMEDY
    assert asyncapi.PATH.read_text() == asyncapi.text(), REMEDY
    for path in (visible_texts.COPY, *visible_texts.SCRIPTS):
        assert path.read_text() == visible_texts.rendered(path), REMEDY


def test_they_are_json_schema() -> None:
    for text in schema.files().values():
        made = json.loads(text)
        jsonschema_rs.meta.validate(made)
        jsonschema_rs.validator_for(made)


def test_every_message_is_explained_and_no_other() -> None:
    kinds = {"commands": get_args(get_args(commands.AnyCommand)[0]), "events": events.KINDS}
    for side, models in kinds.items():
        assert set(entries(side)) == {m.model_fields["type"].default for m in models}
    assert set(entries("parts")) == _inside()


@pytest.mark.parametrize("side", SIDES)
def test_every_field_is_explained_and_no_other(side: str) -> None:
    for name, words in entries(side).items():
        key = name if side == "parts" else schema.title(side, name)
        made = schema.bundle()["$defs"][key]
        variants = [
            schema.bundle()["$defs"][each["$ref"].removeprefix(schema.REF)]
            for each in made.get("oneOf", [])
        ] or [made]
        fields = {field for each in variants for field in each.get("properties", {})}
        assert fields - {"type"} == set(words.fields), name


def test_every_value_of_an_enumeration_is_explained_and_no_other() -> None:
    for name, words in entries("parts").items():
        assert set(schema.bundle()["$defs"][name].get("enum", ())) == set(words.values), name


@pytest.mark.parametrize(("side", "words"), list(_examples()), ids=lambda each: str(each)[:40])
def test_the_examples_are_valid(side: str, words: Entry) -> None:
    assert words.example is not None
    assert complaint(side, words.example) == ""
    alone = jsonschema_rs.validator_for(schema.single(side, words.name))
    assert alone.is_valid(words.example)


@pytest.mark.parametrize("words", entries("commands").values(), ids=lambda each: each.name)
def test_the_engine_takes_the_examples(words: Entry) -> None:
    assert not isinstance(codec.decode(json.dumps(words.example).encode()), codec.Malformed)


# JSON Schema takes 1.0 for an integer, and the engine does not: no such numbers.
FRACTIONS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not x.is_integer())
WORDS = "once always session project enabled off blocked yolo".split()
ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 2**33)
    | FRACTIONS
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
    | st.sampled_from(
        ["once", "always", "project", "enabled", "off", "blocked", "yolo", "a" * 129]
    ),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["name", "status", "always_path", "root", "x"]), inner)
    ),
    max_leaves=4,
)


@given(st.sampled_from(sorted(entries("commands"))), st.data())
def test_engine_and_schema_agree_on_what_a_command_is(name: str, data: st.DataObject) -> None:
    words = entries("commands")[name]
    command = {**(words.example or {})}
    changed = data.draw(st.sets(st.sampled_from(["type", "later", *words.fields]), max_size=2))
    for field in changed:
        command[field] = data.draw(ANY_JSON)
    refused = isinstance(codec.decode(json.dumps(command).encode()), codec.Malformed)
    assert refused == bool(complaint("commands", command))


def test_each_result_carries_what_belongs_to_its_command() -> None:
    asking = {m.model_fields["type"].default for m in _introspection(commands.Introspection)}
    assert set(results()) == asking
    carried = {field.rstrip("?") for fields in results().values() for field in fields}
    assert carried == set(events.CommandResult.model_fields) - RESULT_ENVELOPE


def _introspection(kind: type[Any]) -> list[type[Any]]:
    return [each for sub in kind.__subclasses__() for each in (sub, *_introspection(sub))]


def test_what_is_not_written_down_is_found() -> None:
    pong: dict[str, Any] = {"type": "pong"}
    assert complaint("events", pong) == ""
    assert complaint("events", {**pong, "more": 1})
    assert complaint("events", {"type": "stream_start"})
    assert complaint("events", {"type": "info", "msg_id": "", "message": None})
    assert complaint("events", {"type": "rumour"})


def test_commands_stay_open_for_newer_hosts() -> None:
    assert complaint("commands", {"type": "ping", "later": 1}) == ""
    assert complaint("commands", {"type": "set_mode", "mode": "sometimes"})
