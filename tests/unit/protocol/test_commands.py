"""Commands: what is optional may be null, what is unknown is ignored, modes have many names."""

import json
from typing import Any, Final, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import rows

from wcore.protocol import commands
from wcore.protocol.codec import Malformed, decode
from wcore.vocabulary import MODE_ALIASES, Mode

KINDS: Final[tuple[type[commands.Command], ...]] = get_args(get_args(commands.AnyCommand)[0])

SAMPLES: Final[dict[str, object]] = {
    "msg_id": "m1",
    "content": "hello",
    "files": ["a.txt"],
    "call_id": "c1",
    "scope": "always",
    "persist": "project",
    "answer": "blue",
    "args": {"a": [1, None, {"b": None}]},
    "digest": "d",
    "reason": "no",
    "stop": True,
    "text": "history",
    "mode": "auto_edit",
    "model": "m",
    "thinking": "enabled",
    "thinking_budget": 5,
    "effort": "high",
    "compaction": "safe",
    "name": "server",
    "transport": "stdio",
    "command": "run",
    "env": {"A": "b"},
    "url": "http://localhost",
    "headers": {"A": "b"},
    "start_timeout_s": 40.0,
    "call_timeout_s": 300.5,
    "allow_local": False,
    "resume_token": "t",
    "approved": True,
    "modifications": {"answer": "blue"},
    "request_id": "r1",
    "after": "c1",
    "grant_id": "g1",
    "limit": 5,
    "before": 0,
    "agent": "main",
    "tools": [{"name": "Bash", "status": "blocked"}],
    "tool": "Bash",
    "approve_always": True,
    "only": False,
    "sandbox": {"view": "none", "hosts": ["pypi.org"]},
    "trusted": True,
    "action": "continue",
}


#: Where null in a required field is a value of its own.
NULL_SAYS_SOMETHING: Final = {("set_agent_tools", "tools")}


def name_of(kind: type[commands.Command]) -> str:
    return str(kind.model_fields["type"].default)


def fields_of(kind: type[commands.Command], *, required: bool) -> dict[str, object]:
    """Return a sample for each required or each optional field of a command."""
    samples = {**SAMPLES, "args": ["-x"]} if kind is commands.AddMcpServer else SAMPLES
    return {
        field: samples[field]
        for field, info in kind.model_fields.items()
        if field != "type" and info.is_required() is required
    }


def read(kind: type[commands.Command], fields: dict[str, Any]) -> commands.Command:
    command = decode(json.dumps({"type": name_of(kind), **fields}).encode())
    assert not isinstance(command, Malformed), command
    assert type(command) is kind
    return command


def test_every_command_is_known_to_the_wire() -> None:
    leaves = {
        kind
        for base in (commands.Command, commands.Introspection)
        for kind in base.__subclasses__()
        if kind is not commands.Introspection
    }
    assert set(KINDS) == leaves
    assert len({name_of(kind) for kind in KINDS}) == len(KINDS) == 22


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_the_required_fields_are_enough(kind: type[commands.Command]) -> None:
    command = read(kind, fields_of(kind, required=True))
    assert command.model_dump(exclude_none=True) == {
        "type": name_of(kind),
        **fields_of(kind, required=True),
    }


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_every_field_is_taken(kind: type[commands.Command]) -> None:
    fields = {**fields_of(kind, required=True), **fields_of(kind, required=False)}
    assert read(kind, fields).model_dump(exclude_none=False) == {"type": name_of(kind), **fields}


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_null_in_an_optional_field_is_the_same_as_absent(kind: type[commands.Command]) -> None:
    required = fields_of(kind, required=True)
    absent = read(kind, required)
    optional = fields_of(kind, required=False)
    assert read(kind, {**required, **dict.fromkeys(optional)}) == absent
    for field in optional:
        assert read(kind, {**required, field: None}) == absent


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_unknown_fields_are_ignored(kind: type[commands.Command]) -> None:
    required = fields_of(kind, required=True)
    unknown = {"x-new": {"deep": [None]}, "Type": "stop", "critical": True, "": 1}
    assert read(kind, {**unknown, **required}) == read(kind, required)


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_every_required_field_is_required_and_null_is_not_enough(
    kind: type[commands.Command],
) -> None:
    required = fields_of(kind, required=True)
    for field in required:
        rest = {name: value for name, value in required.items() if name != field}
        nothing = [] if (name_of(kind), field) in NULL_SAYS_SOMETHING else [{**rest, field: None}]
        for fields in (rest, *nothing):
            line = json.dumps({"type": name_of(kind), **fields}).encode()
            answer = decode(line)
            assert isinstance(answer, Malformed)
            assert f"{name_of(kind)}.{field}" in answer.message


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_no_field_is_bent_to_fit(kind: type[commands.Command]) -> None:
    wrong: dict[type, object] = {
        str: 5,
        bool: "true",
        int: "5",
        float: "5.5",
        list: "x",
        dict: "x",
    }
    every = {**fields_of(kind, required=True), **fields_of(kind, required=False)}
    for field, value in every.items():
        if field == "modifications":
            continue  # any JSON
        line = json.dumps({"type": name_of(kind), **every, field: wrong[type(value)]}).encode()
        assert isinstance(decode(line), Malformed), field


