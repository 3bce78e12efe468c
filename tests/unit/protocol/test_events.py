"""What we say is exactly one line of valid JSON and UTF-8, whatever text it carries."""

import json
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from wcore.errors import Code
from wcore.protocol import events
from wcore.protocol.codec import EventTooLargeError, encode
from wcore.protocol.lines import LINE_BYTES_MAX
from wcore.vocabulary import By, Category, Mode, Preview, Row, Status, Why

KINDS: Final = {kind.model_fields["type"].default: kind for kind in events.KINDS}

# Surrogates, NUL, the separators that JavaScript once took for line ends, and the rest.
TEXT = st.text() | st.text(
    st.sampled_from('\ud800\udfff\x00\n\r\u0085\u2028\u2029\ufeff"\\a\U0001f600'), max_size=8
)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | FINITE | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXT, JSONS, max_size=3)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


INFO = st.builds(
    events.ToolInfo,
    name=TEXT,
    category=st.sampled_from(Category),
    args=OBJECTS,
    description=TEXT,
)
WHY = st.builds(
    Why,
    row=st.sampled_from(Row),
    detail=TEXT,
    rule=maybe(TEXT),
    source=maybe(TEXT),
    span=maybe(st.tuples(st.integers(0, 9), st.integers(0, 9))),
    code=maybe(TEXT),
)
PREVIEW = st.builds(Preview, st.sampled_from(["diff", "command", "text"]), TEXT, st.booleans())
AGENT = maybe(st.lists(TEXT, max_size=2).map(tuple))
REQUEST = st.builds(
    events.ToolRequest,
    msg_id=TEXT,
    call_id=TEXT,
    tool=INFO,
    why=WHY,
    preview=maybe(PREVIEW),
    suggestions=maybe(st.just(("once", "always"))),
    digest=TEXT,
    expires_in_s=st.integers(0, 300),
    agent=AGENT,
)
CAPABILITIES = st.builds(
    events.Capabilities,
    thinking=st.booleans(),
    effort=st.booleans(),
    modes=st.just(tuple(Mode)),
    current_mode=st.sampled_from(Mode),
    mcp=st.booleans(),
    hitl_suspend=st.sampled_from([None, True]),
    current_model=maybe(TEXT),
)
IDS: Final = {"msg_id": TEXT, "call_id": TEXT}
EVENTS: Final[dict[type[events.Event], st.SearchStrategy[Any]]] = {
    events.Ready: st.builds(events.Ready, version=TEXT, session_id=TEXT, capabilities=CAPABILITIES),
    events.ConfigChanged: st.builds(events.ConfigChanged, capabilities=CAPABILITIES),
    events.Pong: st.just(events.Pong()),
    events.Info: st.builds(events.Info, msg_id=TEXT, message=TEXT),
    events.Error: st.builds(
        events.Error, error=st.builds(events.Problem, code=st.sampled_from(Code), message=TEXT)
    ),
    events.StreamStart: st.builds(events.StreamStart, msg_id=TEXT),
    events.TextDelta: st.builds(events.TextDelta, text=TEXT, msg_id=TEXT),
    events.Thinking: st.builds(events.Thinking, text=TEXT, msg_id=TEXT, subject=maybe(TEXT)),
    events.StreamEnd: st.builds(
        events.StreamEnd,
        msg_id=TEXT,
        finish_reason=st.sampled_from(["stop", "length", "error", "max_turns"]),
        usage=st.builds(
            events.UsageReport,
            input_tokens=st.integers(0),
            output_tokens=st.integers(0),
            cache_read_tokens=maybe(st.integers(0)),
        ),
        denied_unasked=maybe(st.integers(0)),
    ),
    events.ToolRequest: REQUEST,
    events.CallAnnounced: st.builds(
        events.CallAnnounced, **IDS, tool=INFO, why=maybe(WHY), preview=maybe(PREVIEW), agent=AGENT
    ),
    events.CallSettled: st.builds(
        events.CallSettled,
        **IDS,
        outcome=st.sampled_from(["approved", "denied", "expired", "cancelled"]),
        by=st.sampled_from(By),
        agent=AGENT,
        args=maybe(OBJECTS),
        digest=maybe(TEXT),
    ),
    events.ToolRunning: st.builds(events.ToolRunning, **IDS, tool_name=TEXT),
    events.ToolChunk: st.builds(events.ToolChunk, **IDS, tool_name=TEXT, chunk=TEXT),
    events.ToolResult: st.builds(
        events.ToolResult,
        **IDS,
        tool_name=TEXT,
        status=st.sampled_from(Status),
        output=TEXT,
        output_type=st.sampled_from(["text", "diff", "image"]),
        metadata=maybe(OBJECTS),
    ),
    events.ToolCancelled: st.builds(events.ToolCancelled, **IDS, reason=TEXT),
    events.ApprovalRequired: st.builds(
        events.ApprovalRequired,
        call_id=TEXT,
        resume_token=TEXT,
        correlation_id=TEXT,
        reason=TEXT,
        context=TEXT,
    ),
    events.Suspend: st.builds(events.Suspend, reason=TEXT, resume_token=TEXT),
    events.ApprovalResumed: st.builds(
        events.ApprovalResumed, resume_token=TEXT, approved=st.booleans()
    ),
    events.CommandResult: st.builds(
        events.CommandResult,
        request_id=maybe(TEXT),
        command=TEXT,
        ok=st.booleans(),
        calls=maybe(st.lists(REQUEST, max_size=2).map(tuple)),
        more=maybe(st.booleans()),
        messages=maybe(
            st.lists(
                st.builds(
                    events.HistoryMessage,
                    seq=st.integers(0),
                    msg_id=TEXT,
                    role=st.just("tool"),
                    output=maybe(TEXT),
                    metadata=maybe(OBJECTS),
                ),
                max_size=2,
            ).map(tuple)
        ),
    ),
    events.McpReady: st.builds(events.McpReady, name=TEXT, tools=st.tuples(TEXT, TEXT)),
    events.McpFailed: st.builds(events.McpFailed, name=TEXT, reason=TEXT),
    events.SubAgentEvent: st.builds(
        events.SubAgentEvent, parent_call_id=TEXT, agent_name=TEXT, inner=OBJECTS
    ),
    events.SessionCost: st.builds(
        events.SessionCost,
        session_id=TEXT,
        total_cost_usd=FINITE,
        per_turn=st.just(()),
    ),
}


