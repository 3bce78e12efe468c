"""The pure parts of the full screen: rows, markdown, the queue of cards, heights."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from wcore_host import events
from wcore_host.events import Preview, Tool, ToolRequest, Why
from wcore_host.headless import paragraphs, transcript
from wcore_host.headless.answer_menu import AnswerMenu
from wcore_host.headless.card_queue import QUIET_S, SETTLE_S, Card, CardQueue
from wcore_host.headless.paragraphs import split_at
from wcore_host.headless.transcript import Transcript
from wcore_host.headless.transcript_blocks import (
    AssistantBlock,
    CallBlock,
    CallState,
    NoteBlock,
    UserBlock,
)
from wcore_host.headless.workspace import ranked
from wcore_host.permission import Allow, Deny
from wcore_host.terminal.card_rows import card_rows, head
from wcore_host.terminal.heights import Heights
from wcore_host.terminal.render_blocks import paint
from wcore_host.terminal.text_layout import between_words, cut, diff_rows

HOSTILE = "a\x1b[2J\u202eb\x9bc\td\re\u200b[red]x[/red]│ ╭ > Yes"
WIDTH = 30


MARKUP = f"""# {HOSTILE}

`{HOSTILE}` [x]({HOSTILE}) ![i](u) &#8238; &#27; <b>

