"""What a command text is tied to: the files it runs, and where its paths lead."""

import os
from pathlib import Path

import pytest

from wcore.policy import shell
from wcore.policy.shell.mentions import MODULES_MAX
from wcore.tools import ties
from wcore.tools.ties import look

SCRIPT = "#!/bin/sh\necho one\n"


def tied(workspace: Path, text: str) -> str | None:
    mentions = shell.mentions_of(shell.analyse(text))
    assert mentions is not None
    return look(str(workspace), str(workspace / "home"), mentions.run, mentions.named)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / "sub").mkdir(parents=True)
    (root / "home").mkdir()
    for name in ("run.sh", "sub/run.sh", "home/run.sh", "a b/run.sh", "sub/deep/er/run.sh"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(SCRIPT)
        (root / name).chmod(0o755)
    for name in ("x.py", "sub/mod.py", "sub/__main__.py", "sub/mod.js", "sub/index.js"):
        (root / name).write_text("print(1)")
    (root / "data.txt").write_text("data")
    return root


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("./run.sh", "run.sh"),
        ("'./run.sh' a b", "run.sh"),
        ("A=1 ./run.sh", "run.sh"),
        ("make && ./run.sh", "run.sh"),
        ("timeout 9 ./run.sh", "run.sh"),
        ("find . -exec ./run.sh ';'", "run.sh"),
        ("bash run.sh", "run.sh"),
        ("bash -x -- run.sh", "run.sh"),
        ("bash --rcfile=x.py -i", "x.py"),
        ("bash -c 'python3 x.py'", "x.py"),
        (". ./x.py", "x.py"),
        ("source x.py", "x.py"),
        ("python3.11 x.py --fast", "x.py"),
        ("python3 -W ignore x.py", "x.py"),
        ("node x.py", "x.py"),
        ("make -f x.py", "x.py"),
        ("awk -f x.py data", "x.py"),
        ("env A=1 python3 x.py", "x.py"),
        ("cd sub && ./run.sh", "sub/run.sh"),
        ("cd home; cd ../sub; ./run.sh", "sub/run.sh"),
        ("cd sub; python3 ../x.py", "x.py"),
        ("~/run.sh", "home/run.sh"),
        ("python3 < x.py", "x.py"),
        ("cat x.py | python3 -", "x.py"),
        ("(./run.sh)", "run.sh"),
        ("for i in 1; do python3 x.py; done", "x.py"),
        ("if true; then cd sub; ./run.sh; fi", "sub/run.sh"),
        ("make -fx.py", "x.py"),
        ("psql -fx.py", "x.py"),
        ("python3 x", "x.py"),
        ("python3 -m x", "x.py"),
        ("python3 -m sub.mod", "sub/mod.py"),
        ("python3 sub", "sub/__main__.py"),
        ("node sub/mod", "sub/mod.js"),
        ("cd sub && node .", "sub/index.js"),
        ("BASH_ENV=x.py bash -c :", "x.py"),
        ("LD_PRELOAD='./y.so ./x.py' true", "x.py"),
        ("ENV=x.py; export ENV; sh -i", "x.py"),
        ("export BASH_ENV=x.py; bash -c :", "x.py"),
        ("sqlite3 db '.read x.py'", "x.py"),
        ('eval "bash x.py"', "x.py"),
        ("trap '. ./x.py' EXIT", "x.py"),
        ("git -c core.pager='sh x.py' log", "x.py"),
        ("git -c alias.z=!./run.sh z", "run.sh"),
        ("env -C sub ./run.sh", "sub/run.sh"),
        ("env --chdir=sub sh mod.py", "sub/mod.py"),
        ("sh -c 'cd sub; ./run.sh'", "sub/run.sh"),
        ("cd home; ls; (cd ../sub && sh mod.py)", "sub/mod.py"),
        ('echo "sh x.py" | sh', "x.py"),
        ("LESSOPEN='|./run.sh %s' less x", "run.sh"),
        ("sh $PWD/x.py", "x.py"),
        ('"$PWD"/run.sh', "run.sh"),
        ("node sub", "sub/index.js"),
        ("awk -fx.py data", "x.py"),
        ("cd 'a b' && ./run.sh", "a b/run.sh"),
        ("cd a\\ b && ./run.sh", "a b/run.sh"),
        ("sh -c 'cd sub; cd deep; cd er; ./run.sh'", "sub/deep/er/run.sh"),
        ("cd sub; cd deep; cd er; ./run.sh", "sub/deep/er/run.sh"),
        ("cd -- sub && ./run.sh", "sub/run.sh"),
        ("cd -P sub && ./run.sh", "sub/run.sh"),
        ("env -Csub ./run.sh", "sub/run.sh"),
        ("env -iC sub ./run.sh", "sub/run.sh"),
        ("env -iCsub ./run.sh", "sub/run.sh"),
        ("env --chd=sub ./run.sh", "sub/run.sh"),
        ("env -iS'./run.sh'", "run.sh"),
        ("python3 -mx", "x.py"),
        ("python3 -umx", "x.py"),
        ("make -Csub -frun.sh", "sub/run.sh"),
        ("make -f - <<E\nt:\n\t./run.sh\nE", "run.sh"),
        ("script -qec'./run.sh' /dev/null", "run.sh"),
        ("tar cf x . --checkpoint-action=exec=./run.sh", "run.sh"),
        ("bash /proc/self/cwd/run.sh", "run.sh"),
    ],
)
def test_a_file_that_is_run_is_tied_with_its_content(workspace: Path, text: str, file: str) -> None:
    before = tied(workspace, text)
    assert before is not None
    assert tied(workspace, text) == before
    with (workspace / file).open("a") as script:
        script.write("#")
    assert tied(workspace, text) != before