def said(event: events.Event) -> dict[str, Any]:
    """Return what a host reads; the line must be one strict line of JSON."""
    line = encode(event)
    assert line.index(b"\n") == len(line) - 1
    value = json.loads(line.decode("utf-8"), parse_constant=pytest.fail)
    assert isinstance(value, dict)
    return value  # type: ignore[return-value]


def announced(args: dict[str, Any]) -> events.CallAnnounced:
    tool = events.ToolInfo(name="x", category=Category.INFO, args=args, description="")
    return events.CallAnnounced(msg_id="m", call_id="c", tool=tool)


def test_every_event_of_the_wire_is_tried_below() -> None:
    assert set(EVENTS) == set(events.KINDS)
    assert len(KINDS) == len(events.KINDS)


@pytest.mark.parametrize("kind", events.KINDS, ids=lambda kind: kind.__name__)
def test_an_event_is_one_line_with_a_type_and_without_null_for_absent_fields(
    kind: type[events.Event],
) -> None:
    @settings(max_examples=40)
    @given(EVENTS[kind])
    def check(event: events.Event) -> None:
        value = said(event)
        assert value["type"] == kind.model_fields["type"].default
        assert None not in value.values()
        for inner in ("tool", "why", "preview", "capabilities", "usage", "error"):
            assert None not in value.get(inner, {}).values() or inner == "metadata"

    check()


@pytest.mark.parametrize("kind", events.KINDS, ids=lambda kind: kind.__name__)
def test_an_event_forbids_fields_it_does_not_have(kind: type[events.Event]) -> None:
    @settings(max_examples=3)
    @given(EVENTS[kind])
    def check(event: events.Event) -> None:
        fields = {**event.model_dump(), "surprise": 1}
        with pytest.raises(ValidationError, match="surprise"):
            kind.model_validate(fields)

    check()


def test_the_objects_inside_events_forbid_unknown_fields_too() -> None:
    for part in (events.ToolInfo, events.Capabilities, events.Problem, events.UsageReport):
        with pytest.raises(ValidationError, match="surprise"):
            part.model_validate({"surprise": 1})


# --- what arrives ---------------------------------------------------------------------------------


@given(TEXT)
@example("\u2028\u2029\x85\x00\x1b[2J\ud800")
def test_text_arrives_as_it_was_except_that_lone_surrogates_are_replaced(text: str) -> None:
    arrived = said(events.TextDelta(msg_id="m", text=text))["text"]
    kept = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert arrived.replace("\ufffd", "") == kept.replace("\ufffd", "")
    if kept == text:
        assert arrived == text


