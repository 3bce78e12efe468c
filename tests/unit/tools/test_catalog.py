import sys
from contextlib import suppress
from typing import cast

import pytest
import waiting
from unit.tools.room import Room

from wcore.errors import ToolError
from wcore.tools.arguments import canonical
from wcore.vocabulary import DESCRIPTION_CHARS_MAX, ID_CHARS_MAX, Args, Category, Json

EXAMPLES: dict[str, Args] = {
    "Read": {"file_path": "a"},
    "LS": {},
    "Glob": {"pattern": "*"},
    "Grep": {"pattern": "x"},
    "Write": {"file_path": "a", "content": "x"},
    "Edit": {"file_path": "a", "old_string": "x", "new_string": "y"},
    "MultiEdit": {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}]},
    "Delete": {"file_path": "a"},
    "Bash": {"command": "true"},
    "AskUserQuestion": {"question": "q", "options": [{"label": "a"}]},
    "Spawn": {"task": "x"},
}
ODD: list[Json] = [
    None,
    True,
    1,
    -1,
    1.5,
    "",
    "\0",
    "\ud800",
    "x" * 9999,
    [],
    {},
    [[{}]],
    {"a": []},
]


def test_the_tools_come_in_a_fixed_order_under_their_own_names(room: Room) -> None:
    assert list(room.tools) == list(EXAMPLES)
    assert all(tool.spec.name == name for name, tool in room.tools.items())


def test_categories_are_those_of_the_design(room: Room) -> None:
    named = {name: tool.spec.category for name, tool in room.tools.items()}
    edits = {"Write", "Edit", "MultiEdit", "Delete"}
    assert {name for name, category in named.items() if category is Category.EDIT} == edits
    runs = {name for name, category in named.items() if category is Category.EXEC}
    assert runs == {"Bash", "Spawn"}


def test_schemas_forbid_unknown_fields_and_hold_no_references_or_titles(room: Room) -> None:
    for tool in room.tools.values():
        assert tool.spec.schema["additionalProperties"] is False
        assert "$ref" not in str(tool.spec.schema)
        assert "'title'" not in str(tool.spec.schema)


@pytest.mark.parametrize("name", EXAMPLES)
async def test_a_field_is_required_exactly_if_the_schema_says_so(room: Room, name: str) -> None:
    room.put("a", "x")
    tool = room.tools[name]
    required = cast("list[str]", tool.spec.schema.get("required", []))
    await tool.prepare(EXAMPLES[name])
    for field in EXAMPLES[name]:
        less = {key: value for key, value in EXAMPLES[name].items() if key != field}
        if field in required:
            with pytest.raises(ToolError, match=f"`{field}` is missing"):
                await tool.prepare(less)
        else:
            await tool.prepare(less)


@pytest.mark.parametrize("name", EXAMPLES)
async def test_an_unknown_field_is_refused_by_name_and_the_fields_are_listed(
    room: Room, name: str
) -> None:
    with pytest.raises(ToolError, match=r"`colour` is not an argument.*arguments are: ") as error:
        await room.tools[name].prepare({**EXAMPLES[name], "colour": "red"})
    for field in cast("dict[str, Json]", room.tools[name].spec.schema["properties"]):
        assert field in str(error.value)


@pytest.mark.parametrize("name", EXAMPLES)
async def test_odd_values_are_tool_errors_and_targets_never_raises(room: Room, name: str) -> None:
    tool = room.tools[name]
    for field in cast("dict[str, Json]", tool.spec.schema["properties"]):
        for value in ODD:
            args = {**EXAMPLES[name], field: value}
            tool.target_paths(args)
            with suppress(ToolError):
                await tool.prepare(args)


@pytest.mark.parametrize("name", EXAMPLES)
async def test_a_prepared_call_keeps_to_the_limits_of_the_wire(room: Room, name: str) -> None:
    room.put("a", "x")
    prepared = await room.tools[name].prepare(EXAMPLES[name])
    assert prepared.tool == name
    assert prepared.category is room.tools[name].spec.category
    assert 0 < len(prepared.description) <= DESCRIPTION_CHARS_MAX
    assert 0 < len(prepared.digest) <= ID_CHARS_MAX


@pytest.mark.parametrize("value", ["x", "", "null", "3.5", "1e3", "0x3", 3.5, [3], {}])
async def test_numbers_are_numbers(room: Room, value: Json) -> None:
    with pytest.raises(ToolError, match=r"`limit`: .* integer"):
        await room.prepare("Read", file_path="a", limit=value)


@pytest.mark.parametrize("name", EXAMPLES)
async def test_a_number_and_a_truth_value_as_text_are_shown_and_bound_as_what_they_are(
    room: Room, name: str
) -> None:
    room.put("a", "x")
    spelled: dict[str, list[tuple[Json, list[Json]]]] = {
        "integer": [(2, ["2", 2.0, "2.0", " 2 "])],
        "boolean": [(True, ["true", "True", 1, "1", "yes"]), (False, ["false", 0])],
    }
    for field, of in cast("dict[str, Args]", room.tools[name].spec.schema["properties"]).items():
        for meant, ways in spelled.get(str(of["type"]), []):
            exact = await room.tools[name].prepare({**EXAMPLES[name], field: meant})
            assert exact.args == {**EXAMPLES[name], field: meant}
            for way in ways:
                found = await room.tools[name].prepare({**EXAMPLES[name], field: way})
                assert canonical(found.args) == canonical(exact.args)
                assert (found.digest, found.preview) == (exact.digest, exact.preview)


async def test_what_is_read_within_a_list_is_shown_so_too(room: Room) -> None:
    room.put("a", "x")
    edit: dict[str, Json] = {"old_string": "x", "new_string": "y", "replace_all": "true"}
    found = await room.prepare("MultiEdit", file_path="a", edits=[edit])
    assert found.args == {"file_path": "a", "edits": [{**edit, "replace_all": True}]}


@pytest.mark.parametrize("name", EXAMPLES)
async def test_what_was_sent_well_is_shown_as_it_was_sent(room: Room, name: str) -> None:
    room.put("a", "x")
    for absent in ({}, dict.fromkeys(("offset", "context", "timeout_s"))):
        known = cast("Args", room.tools[name].spec.schema["properties"])
        args = {**EXAMPLES[name], **{field: None for field in absent if field in known}}
        assert canonical((await room.tools[name].prepare(args)).args) == canonical(args)


@pytest.mark.parametrize("name", ["Read", "Write", "Edit", "MultiEdit", "Delete"])
async def test_targets_are_the_touched_paths(room: Room, name: str) -> None:
    room.put("a", "x")
    prepared = await room.tools[name].prepare(EXAMPLES[name])
    touched = {touch.path for touch in prepared.accesses}
    assert touched == {str(room.folder / "a")}
    assert room.tools[name].target_paths(EXAMPLES[name]) == touched


def test_importing_the_catalog_leaves_heavy_modules_alone() -> None:
    code = "import sys, wcore.tools.builtin.catalog; print(*sys.modules)"
    done = waiting.run([sys.executable, "-c", code], check=True)
    assert not {"psutil", "ignore", "ctypes", "bashlex"} & set(done.stdout.split())