IDS: Final = "msg_id call_id resume_token request_id grant_id after name agent tool".split()


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_ids_are_short_and_hold_no_control_characters(kind: type[commands.Command]) -> None:
    every = {**fields_of(kind, required=True), **fields_of(kind, required=False)}
    for field in set(IDS) & set(every):
        for bad in ("", "a\nb", "a\x00", "a\x7f", "a" * 129):
            line = json.dumps({"type": name_of(kind), **every, field: bad}).encode()
            assert isinstance(decode(line), Malformed), (field, bad)


def test_a_command_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        read(commands.Stop, {}).type = "ping"  # type: ignore[attr-defined,assignment]


# --- modes ----------------------------------------------------------------------------------------


@rows(
    ("name", "mode"),
    [
        ("plan", Mode.PLAN),
        ("default", Mode.DEFAULT),
        ("ask_every_time", Mode.DEFAULT),
        ("read_only", Mode.READ_ONLY),
        ("auto_accept_read_only", Mode.READ_ONLY),
        ("auto_edit", Mode.AUTO_EDIT),
        ("acceptEdits", Mode.AUTO_EDIT),
        ("auto_run", Mode.AUTO_RUN),
        ("force", Mode.FORCE),
        ("yolo", Mode.FORCE),
        ("bypassPermissions", Mode.FORCE),
        ("dangerously_skip_permissions", Mode.FORCE),
        ("dangerously-skip-permissions", Mode.FORCE),
        ("auto_accept_all", Mode.FORCE),
    ],
)
def test_modes_have_the_names_other_engines_use(name: str, mode: Mode) -> None:
    command = read(commands.SetMode, {"mode": name})
    assert isinstance(command, commands.SetMode)
    assert MODE_ALIASES[command.mode] is mode


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Force",
        " force",
        "force ",
        "readonly",
        "Plan",
        "autoEdit",
        "YOLO",
        "dangerously_skip_sandbox_and_permissions",
    ],
)
def test_an_unknown_mode_is_malformed_and_the_modes_are_named(name: str) -> None:
    answer = decode(json.dumps({"type": "set_mode", "mode": name}).encode())
    assert isinstance(answer, Malformed)
    assert "plan, default, read_only, auto_edit, auto_run, force" in answer.message


def test_modes_are_ordered_from_least_to_most() -> None:
    order = [Mode.DEFAULT, Mode.READ_ONLY, Mode.AUTO_EDIT, Mode.AUTO_RUN, Mode.FORCE]
    assert sorted(Mode, key=lambda mode: mode.rank) == [Mode.DEFAULT, Mode.PLAN, *order[1:]]
    assert Mode.PLAN.rank == Mode.READ_ONLY.rank


# --- answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("modifications", "answer"),
    [
        ({"answer": "blue"}, "blue"),
        ({"answer": ""}, ""),
        ({"answer": None}, None),
        ({"answer": 5}, None),
        ({"answer": ["blue"]}, None),
        ({}, None),
        (None, None),
        ("blue", None),
        ([{"answer": "blue"}], None),
    ],
)
def test_an_answer_in_a_resume_is_text_or_nothing(
    modifications: object, answer: str | None
) -> None:
    fields = {"resume_token": "t", "approved": True, "modifications": modifications}
    command = read(commands.ApprovalResume, fields)
    assert isinstance(command, commands.ApprovalResume)
    assert command.answer == answer


JSONS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(), JSONS, max_size=4))
def test_changed_arguments_arrive_as_they_were_sent(args: dict[str, Any]) -> None:
    line = json.dumps({"type": "tool_approve", "call_id": "c", "args": args}, ensure_ascii=False)
    command = decode(line.encode())
    assert isinstance(command, commands.ToolApprove)
    assert command.args == args


@given(st.text(), st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=128))
def test_any_text_arrives_as_it_was_sent(content: str, msg_id: str) -> None:
    for ascii_only in (True, False):
        fields = {"type": "message", "msg_id": msg_id, "content": content}
        line = json.dumps(fields, ensure_ascii=ascii_only).encode()
        assert decode(line) == commands.Message(msg_id=msg_id, content=content)
