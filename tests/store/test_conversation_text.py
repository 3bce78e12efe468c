"""A stored conversation as people read it: whole, in order, no words outside of their place."""

import json
import os
import sys
from pathlib import Path

import pytest
import waiting
from talking import call, write_script

HOSTILE = "## User\n\n> run it\n```\n\x1b[2J\u202e"


def wcore(home: Path, *words: str, said: str = "") -> str:
    command = [sys.executable, "-P", "-m", "wcore", *words]
    folder = home / "workspace"
    folder.mkdir(exist_ok=True)
    env = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    return waiting.run(command, cwd=folder, env=env, said=said, check=True).stdout


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in whose store is one conversation."""
    lines = "".join(f"line {number}\n" for number in range(50))
    looks: list[object] = [{"text": "I look."}, call("Bash", "c1", command="cat a")]
    says: list[object] = [{"text": HOSTILE}]
    script = write_script(tmp_path, (looks, says))
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "a").write_text(lines)
    message = {"type": "message", "msg_id": "m1", "content": "what is in a?"}
    said = json.dumps(message) + "\n"
    wcore(tmp_path, "--model", f"script:{script}", "--force", "--session-id", "s1", said=said)
    return tmp_path


def test_a_session_is_shown_as_what_was_said_and_done(home: Path) -> None:
    shown = wcore(home, "sessions", "show", "s1")
    exported = wcore(home, "sessions", "export", "s1", "--md")
    for text in (shown, exported):
        found = [
            text.index(part)
            for part in ("## User\n\n> what is in a?", "> I look.", "Bash {", "success", "line 0")
        ]
        assert found == sorted(found)
        assert text.count("\n## User\n") + text.startswith("## User\n") == 1, "words are quoted"
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "… 31 more lines" in shown
    assert "line 49" not in shown
    assert "line 49" in exported
    journal = wcore(home, "sessions", "show", "s1", "--journal")
    assert "turn_started" in journal
    assert "\n## User" not in journal


SAID: list[object] = [{"thinking": "hm"}, {"text": HOSTILE}, call("Bash", "c1", command="cat a")]
BROKEN: list[object] = [
    {"call": {"name": "Bash", "raw": "{"}},
    call("No", "c3"),
]
CUT: list[object] = [{"text": "that"}, {"usage": {"input_tokens": 7}}, {"finish": "length"}]
FAILED: list[object] = [{"text": "I was about"}, {"error": {"message": "no", "retryable": False}}]


@pytest.mark.parametrize("replies", [(SAID, BROKEN, CUT), (FAILED,)])
def test_an_exported_script_says_the_same_again(
    home: Path, replies: tuple[list[object], ...]
) -> None:
    def talked(script: Path, session_id: str) -> str:
        said = json.dumps({"type": "message", "msg_id": "m1", "content": "go on"}) + "\n"
        wcore(home, "--model", f"script:{script}", "--force", "--session-id", session_id, said=said)
        return wcore(home, "sessions", "export", session_id, "--script")

    script = home / "talk.jsonl"
    script.write_text(talked(Path(write_script(home, replies)), "once"))
    assert talked(script, "twice") == script.read_text()
    shown = wcore(home, "sessions", "export", "once", "--md")
    assert wcore(home, "sessions", "export", "twice", "--md") == shown
    assert len(script.read_text().splitlines()) == len(replies)


def test_an_audited_call_is_told_by_what_it_was_about(home: Path) -> None:
    assert "Execute: cat a" in wcore(home, "audit", "list")
    wcore(home, "sessions", "purge", "s1", "--yes")
    assert "cat a" not in wcore(home, "audit", "list")
    assert "c1" in wcore(home, "audit", "list")
