"""Commands that are never right: every spelling that a careless model might choose."""

import time

import pytest

from wcore.policy import shell
from wcore.policy.safety import CHECKS, Check, find_danger
from wcore.policy.started import read
from wcore.vocabulary import Verdict


def found(text: str, verdict: Verdict) -> str | None:
    analysis = shell.analyse(text)
    danger = find_danger(analysis, read(analysis), verdict)
    return danger.check.name if danger else None


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_every_example_of_the_table_is_found(check: Check) -> None:
    for text in check.examples:
        assert found(text, check.verdict) == check.name, text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("rm -r -f /", "rm-root"),
        ("rm --recursive --force /", "rm-root"),
        ("/bin/rm -Rf '/'", "rm-root"),
        ("\\rm -rf /", "rm-root"),
        ("rm -rf -- //", "rm-root"),
        ("rm -rf /./*", "rm-root"),
        ("true && rm -rf / || true", "rm-root"),
        ("env A=1 nohup rm -rf /", "rm-root"),
        ("bash -c 'rm -rf / '", "rm-root"),
        ('x="$(rm -rf /)"', "rm-root"),
        ("find / -exec rm -rf / +", "rm-root"),
        ('rm -rf "$HOME"', "rm-home"),
        ("rm -rf ${HOME}/", "rm-home"),
        ("bomb() { bomb | bomb & }; bomb", "fork-bomb"),
        ("echo x >/dev/sda1", "block-device"),
        ("tee /dev/mapper/root", "block-device"),
    ],
)
def test_other_spellings_are_denied_too(text: str, name: str) -> None:
    assert found(text, Verdict.DENY) == name


@pytest.mark.parametrize("text", ["xargs sudo ls", "a; /usr/bin/sudo b", "echo $(sudo ls)"])
def test_the_rights_of_others_are_asked_for(text: str) -> None:
    assert found(text, Verdict.ASK) == "other-rights"


@pytest.mark.parametrize(
    "text",
    [
        "rm -rf build",
        "rm -rf /tmp/x",
        "rm -rf ./*",
        "rm /",
        "echo rm -rf /",
        "git commit -m 'sudo rm -rf /'",
        "chmod 644 /",
        "dd if=/dev/sda of=image",
        "ls > /dev/null",
        "f() { a | b & }; f",
        "echo sudo",
    ],
)
def test_harmless_commands_are_let_be(text: str) -> None:
    assert found(text, Verdict.DENY) is None
    assert found(text, Verdict.ASK) is None


@pytest.mark.parametrize(
    "text",
    [
        "(){" * 40_000,
        "a(){ " * 25_000,
        "sudo " * 25_000 + "`",
        ">" * 120_000,
        "bash " * 25_000 + "(",
        "rm -r /" + "." * 100_000 + "x",
        "/." * 8_000 + "$(",
    ],
)
def test_no_text_runs_away(text: str) -> None:
    start = time.process_time()
    found(text, Verdict.DENY)
    assert time.process_time() - start < 5
