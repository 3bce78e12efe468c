"""The terminal host without a terminal: lines in, plain text out, the end of input is a no."""

import subprocess

import pytest
import waiting
from hosts.places import Place
from hosts.terminals import CHAT
from talking import call
from wcore_host.decode import LINE_BYTES_MAX

ECHO: list[object] = [{"echo": True}]


def chat(
    place: Place, text: str, *flags: str, through: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    return waiting.run([*through, *CHAT, *flags], cwd=place.workspace, env=place.env, said=text)


def test_lines_are_messages_and_answers_in_turn(place: Place) -> None:
    said = chat(place, "run echo $((6*7))\ny\nrun echo $((7*7))\nn\n")
    assert said.returncode == 0, said.stderr
    assert "✓ Bash echo" in said.stdout
    assert "42" in said.stdout
    assert "49" not in said.stdout
    assert said.stdout.count("allow Bash?") == 2
    assert "\x1b" not in said.stdout, "no colours and no cursor movements in a pipe"


@pytest.mark.parametrize("redirected", ["<&-", ">&-", "> /dev/full"])
def test_streams_that_cannot_be_used_are_named(place: Place, redirected: str) -> None:
    said = chat(place, "", "--plain", through=("bash", "-c", f'exec "$@" {redirected}', "-"))
    assert said.returncode == 1
    assert said.stderr.startswith("wcore-chat: ")
    assert said.stderr.count("\n") == 1, said.stderr


def test_the_end_of_input_refuses_every_card_and_ends(place: Place) -> None:
    writes: list[object] = [call("Write", file_path=name, content="x") for name in "ab"]
    said = chat(place, "go\n", "--model", place.script(writes, ECHO))
    assert said.returncode == 1, "what was asked for was not done"
    assert "this host is leaving" in said.stdout
    assert not place.file("a").exists()
    assert not place.file("b").exists()


def test_the_end_of_input_lets_a_turn_that_asks_nothing_finish(place: Place) -> None:
    said = chat(place, "run echo $((6*7))", "--force")
    assert said.returncode == 0, said.stderr
    assert "42" in said.stdout


def test_what_is_no_answer_does_not_answer(place: Place) -> None:
    writes: list[object] = [call("Write", file_path="a", content="x")]
    said = chat(place, "go\nyes please\nok\n", "--model", place.script(writes, ECHO))
    assert not place.file("a").exists()
    assert said.stdout.count("allow Write?") == 3


def test_input_from_a_file_works_like_a_pipe(place: Place) -> None:
    place.file("in").write_text("run echo $((6*7))\ny\n")
    with place.file("in").open() as stdin:
        said = waiting.run(CHAT, cwd=place.workspace, env=place.env, stdin=stdin)
    assert "✓ Bash echo" in said.stdout


def test_a_first_message_can_be_an_argument(place: Place) -> None:
    said = chat(place, "", "run", "echo $((6*7))", "--force")
    assert "42" in said.stdout


def test_engine_flags_go_through_after_two_dashes(place: Place) -> None:
    said = chat(place, "", "--", "--mode", "auto_edit", "--max-turns", "3")
    assert "Mode auto_edit" in said.stdout


def test_without_its_store_it_works_and_the_person_is_told(place: Place) -> None:
    place.file("broken.db").write_text("no database" * 100)
    broken = str(place.file("broken.db").rename(place.workspace.parent / "broken.db"))
    said = chat(place, "run echo $((6*7))\ny\n", "--store", broken)
    assert said.returncode == 0, said.stderr
    assert "42" in said.stdout
    assert "goes on in memory" in " ".join(said.stdout.split())


@pytest.mark.parametrize(
    ("reply", "flags", "code"),
    [
        ([{"text": "done"}], (), 0),
        ([{"error": {"code": "context_overflow"}}], (), 1),
        ([{"text": "half"}, {"finish": "length"}], (), 1),
        ([call("LS", path=".")], ("--", "--max-turns", "1"), 1),
    ],
)
def test_a_turn_that_is_not_done_shows_in_the_exit_code(
    place: Place, reply: list[object], flags: tuple[str, ...], code: int
) -> None:
    said = chat(place, "go\nagain\n", "--model", place.script(reply, [{"text": "ok"}]), *flags)
    assert said.returncode == code, said.stdout


def test_a_line_that_is_not_sent_shows_in_the_exit_code(place: Place) -> None:
    long = "x" * LINE_BYTES_MAX
    said = chat(place, f"{long}\nagain\n", "--model", place.script([{"text": "ok"}]))
    assert "not sent" in said.stdout
    assert "ok" in said.stdout
    assert said.returncode == 1


def test_an_engine_that_does_not_start_is_explained(place: Place) -> None:
    said = chat(place, "", "--resume", "no-such-session")
    assert said.returncode == 1
    assert "the engine does not start" in said.stderr
    assert "no-such-session" in said.stderr
    assert "Traceback" not in said.stderr


def test_a_model_that_cannot_be_had_is_explained(place: Place) -> None:
    said = chat(place, "go\n", "--model", "script:/nowhere/at/all")
    assert said.returncode == 1
    assert said.stdout.count("/nowhere/at/all") >= 2, "at the start, and for the message"
    assert "Traceback" not in said.stderr


def test_help_teaches_the_first_steps(place: Place) -> None:
    said = chat(place, "", "--help")
    assert said.returncode == 0
    for word in ("read_only", "--model", "Everything after --", "wcore-chat"):
        assert word in said.stdout


def test_a_folder_in_the_workspace_cannot_pose_as_the_engine(place: Place) -> None:
    fake = place.file("wcore")
    fake.mkdir()
    (fake / "__init__.py").write_text("")
    (fake / "__main__.py").write_text("open('owned', 'w')")
    said = chat(place, "run echo $((6*7))\ny\n")
    assert "42" in said.stdout
    assert not place.file("owned").exists()