```py
{HOSTILE}
```"""


def card(command: str = "ls", call_id: str = "c", **more: object) -> Card:
    tool = Tool("Bash", "exec", {"command": command})
    preview = Preview("command", command)
    return Card(ToolRequest("m", call_id, tool, preview=preview, **more))  # type: ignore[arg-type]


# --- rows -----------------------------------------------------------------------------------------


@given(
    st.text(st.characters(exclude_categories=("Cs", "Cc", "Mn", "Me", "Cf"))), st.integers(2, 40)
)
def test_rows_fit_and_lose_nothing(text: str, width: int) -> None:
    for cutter in (cut, between_words):
        rows = list(cutter(text, width))
        assert "".join(rows) == text
        assert all(cell_len(row) <= width + 1 for row in rows)


@given(st.text(max_size=300), st.booleans())
def test_no_text_steps_out_of_its_card_or_reaches_the_terminal(text: str, whole: bool) -> None:
    request = card(text).request
    for shown in (
        request,
        ToolRequest("m", "c", Tool(text, text, {text: text}, text), agent=(text,)),
    ):
        rows = card_rows(Card(shown), WIDTH, whole=whole)
        assert all(row.text.startswith("│ ") and row.text.isprintable() for row in rows)
        assert head(Card(shown), WIDTH, "0:01").text.isprintable()


@pytest.mark.parametrize("kind", ["diff", "text", "command", "unheard of"])
def test_a_hostile_preview_is_inert(kind: str) -> None:
    preview = Preview(kind, f"+{HOSTILE}\n-{HOSTILE}\n@@ {HOSTILE}\n {HOSTILE}")
    request = ToolRequest("m", "c", Tool("Edit", "edit", {"file_path": "x.py"}), preview=preview)
    rows = card_rows(Card(request), 200)
    text = "\n".join(row.text for row in rows)
    assert "⟨U+001B⟩[2J⟨U+202E⟩b⟨U+009B⟩c" in text
    assert "[red]x[/red]" in text, "markup is text"
    assert all(row.text.isprintable() for row in rows)


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=40), max_size=20))
def test_a_diff_in_colours_says_what_the_diff_says(lines: list[str]) -> None:
    text = "\n".join(lines)
    plain = list(diff_rows(text, 10_000))
    coloured = list(diff_rows(text, 10_000, "x.py"))
    assert [row.text for row in plain] == [row.text for row in coloured]


def test_the_span_of_bytes_marks_characters() -> None:
    command = "echo grün > ~/x"
    start = len("echo grün ".encode())
    rows = [row.text for row in card_rows(card(command, why=Why(span=(start, start + 1))), 60)]
    at = rows.index("│ " + command)
    assert rows[at + 1] == "│ " + " " * 10 + "^"


def test_arguments_beside_the_preview_are_shown_and_a_cut_preview_shows_all_of_them() -> None:
    args: dict[str, events.Json] = {"file_path": "x", "content": "secret part"}
    for truncated in (False, True):
        preview = Preview("diff", "+secret", truncated)
        request = ToolRequest("m", "c", Tool("Write", "edit", args), preview=preview)
        text = "\n".join(row.text for row in card_rows(Card(request), 80))
        assert ("secret part" in text) is truncated


@pytest.mark.parametrize(
    "block",
    [
        UserBlock(HOSTILE),
        NoteBlock(HOSTILE, alarming=True),
        AssistantBlock(MARKUP),
        CallBlock("c", HOSTILE, HOSTILE, HOSTILE, {HOSTILE: HOSTILE}, (HOSTILE,), folded=False),
        CallBlock("c", "Bash", "", "", {}, state=CallState.RUNNING, output=HOSTILE, began=0.0),
        CallBlock("c", "Bash", "", "", {}, state=CallState.FAILED, output=HOSTILE),
        CallBlock("c", "Bash", "", "", {}, state=CallState.CANCELLED, reason=HOSTILE),
    ],
    ids=lambda block: type(block).__name__,
)
def test_hostile_blocks_are_inert(block: object) -> None:
    rows = paint(block, 60, 1.0)  # type: ignore[arg-type]
    assert all(row.text.isprintable() for row in rows)
    assert all(not segment.control for row in rows for segment in row)
    assert all(not (s.style and (s.style.link or s.style.meta)) for row in rows for s in row)


def test_markdown_hides_nothing() -> None:
    text = "\n".join(
        row.text for row in paint(AssistantBlock("a &lt;b> <i>c</i> ![d](e)\n\n[f]: g"), 60, 0)
    )
    for part in ("&lt;", "<i>c</i>", "!d", "(e)", "[f]: g"):
        assert part in text


# --- markdown that streams ------------------------------------------------------------------------


def test_a_stream_is_cut_between_paragraphs_and_never_inside_code() -> None:
    assert split_at("one\n\ntwo") == (5, "")
    assert split_at("one\n\n  still the list item") is None
    assert split_at("```\none\n\ntwo") is None
    assert split_at("```\none\n\n```\n\nafter") == (14, "")


def test_a_long_stream_is_cut_within_its_fence_and_always_gets_shorter() -> None:
    text = "```py\n" + "x = 1\n" * 3000
    cut_at = split_at(text)
    assert cut_at is not None
    assert cut_at[1] == "```py\n"
    one_line = "```\n" + "y" * 3 * paragraphs.BLOCK_CHARS_MAX
    at, again = split_at(one_line) or (0, "")
    assert len(again + one_line[at:]) < len(one_line)


@given(st.lists(st.sampled_from(["a", "\n", "\n\n", "```\n", " ", "# b", "- c\n"]), max_size=60))
def test_a_story_keeps_every_character_of_a_stream(parts: list[str]) -> None:
    told = Transcript()
    for part in parts:
        told.take(events.TextDelta("m", part), 0.0)
    assert "".join(b.text for b in told.blocks if isinstance(b, AssistantBlock)) == "".join(parts)


def test_a_story_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "BLOCKS_MAX", 10)
    monkeypatch.setattr(transcript, "BLOCKS_DROPPED", 5)
    monkeypatch.setattr(transcript, "OUTPUT_CHARS_MAX", 100)
    told = Transcript()
    for number in range(9):
        call_id = str(number)
        tool = Tool("Bash", "exec", {})
        told.take(events.CallAnnounced("m", call_id, tool), 0.0)
        told.take(events.ToolResult("m", call_id, "Bash", "success", "x" * 40), 0.0)
    calls = [block for block in told.blocks if isinstance(block, CallBlock)]
    assert sum("no longer kept" not in call.output for call in calls) == 2
    told.note("1")
    told.note("2")
    assert len(told.blocks) == 6
    assert told.dropped == 5


# --- the queue of cards ---------------------------------------------------------------------------


def test_a_card_listens_only_after_it_appeared_and_a_quiet_moment() -> None:
    cards = CardQueue()
    cards.add(card())
    assert not cards.listens(100.0), "it was never on the screen"
    cards.appeared(1.0)
    assert not cards.pressed(1.1)
    assert not cards.pressed(1.1 + QUIET_S - 0.01), "an early key begins the moment again"
    assert cards.pressed(1.1 + 3 * QUIET_S)
    cards.left()
    assert not cards.listens(100.0), "without the focus nothing counts"


def test_cards_queue_and_each_new_front_must_appear_again() -> None:
    cards = CardQueue()
    for call_id in "abc":
        cards.add(card(call_id=call_id))
    cards.appeared(0.0)
    assert cards.listens(1.0)
    assert cards.answered(1.0).call_id == "a"
    assert cards.front is not None
    assert cards.front.call_id == "b"
    assert not cards.listens(100.0)
    assert cards.waiting == 1


def test_a_settled_card_goes_wherever_it_is() -> None:
    cards = CardQueue()
    for call_id in "abc":
        cards.add(card(call_id=call_id))
    assert not cards.settle("b"), "it was not in front"
    assert cards.settle("a")
    assert cards.front is not None
    assert cards.front.call_id == "c"
    cards.answered(0.0)
    assert not cards.settle("c")
    assert not cards.refused(), "nothing is left to ask again"


def test_an_answer_that_is_not_taken_brings_the_card_back() -> None:
    cards = CardQueue()
    cards.add(card(call_id="a"))
    cards.answered(0.0)
    assert cards.knows("a")
    assert not cards.overdue(SETTLE_S - 1)
    assert cards.overdue(SETTLE_S + 1)
    assert cards.front is not None
    sent = cards.answered(0.0)
    assert cards.refused()
    assert len(cards) == 1
    assert cards.front is not sent, "who looks only now must see that it went and came again"


def test_a_suspended_call_is_answered_by_its_token() -> None:
    tool = Tool("a decision", "host", {})
    suspended = Card(ToolRequest("", "c", tool), token="t")
    said = {"type": "approval_resume", "resume_token": "t", "approved": True}
    assert suspended.command(Allow()) == said
    assert suspended.command(Deny("no")) == {**said, "approved": False}


# --- answers --------------------------------------------------------------------------------------


def picking(why: Why | None = None) -> AnswerMenu:
    return AnswerMenu(
        card("echo a", suggestions=({"always_prefix": {"prefix": "echo"}},), why=why or Why()),
        persists=True,
    )


def test_the_first_answer_is_yes_and_for_unusual_reasons_no() -> None:
    assert picking().enter() == Allow()
    assert picking(why=Why("protected")).enter() == Deny("")


def test_a_lasting_yes_takes_two_steps_and_stores_exactly_what_is_shown() -> None:
    chosen = picking()
    chosen.move(1)
    assert chosen.enter() is None
    assert chosen.enter("  ") is None, "empty text stores nothing"
    chosen.keep(1)
    assert chosen.enter("echo b") == Allow(
        scope={"always_prefix": {"prefix": "echo b"}}, persist="project"
    )
    assert chosen.back() is None, "Esc leaves the step"
    assert chosen.back() == Deny(""), "and then says no"


def test_a_suggestion_that_cannot_be_shown_is_not_offered() -> None:
    hidden = card("x", suggestions=({"always_prefix": {"prefix": "x\u202e"}}, {"new_kind": 1}, "?"))
    labels = [choice.label for choice in AnswerMenu(hidden, persists=True).choices]
    assert not any("starts with" in label for label in labels)


# --- heights and completion -----------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from(["add", "set", "drop"]), st.integers(0, 5)), max_size=60))
def test_heights_agree_with_counting(steps: list[tuple[str, int]]) -> None:
    heights, known = Heights(), list[int]()
    for what, number in steps:
        match what:
            case "add":
                heights.add(number, 80)
                known.append(number)
            case "set" if known:
                heights.set(number % len(known), number, 80)
                known[number % len(known)] = number
            case "drop":
                heights.drop(number)
                del known[:number]
            case _:
                pass
        assert heights.total == sum(known)
        assert [heights.start(i) for i in range(len(known))] == [
            sum(known[:i]) for i in range(len(known))
        ]


def test_files_that_begin_as_typed_come_first() -> None:
    files = ["lib/app.py", "src/", "docs/apple.md", "app/x.py", "zapp"]
    assert ranked("app", files) == ("app/x.py", "lib/app.py", "docs/apple.md", "zapp")


def test_what_sub_agents_say_stands_behind_their_names_a_paragraph_between_calls() -> None:
    told = Transcript()
    told.take(events.CallAnnounced("m", "s", Tool("Spawn", "exec", {})), 0.0)

    def says(agent: str, text: str) -> None:
        inner = {"type": "text_delta", "text": text}
        raw = {"parent_call_id": "s", "agent_name": agent, "inner": inner}
        told.take(events.UnknownEvent("sub_agent_event", raw=raw), 0.0)  # type: ignore[arg-type]

    says("a/b", "one ")
    says("a/b", "two")
    told.take(events.CallAnnounced("m", "x", Tool("LS", "info", {}), agent=("a", "b")), 0.0)
    says("a/b", "three")
    says("c", "four")
    spawned = told.blocks[0]
    assert isinstance(spawned, CallBlock)
    assert spawned.output == "a/b: one two\na/b: three\nc: four"
