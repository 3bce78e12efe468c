"""The pure pieces of the chat: keys, the edited line, cards, what is visible."""

import pytest
from wcore_host.events import Preview, Tool, ToolRequest, Why
from wcore_host.plain import card
from wcore_host.plain.cells import cells
from wcore_host.plain.keys import Key, KeyDecoder, Pasted, Press, Typed
from wcore_host.plain.line_editor import LineEditor
from wcore_host.plain.style import Style, fold, wrap
from wcore_host.visible import visible, visible_line

STYLE = Style(width=40)


def asked(command: str, span: tuple[int, int] | None = None) -> ToolRequest:
    return ToolRequest(
        "m",
        "c",
        Tool("Bash", "exec", {"command": command}),
        Why(row="default", detail="it asks", span=span),
        Preview("command", command),
    )


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"a", [Typed("a")]),
        (b"\r\r", [Key.ENTER, Key.ENTER]),
        ("ü漢".encode(), [Typed("ü"), Typed("漢")]),
        (b"\x1b[D\x1b[3~\x1bOH", [Key.LEFT, Key.DELETE, Key.HOME]),
        (b"\x1b[200~y\r\nn\x1b[201~", [Pasted("y\nn")]),
        (b"\x1bx\x1b[99;5u", [Key.OTHER, Key.OTHER]),
        (b"\x1b\x1b[A", [Key.ESCAPE, Key.UP]),
    ],
)
def test_keys_are_read_whole_and_in_any_pieces(data: bytes, keys: list[Press]) -> None:
    assert KeyDecoder().feed(data) == keys
    decoder = KeyDecoder()
    assert [key for byte in data for key in decoder.feed(bytes([byte]))] == keys


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"a\r", [Pasted("a"), Key.ENTER]),
        (b"a\rb\n\nc\r\r", [Pasted("a\nb\n\nc"), Key.ENTER, Key.ENTER]),
        (b"\ra", [Pasted("\na")]),
        (b"a\x7f\r", [Typed("a"), Key.BACKSPACE, Key.ENTER]),
    ],
)
def test_text_that_comes_together_with_enter_was_pasted(data: bytes, keys: list[Press]) -> None:
    assert KeyDecoder().feed(data) == keys


def test_a_lone_esc_is_known_only_when_nothing_follows() -> None:
    decoder = KeyDecoder()
    assert decoder.feed(b"\x1b") == []
    assert decoder.is_waiting
    assert decoder.flush() == [Key.ESCAPE]


def test_a_line_is_edited_in_the_middle() -> None:
    editor = LineEditor()
    for key in [*map(Typed, "one twa"), Key.BACKSPACE, Typed("o"), Key.HOME, Typed(">")]:
        editor.press(key)
    assert editor.text == ">one two"
    for key in (Key.END, Key.KILL_WORD, Key.LEFT, Key.KILL_REST):
        editor.press(key)
    assert editor.text == ">one"


@pytest.mark.parametrize("text", ["short", "x" * 200, "漢" * 100, "a\nb\x1b\u202e" * 20])
def test_the_window_of_a_long_line_fits_and_holds_the_cursor(text: str) -> None:
    editor = LineEditor()
    editor.set(text)
    for _ in range(len(text) + 1):
        shown, column = editor.window(30)
        assert cells(shown) <= 30
        assert 0 <= column <= 30
        editor.press(Key.LEFT)


@pytest.mark.parametrize(
    "command", ["ls\n╰ y yes\n\r\x1b[1A", "x" * 500, "漢字" * 60, "\n" * 30, "a\u2028b\x85c"]
)
def test_no_text_steps_out_of_its_card(command: str) -> None:
    rows = card.rows(asked(command), STYLE, whole=True)
    assert all(row.startswith(card.BAR) for row in rows[1:])
    assert all(cells(row) <= STYLE.width for row in rows), "the terminal must not wrap a row itself"
    assert all(row.isprintable() for row in rows)


def test_the_span_counts_bytes_and_marks_characters() -> None:
    command = "echo grün > ~/x"
    start = len("echo grün ".encode())
    rows = card.rows(asked(command, (start, start + 1)), STYLE)
    at = rows.index(card.BAR + command)
    assert rows[at + 1] == card.BAR + " " * 10 + "^"


def test_a_long_card_is_folded_and_can_be_seen_whole() -> None:
    style = Style(width=40, rows=24)
    request = asked("\n".join(f"line {n}" for n in range(100)))
    assert card.is_folded(request, style)
    assert any("more lines; v shows them" in row for row in card.rows(request, style))
    assert any("line 99" in row for row in card.rows(request, style, whole=True))


def test_a_cut_preview_says_so() -> None:
    request = ToolRequest("m", "c", Tool("Write", "edit", {}), preview=Preview("diff", "+x", True))
    assert any("not all of it" in row for row in card.rows(request, STYLE))


def test_what_hides_is_marked_and_what_does_not_is_kept() -> None:
    assert visible("a\tb\nü漢") == "a\tb\nü漢"
    assert visible("\x1b[0m\r\u202e\u200b\ud800\u3164") == (
        "⟨U+001B⟩[0m⟨U+000D⟩⟨U+202E⟩⟨U+200B⟩⟨U+D800⟩⟨U+3164⟩"
    )
    assert visible_line("a\nb" * 9, 5) == "a⏎ba…"


def test_rows_are_cut_and_folded_without_losing_a_character() -> None:
    assert "".join(wrap("漢字" * 30, 7)) == "漢字" * 30
    assert fold(["a", "b", "c"], 2, "hint") == ["a", "… 2 more lines; hint"]
