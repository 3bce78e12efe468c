"""The oracle must be able to say no: it is shown what is known, both ways."""

import os
import shutil
import sys
from pathlib import Path

import pytest
import waiting

from .check_labels import agrees
from .corpus import Case
from .fuzz import environ_of
from .oracle import PATTERNS_THOROUGH, Finding, Oracle, grant_words
from .sandbox import OracleUnavailableError, Sandbox, why_unavailable
from .stubs import ENVIRON
from .traces import unquoted

GRANTS = ("make", "echo", "cd", "./run.sh", "printf", "CC=gcc make", "timeout 5 make")
ROOT = Path(__file__).parents[2]

BAD = {
    "another program": "make; touch x",
    "a program only reached on failure": "make || touch x",
    "a program only reached on success": "make && touch x",
    "an unknown name": "make; no-such-program",
    "a builtin": "export X=1",
    "a substitution": 'echo "$(touch x)"',
    "a substitution in a variable's value": "echo $((EVIL))",
    "a background process": "echo a & touch x",
    "a file written": "make > out",
    "a file written by nobody": "> out",
    "a file opened for reading and writing": "make <> out",
    "a connection": "make < /dev/tcp/127.0.0.1/9",
    "an account looked up": "make ~root",
    "a variable": "printf -v X y",
    "an assignment": "X=1",
    "another environment": "CC=clang make",
    "another path": "PATH=evil make",
    "a function": "make() { :; }",
    "another folder": "cd sub && ./run.sh",
    "a trap": "trap 'touch x' EXIT",
}
GOOD = (
    "make",
    "make all 2>&1 | make check",
    "make || echo failed",
    "echo 'touch x; $(touch x)'",
    'echo $SEMI "$PROMPTY" $EVIL',
    "make >/dev/null 2>&1 </dev/null",
    "CC=gcc make",
    "timeout 5 make all",
    "cd sub && make",
    "printf '%s\\n' a # touch x",
)


@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
def test_what_no_grant_covers_is_unsound(oracle: Oracle, text: str) -> None:
    finding = oracle.judge(text, GRANTS)
    assert finding.verdict == "unsound", finding
    assert finding.evidence


@pytest.mark.parametrize("text", GOOD)
def test_what_the_grants_cover_is_sound(oracle: Oracle, text: str) -> None:
    finding = oracle.judge(text, GRANTS)
    assert finding.verdict == "sound", finding
    assert finding.complete


def test_what_a_granted_runner_starts_is_seen(oracle: Oracle) -> None:
    finding = oracle.judge("env touch x", ["env"])
    assert finding.verdict == "inner"
    assert oracle.judge("bash noop.sh", ["bash noop.sh"]).verdict == "sound"
    assert oracle.judge("bash -c 'touch x'", ["bash"]).verdict == "inner"


def test_what_a_program_does_that_is_no_runner_is_only_advised(oracle: Oracle) -> None:
    assert oracle.judge("find . -exec touch x ; touch y", ["find"]).verdict == "unsound"
    finding = oracle.judge("find . -exec touch x \\;", ["find"])
    assert finding.verdict == "advisory"
    assert "touch" in finding.evidence[0]


def test_every_branch_is_walked_with_more_patterns(oracle: Oracle) -> None:
    text = "make && { make || touch x; }"
    assert oracle.judge(text, GRANTS, PATTERNS_THOROUGH).verdict == "unsound"


@pytest.mark.parametrize("text", ["", "# make", "make 'open", "make (", "make\0all"])
def test_a_text_that_runs_nothing_is_neither_sound_nor_unsound(oracle: Oracle, text: str) -> None:
    assert oracle.judge(text, GRANTS).verdict == "nothing"


def test_a_text_without_end_is_ended_and_is_not_complete(oracle: Oracle) -> None:
    finding = oracle.judge("while make; do make; done", ["make"])
    assert not finding.complete
    assert "a run was ended by the clock" in finding.notes


def test_nothing_is_carried_from_one_text_to_the_next(oracle: Oracle) -> None:
    assert oracle.judge("alias make=touch; cd sub; X=1; echo a > left", GRANTS).verdict == "unsound"
    assert oracle.judge("make", GRANTS).verdict == "sound"
    assert not (oracle.sandbox.folder / "workspace" / "left").exists()


@pytest.mark.usefixtures("oracle")
def test_a_function_in_the_environment_is_seen_unless_the_engine_removes_it() -> None:
    hostile = {**ENVIRON, "BASH_FUNC_make%%": "() { touch x; }"}
    with Oracle(hostile) as raw:
        assert raw.judge("make", GRANTS).verdict == "unsound"
    with Oracle(environ_of("hostile", "zh_CN.GBK")) as cleaned:
        assert cleaned.judge("make", GRANTS).verdict == "sound"


@pytest.mark.usefixtures("oracle")
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
@pytest.mark.skipif(not os.access("/usr/bin/setpriv", os.X_OK), reason="setpriv is missing")
def test_an_ordinary_user_can_ask_as_well() -> None:
    become = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
    code = "from shell.oracle import main; raise SystemExit(main())"
    done = waiting.run(
        [*become, python, "-c", code, "--grant", "make", "make; touch x"],
        env={"PYTHONPATH": str(ROOT / "tests"), "PATH": os.environ["PATH"], "HOME": "/nonexistent"},
        cwd="/",
    )
    if "PermissionError" in done.stderr or "ModuleNotFoundError" in done.stderr:
        pytest.skip("this folder cannot be read by others")
    assert done.returncode == 1, done.stderr
    assert '"unsound"' in done.stdout


def test_a_missing_tool_makes_it_unavailable_and_says_which(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert why_unavailable() == "bash is not installed"
    with pytest.raises(OracleUnavailableError, match="is not installed"), Sandbox():
        pass


def test_grants_are_read_without_the_engine() -> None:
    assert grant_words(" cargo  test:*") == [("cargo", "test")]
    assert grant_words("git {log,show} -3") == [("git", "log", "-3"), ("git", "show", "-3")]
    assert grant_words("X=1") == grant_words("") == grant_words("make;") == []


def test_the_trace_of_bash_is_unquoted() -> None:
    line = r"echo 'a b' $'c\nd\'e' \' '' f\ g $'\303\251'"
    assert list(unquoted(line)) == ["echo", "a b", "c\nd'e", "'", "", "f g", "Ã©"]


def test_a_label_disagrees_with_the_opposite_finding() -> None:
    sound, unsound = Finding("sound"), Finding("unsound", ("bash ran 'x'",))
    variable = Finding("unsound", ("the shell's variables changed: i",))

    def labelled(severity: str) -> Case:
        return Case("id", "group", (), "", severity == "", severity, "")

    assert agrees(labelled(""), sound)
    assert not agrees(labelled(""), unsound)
    assert not agrees(labelled(""), Finding("sound", notes=("ended by the clock",)))
    assert agrees(labelled("unsound"), unsound)
    assert not agrees(labelled("unsound"), sound)
    assert agrees(labelled("policy"), variable)
    assert not agrees(labelled("policy"), unsound)
    assert not agrees(labelled("advisory"), unsound)