@pytest.mark.parametrize(
    ("text", "arrives"),
    [
        ("a\ud800b", "a\ufffdb"),
        ("\udfff", "\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
    ],
)
def test_a_lone_surrogate_is_one_replacement_and_a_pair_is_its_character(
    text: str, arrives: str
) -> None:
    assert said(events.TextDelta(msg_id="m", text=text))["text"] == arrives


@given(OBJECTS)
@example({"a": None, "b": {"c": None, "d": [None, {"e": None}]}, "type": None})
def test_arguments_arrive_whole_and_null_inside_them_survives(args: dict[str, Any]) -> None:
    sent = json.dumps(args)
    if "\\ud" not in sent:  # no surrogate; pairs are escaped too, but then nothing is lost here
        assert said(announced(args))["tool"]["args"] == args


@pytest.mark.parametrize("broken", ["", "\ud800"])
def test_null_inside_arguments_survives_next_to_a_lone_surrogate(broken: str) -> None:
    args = {"a": None, "b": [None, {"c": None}], "d": broken}
    arrived = said(announced(args))["tool"]["args"]
    assert arrived.pop("d") in ("", "\ufffd")
    assert arrived == {"a": None, "b": [None, {"c": None}]}


@pytest.mark.parametrize("broken", ["", "\ud800"])
@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_a_number_that_json_does_not_have_never_reaches_the_wire(
    number: float, broken: str
) -> None:
    assert said(announced({"n": number, "s": broken}))["tool"]["args"]["n"] is None


def test_why_and_capabilities_leave_out_what_is_absent() -> None:
    why = Why(Row.MODE, "mode covers it")
    event = announced({}).model_copy(update={"why": why})
    assert said(event)["why"] == {"row": "mode", "detail": "mode covers it"}
    capabilities = events.Capabilities(
        thinking=False,
        effort=False,
        modes=(Mode.DEFAULT,),
        current_mode=Mode.DEFAULT,
        mcp=False,
        prompts=True,
    )
    assert said(events.ConfigChanged(capabilities=capabilities))["capabilities"] == {
        "tool_approval": True,
        "thinking": False,
        "effort": False,
        "effort_levels": [],
        "modes": ["default"],
        "current_mode": "default",
        "mcp": False,
        "prompts": True,
    }


def test_a_flag_is_true_or_absent_and_never_false() -> None:
    flags = [
        name for name, info in events.Capabilities.model_fields.items() if info.default is None
    ]
    assert {
        "call_announced",
        "call_settled",
        "edit_args",
        "persist",
        "introspection",
        "prompts",
    } <= set(flags)
    base = {
        "thinking": True,
        "effort": True,
        "modes": ["force"],
        "current_mode": "force",
        "mcp": True,
    }
    for flag in set(flags) - {"current_model", "context_limit"}:
        with pytest.raises(ValidationError):
            events.Capabilities.model_validate({**base, flag: False})


def test_an_error_event_never_has_a_msg_id() -> None:
    assert "msg_id" not in events.Error.model_fields


def test_an_info_outside_a_turn_has_an_empty_msg_id() -> None:
    assert said(events.Info(message="x")) == {"type": "info", "msg_id": "", "message": "x"}


# --- size -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("char", ["x", "\u00e9", "\U0001f600", "\x00", "\ud800"])
def test_an_event_fits_a_line_exactly_or_is_refused_whole(char: str) -> None:
    def event(count: int, rest: int) -> events.TextDelta:
        return events.TextDelta(msg_id="m", text=char * count + "x" * rest)

    empty, one = len(encode(event(0, 0))), len(encode(event(1, 0)))
    count, rest = divmod(LINE_BYTES_MAX - empty, one - empty)
    assert len(encode(event(count, rest))) == LINE_BYTES_MAX
    with pytest.raises(EventTooLargeError):
        encode(event(count, rest + 1))


@pytest.mark.parametrize("depth", [100, 200])
def test_arguments_as_deep_as_any_reader_of_ours_allows_are_sent(depth: int) -> None:
    deep: Any = None
    for _ in range(depth):
        deep = [deep]
    assert said(announced({"deep": deep}))["tool"]["args"]["deep"] == deep


# --- reading them back ----------------------------------------------------------------------------


@given(st.one_of(*EVENTS.values()))
def test_an_event_reads_back_as_itself(event: events.Event) -> None:
    line = encode(event)
    again = KINDS[json.loads(line)["type"]].model_validate_json(line)
    assert type(again) is type(event)
    assert encode(again) == line