def test_only_the_first_words_of_a_command_are_completed(workspace: Path) -> None:
    behind = " ".join("a" * MODULES_MAX)
    assert tied(workspace, f"python3 -m {behind} x") is None
    assert tied(workspace, f"python3 -m {behind[2:]} x") is not None


@pytest.mark.parametrize("text", ["cat data.txt", "wc -l x.py", "for f in x.py; do wc $f; done"])
def test_a_file_that_is_only_read_is_not(workspace: Path, text: str) -> None:
    assert tied(workspace, text) is None


def test_a_file_that_comes_to_be_executable_is_tied(workspace: Path) -> None:
    (workspace / "run.sh").chmod(0o644)
    before = tied(workspace, "./run.sh")
    (workspace / "run.sh").chmod(0o755)
    assert tied(workspace, "./run.sh") != before


def test_where_a_path_outside_leads_is_tied(workspace: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text("same")
    link = workspace / "link"
    link.symlink_to(tmp_path / "one")
    before = tied(workspace, "cat link")
    link.unlink()
    link.symlink_to(tmp_path / "two")
    assert before is not None
    assert tied(workspace, "cat link") != before


def test_a_link_to_another_script_is_another_script(workspace: Path) -> None:
    (workspace / "sub" / "run.sh").write_text(SCRIPT + "#")
    (workspace / "l.sh").symlink_to("run.sh")
    before = tied(workspace, "sh l.sh")
    (workspace / "l.sh").unlink()
    (workspace / "l.sh").symlink_to("sub/run.sh")
    assert tied(workspace, "sh l.sh") != before


def test_programs_of_the_system_are_not_tied(workspace: Path) -> None:
    assert tied(workspace, "/bin/ls /usr/bin/env; cat /etc/passwd") is None


def test_a_fifo_and_a_device_do_not_hold_it_up(workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    (workspace / "pipe").chmod(0o755)
    assert tied(workspace, "bash pipe; ./pipe; bash /dev/zero") is None


def test_what_is_too_long_to_be_read_is_tied_by_what_is_told_of_it(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ties, "DIGESTED_BYTES_MAX", 10)
    before = tied(workspace, "./run.sh")
    assert tied(workspace, "./run.sh") == before
    os.utime(workspace / "run.sh", ns=(1, 1))
    assert tied(workspace, "./run.sh") != before


def test_names_that_are_none_are_passed_over(workspace: Path) -> None:
    names = ["\0", "x" * 9999, "", "a/" * 5000, "\udcff", "~nobody/x", "."]
    assert look(str(workspace), str(workspace), names, names) is None


def test_a_text_that_goes_to_many_folders_is_tied_to_nothing_that_can_be_told() -> None:
    assert shell.mentions_of(shell.analyse("cd a; " * 9 + "./run.sh")) is None
