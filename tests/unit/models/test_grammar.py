import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import rows

from wcore.models.offline_grammar import FORMS, STEPS_MAX, Unclear, understand
from wcore.vocabulary import Json


def planned(text: str) -> list[list[tuple[str, dict[str, Json]]]]:
    plan = understand(text)
    assert isinstance(plan, tuple)
    return [[(step.tool, dict(step.args)) for step in steps] for steps in plan]


def only(text: str) -> tuple[str, dict[str, Json]]:
    [[call]] = planned(text)
    return call


@rows(
    ("text", "tool", "args"),
    [
        ("read a.txt", "Read", {"file_path": "a.txt"}),
        (" Please READ a.txt\n", "Read", {"file_path": "a.txt"}),
        ("read @src/a.txt", "Read", {"file_path": "src/a.txt"}),
        ("read '@a.txt'", "Read", {"file_path": "@a.txt"}),
        ("search @Override in @src", "Grep", {"pattern": "@Override", "path": "src"}),
        ("read 'my notes.txt'", "Read", {"file_path": "my notes.txt"}),
        ('read "it\'s.txt"', "Read", {"file_path": "it's.txt"}),
        ("read `a b`", "Read", {"file_path": "a b"}),
        ("list", "LS", {"path": "."}),
        ("list src", "LS", {"path": "src"}),
        ("list *.py", "Glob", {"pattern": "*.py"}),
        ("find **/*.py", "Glob", {"pattern": "**/*.py"}),
        ("search def main", "Grep", {"pattern": "def main"}),
        ("search cat in hat in src", "Grep", {"pattern": "cat in hat", "path": "src"}),
        ('search "cat in hat"', "Grep", {"pattern": "cat in hat"}),
        ("search 'a b' in 'c d'", "Grep", {"pattern": "a b", "path": "c d"}),
        ("search me in all of it", "Grep", {"pattern": "me in all of it"}),
        ("run git log --oneline -3", "Bash", {"command": "git log --oneline -3"}),
        ("delete old.txt", "Delete", {"file_path": "old.txt"}),
        ("write a: b", "Write", {"file_path": "a", "content": "b"}),
        ("write a:b", "Write", {"file_path": "a", "content": "b"}),
        ("write a:", "Write", {"file_path": "a", "content": ""}),
        ("write C:\\a: b", "Write", {"file_path": "C:\\a", "content": "b"}),
        ("write 'a: b': c", "Write", {"file_path": "a: b", "content": "c"}),
        ("write a: \n  b\nc\n", "Write", {"file_path": "a", "content": "  b\nc\n"}),
        ("edit a: x => y", "Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}),
        ("edit a: x=>y", "Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}),
        ("edit a: x =>", "Edit", {"file_path": "a", "old_string": "x", "new_string": ""}),
        (
            "edit a:\nx\n y\n=>\nz\n",
            "Edit",
            {"file_path": "a", "old_string": "x\n y", "new_string": "z"},
        ),
    ],
)
def test_a_plain_request_becomes_one_call(text: str, tool: str, args: dict[str, Json]) -> None:
    assert only(text) == (tool, args)


def test_a_question_has_its_options() -> None:
    tool, args = only("ask Really? Which one? Tea | Coffee | Tea |")
    assert tool == "AskUserQuestion"
    assert args["question"] == "Really? Which one?"
    assert args["multiSelect"] is False
    assert args["options"] == [
        {"label": "Tea", "description": ""},
        {"label": "Coffee", "description": ""},
    ]


def test_then_makes_a_new_round_and_also_joins_the_same() -> None:
    assert planned("read a also read b, and then list\nthen please run x and also find y") == [
        [("Read", {"file_path": "a"}), ("Read", {"file_path": "b"})],
        [("LS", {"path": "."})],
        [("Bash", {"command": "x"}), ("Glob", {"pattern": "y"})],
    ]


@pytest.mark.parametrize(
    "command",
    [
        "if true; then echo yes; fi",
        "if true; then read x; fi",
        "echo now and then again",
        'echo "read a then read b"',
        "echo 'a also list'",
        "echo then reader",
    ],
)
def test_then_inside_a_command_stays_in_the_command(command: str) -> None:
    assert only(f"run {command}") == ("Bash", {"command": command})


def test_an_apostrophe_is_no_quote() -> None:
    assert planned("write a: don't then read it's") == [
        [("Write", {"file_path": "a", "content": "don't"})],
        [("Read", {"file_path": "it's"})],
    ]


@rows(
    "text",
    [
        *("read", "read the news", 'read ""', "list a b", "find", "search ", "run", "delete a b"),
        *("write a", "write a b: c", "edit a: x", "edit a: => y"),
        *("ask", "ask Go", "ask Go?", "ask Go? A", "ask ? A | B"),
    ],
)
def test_a_verb_without_its_form_is_answered_with_the_form(text: str) -> None:
    verb = text.partition(" ")[0]
    assert understand(text) == Unclear(text.strip(), f"The form is `{FORMS[verb]}`.")


def test_one_unclear_step_makes_the_whole_request_unclear() -> None:
    assert isinstance(understand("read a then read then read b"), Unclear)


@pytest.mark.parametrize("text", ["", "hello", "reading a", "what is read?", "then read a"])
def test_anything_else_is_not_understood(text: str) -> None:
    assert understand(text) is None


def test_a_request_is_bounded() -> None:
    assert len(planned(" then ".join(["list"] * STEPS_MAX))) == STEPS_MAX
    assert isinstance(understand(" then ".join(["list"] * (STEPS_MAX + 1))), Unclear)


WORDS = st.sampled_from(
    [*FORMS, "then", "also", "and", "please", "in", "=>", ":", "?", "|", "'", '"', "`", ";", "a"]
)


@given(st.lists(WORDS | st.text(max_size=3)).map(" ".join))
def test_every_text_is_a_plan_or_a_reason(text: str) -> None:
    found = understand(text)
    if isinstance(found, tuple):
        assert all(steps for steps in found)


@given(st.text())
def test_a_written_text_arrives_as_it_was(content: str) -> None:
    words = content.lower().split()
    if not {"then", "also"} & set(words):
        assert only(f"write a:\n{content}") == ("Write", {"file_path": "a", "content": content})
