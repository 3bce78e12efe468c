"""Commands that are never right: every spelling that a careless model might choose."""

import json
import time
from fnmatch import fnmatchcase

import pytest
from msgspec import convert
from tables import rows

from wcore.persistence import records
from wcore.policy import shell
from wcore.policy.protected import Places
from wcore.policy.safety import CHECKS, Check, find_danger
from wcore.policy.shell.paths.named_paths import candidates, paths_named
from wcore.policy.shell.paths.values import HOLES, Candidate, LookupResult
from wcore.policy.stops import scan
from wcore.vocabulary import Category, Named, Prepared, Verdict

PLACES = Places("/home/me/ws", "/home/me")
ENVIRON = {"HOME": "/home/me", "SET": "/srv/x"}
NAMES = {"/usr", "/etc", "/home", "/home/me", "/home/me/ws", "/home/me/build1"}


def on_disk(text: str) -> dict[Candidate, LookupResult]:
    """Return what the patterns of a text fit, of a few names."""
    disk: dict[Candidate, LookupResult] = {}
    for candidate in candidates(text, PLACES, ENVIRON):
        fitting = sorted(
            name for name in NAMES
            if fnmatchcase(name, HOLES.sub("*", candidate.path))
            and name.count("/") == candidate.path.count("/")
        )  # fmt: skip
        disk[candidate] = LookupResult(
            (candidate.path,) if candidate.is_literal else tuple(fitting)
        )
    return disk


def found(text: str, verdict: Verdict) -> str | None:
    analysis = shell.analyse(text)
    paths = paths_named(text, PLACES, ENVIRON, on_disk(text))
    danger = find_danger(analysis, scan(analysis), verdict, paths)
    return danger.check.name if danger else None


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_every_example_of_the_table_is_found(check: Check) -> None:
    for text in check.examples:
        assert found(text, check.verdict) == check.name, text


@rows(
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


@rows(
    ("text", "name"),
    [
        ("cd ~ && rm -rf *", "rm-home"),
        ("cd; rm -rf *", "rm-home"),
        ("cd ~; rm -rf ./*", "rm-home"),
        ("cd .. && rm -r .", "rm-home"),
        ("rm -rf ..", "rm-home"),
        ("rm -rf ~/..", "rm-home"),
        ("rm -rf $HOME/.", "rm-home"),
        ("rm -rf ~/.*", "rm-home"),
        ("rm -rf ~/*/", "rm-home"),
        ("rm -rf ~root/", "rm-home"),
        ("rm -rf ~me", "rm-home"),
        ("d=~; rm -rf $d", "rm-home"),
        ("for d in ~; do rm -rf $d; done", "rm-home"),
        ("find ~ -delete", "rm-home"),
        ("find ~ -type f -delete", "rm-home"),
        ("find .. -exec rm -rf {} +", "rm-home"),
        ("nohup rm -rf ~/.", "rm-home"),
        ("bash -c 'cd ~; rm -rf *'", "rm-home"),
        ("env -S 'rm -rf /'", "rm-root"),
        ("cd / && rm -rf *", "rm-root"),
        ("rm -rf $UNSET/*", "rm-root"),
        ('rm -rf "$UNSET"/*', "rm-root"),
        ("rm -rf ../../../../..", "rm-root"),
        ("rm -rf ~+/../../../../..", "rm-root"),
        ("rm --recurs /tmp/..", "rm-root"),
        ("rm -rf /*/*", "rm-root"),
        ("find / -delete", "rm-root"),
        ("rm -rf /{usr,etc}", "rm-system"),
        ("rm -rf /u*", "rm-system"),
        ("rm -rf //usr/./", "rm-system"),
        ("cd / && rm -rf usr", "rm-system"),
        ("cd / && chmod -R 777 .", "chmod-root"),
        ("chown -R me ../../..", "chmod-root"),
    ],
)
def test_paths_are_judged_as_bash_evaluates_them(text: str, name: str) -> None:
    assert found(text, Verdict.DENY) == name


@pytest.mark.parametrize(
    "text",
    [
        'rm -rf "$(cat x)"/*',
        'd=$(cat x); rm -rf "$HOME/$d"',
        "d=$(cat x); rm -rf /$d",
        'rm -rf "$(cat x)/usr"',
        'find "$(cat x)/" -delete',
    ],
)
def test_what_would_be_the_root_if_a_variable_is_empty_asks(text: str) -> None:
    assert found(text, Verdict.DENY) is None
    assert found(text, Verdict.ASK) == "rm-empty"


@pytest.mark.parametrize(
    "text",
    [
        "x=sudo; $x ls",
        "$(echo sudo) ls",
        "coproc sudo ls",
        "env -S 'sudo ls'",
        "bash -c 'x=sudo; $x ls'",
        "if true; then S=doas; fi; $S make",
        "nohup $(which sudo) ls",
    ],
)
def test_a_computed_program_that_may_have_the_rights_of_others_asks(text: str) -> None:
    assert found(text, Verdict.ASK) == "other-rights"


@pytest.mark.parametrize(
    "text", ["systemctl poweroff", "systemctl -i reboot", "init 0", "telinit 6"]
)
def test_the_machine_is_turned_off_by_a_person_only(text: str) -> None:
    assert found(text, Verdict.ASK) == "power-off"


@pytest.mark.parametrize("text", ["xargs sudo ls", "a; /usr/bin/sudo b", "echo $(sudo ls)"])
def test_the_rights_of_others_are_asked_for(text: str) -> None:
    assert found(text, Verdict.ASK) == "other-rights"


@rows(
    "text",
    [
        "rm -rf build",
        "rm -rf ~/build*",
        "rm -rf *",
        "rm -rf $SET/*",
        'rm -rf "${UNSET:?}"/*',
        'rm -rf "$(cat x)"',
        'rm -rf "$(cat x)/build"',
        'cd "$(mktemp -d)" && rm -rf *',
        "d=$(mktemp -d); rm -rf $d",
        "rm -rf build && cp x ~/",
        "rm ~/*",
        "find . -delete",
        "find ~ -name '*.pyc' -delete",
        "find / -name x",
        "cd / && ls *",
        '"$PYTHON" -m pytest',
        "$CC -o x x.c",
        "$(which python3) x.py",
        "chmod -R 755 .",
        "systemctl status x",
        "init 3",
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
@pytest.mark.clock
def test_no_text_runs_away(text: str) -> None:
    start = time.process_time()
    found(text, Verdict.DENY)
    assert time.process_time() - start < 5


def test_a_record_keeps_which_check_a_tree_meets() -> None:
    facts = tuple(paths_named("rm -rf ~/. x", PLACES, ENVIRON, on_disk("rm -rf ~/. x")))
    assert {each.danger for each in facts} == {None, "rm-home"}
    call = Prepared("Bash", Category.EXEC, {}, "", "", (), "rm", named=facts, folders=("a",))
    kept = json.loads(json.dumps(records.prepared("c1", call, {})["named"]))
    assert convert(kept, Named) == call.names


@rows("text", ["flock f mkfs /dev/sda", "perf stat dd if=a of=/dev/sda", "flock f rm -rf /"])
def test_behind_a_program_that_runs_others_in_its_own_way_it_is_denied_as_well(text: str) -> None:
    assert found(text, Verdict.DENY) is not None
