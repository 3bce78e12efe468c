"""`wcore sandbox`: conversations with the real command."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
import waiting
from sandbox.trying import ALL

WCORE: Final = (sys.executable, "-m", "wcore", "sandbox")


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path)) / "home" / "ws"
    folder.mkdir(parents=True)
    return folder


def environ(ws: Path, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**kept, "HOME": str(ws.parent), **more}


def run(ws: Path, script: str, *options: str, **more: str) -> "subprocess.CompletedProcess[str]":
    command = [*WCORE, "run", *options, "--", "bash", "-c", script]
    return waiting.run(command, cwd=ws, env=environ(ws, **more))


def test_the_exit_code_and_the_output_are_those_of_the_command(ws: Path) -> None:
    done = run(ws, "pwd; echo to stderr >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, f"{ws}\n", "to stderr\n")


def test_a_death_by_signal_and_a_missing_program_are_told_as_by_shells(ws: Path) -> None:
    assert run(ws, "kill -9 $$").returncode == 128 + signal.SIGKILL
    done = waiting.run([*WCORE, "run", "--", "no-such-program"], cwd=ws, env=environ(ws))
    assert done.returncode == 127
    assert "no-such-program: not found" in done.stderr


def test_what_it_reads_is_ours(ws: Path) -> None:
    command = [*WCORE, "run", "--", "cat"]
    done = waiting.run(command, said="from stdin", cwd=ws, env=environ(ws))
    assert done.stdout == "from stdin"


def test_the_workspace_can_be_written_and_what_is_hidden_stays_as_it_is(ws: Path) -> None:
    (ws / ".env").write_text("secret\n")
    done = run(ws, "echo new >file; cat .env; rm -f .env; echo other >.env")
    assert (ws / "file").read_text() == "new\n"
    assert (ws / ".env").read_text() == "secret\n"
    assert "secret" not in done.stdout


def test_to_read_only_nothing_is_written(ws: Path) -> None:
    done = run(ws, "echo x >file", "--view", "read_only")
    assert done.returncode == 1
    assert "Read-only file system" in done.stderr
    assert not (ws / "file").exists()


def test_the_rules_on_reading_are_held(ws: Path) -> None:
    config = ws.parent / ".config" / "wcore"
    config.mkdir(parents=True)
    (config / "policy.toml").write_text('deny = ["Read(plan.txt)", "Read(private/**)"]\n')
    (ws / "private").mkdir()
    (ws / "private" / "x").write_text("secret\n")
    (ws / "plan.txt").write_text("secret\n")
    done = run(ws, "cat plan.txt private/x ~/.config/wcore/policy.toml")
    assert done.stdout == ""
    assert "plan.txt: Permission denied" in done.stderr


def test_what_rules_deny_to_read_elsewhere_is_hidden_too(ws: Path) -> None:
    home = ws.parent
    config = home / ".config" / "wcore"
    config.mkdir(parents=True)
    names = ("A/file", "b/deep/file", "c/file", "d/file", "ws/e", "f/file")
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"{name}\n")
    rules = ["~/a/file", "~/b/**", f"{home}/c", "~/d/*", "**/e"]
    denies = ", ".join(f'"Read({rule})"' for rule in rules)
    (config / "policy.toml").write_text(f"deny = [{denies}]\n")
    assert run(ws, f"cd ~; cat {' '.join(names)}").stdout == "f/file\n"


def test_what_may_not_be_left_behind_is_taken_away_and_told(ws: Path) -> None:
    done = run(ws, "mkdir .vscode; echo x >.vscode/tasks.json; exit 3")
    assert done.returncode == 3
    assert not (ws / ".vscode").exists()
    told = done.stderr.strip()
    assert told.startswith(f"wcore sandbox: {ws}/.vscode was moved to ")
    to = Path(told.partition(" moved to ")[2].partition(":")[0])
    assert (to / "tasks.json").read_text() == "x\n"


def test_what_goes_on_is_ended_with_the_command(ws: Path) -> None:
    """Also what left its session: its pipe is at its end when nobody holds it any more."""
    done = run(ws, "setsid sleep 1000 & echo $!")
    assert done.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_nothing_is_left(ws: Path, number: signal.Signals) -> None:
    script = (
        "trap 'echo asked >asked; exit' TERM; mkdir .vscode; echo up; while :; do sleep 0.01; done"
    )
    command = [*WCORE, "run", "--", "bash", "-c", script]
    process = subprocess.Popen(
        command, cwd=ws, env=environ(ws), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert waiting.line(process) == "up\n"
    process.send_signal(number)
    done = waiting.finish(process)
    assert done.returncode == 130
    assert (ws / "asked").read_text() == "asked\n"
    assert not (ws / ".vscode").exists()


def test_one_program_runs_in_the_sandbox_of_a_workspace(ws: Path) -> None:
    command = [*WCORE, "run", "--", "bash", "-c", "echo up; read line"]
    first = subprocess.Popen(
        command, cwd=ws, env=environ(ws), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert waiting.line(first) == "up\n"
    done = run(ws, "touch second")
    assert done.returncode == 1
    assert "another program runs in this sandbox, or repository" in done.stderr
    assert not (ws / "second").exists()
    assert waiting.finish(first, b"\n").returncode == 0
    assert run(ws, "touch second").returncode == 0


def test_git_works_but_for_what_decides_which_programs_it_runs(ws: Path) -> None:
    who = "git config user.name x; git config user.email x@example.org"
    waiting.run(["bash", "-c", f"git init -q . && {who}"], cwd=ws, check=True, env=environ(ws))
    script = (
        "set -e; echo x >a; git add a; git commit -qm one; git checkout -qb other; git mv a b;"
        " git commit -qam two; git stash list; git merge -q master main 2>/dev/null || git log"
        " --oneline; git gc -q; git tag v1; git rebase -q HEAD~1; git reset -q --hard HEAD"
    )
    done = run(ws, script)
    assert (done.returncode, done.stderr) == (0, "")
    assert run(ws, "git config core.fsmonitor ./x").returncode != 0
    assert "fsmonitor" not in (ws / ".git/config").read_text()


def test_a_worktree_is_committed_in(ws: Path) -> None:
    main = ws / "main"
    main.mkdir()
    who = "git config user.name x; git config user.email x@example.org"
    script = (
        f"git init -q . && {who} && git commit -q --allow-empty -m x && git worktree add -q ../tree"
    )
    waiting.run(["bash", "-c", script], cwd=main, check=True, env=environ(ws))
    tree = ws / "tree"
    done = run(tree, "echo x >a; git add a; git commit -qm two; git log --oneline | wc -l")
    assert (done.stdout, done.stderr) == ("2\n", "")


def test_worktrees_and_repositories_are_made(ws: Path) -> None:
    who = "git config user.name x; git config user.email x@example.org"
    script = f"git init -q . && {who} && git commit -q --allow-empty -m x"
    waiting.run(["bash", "-c", script], cwd=ws, check=True, env=environ(ws))
    done = run(ws, "git worktree add -q tree; git init -q new; git clone -q . copy; ls -d */.git")
    assert (done.stdout, done.stderr) == ("copy/.git\nnew/.git\ntree/.git\n", "")
    again = run(ws / "tree", "git commit -q --allow-empty -m y; git log --oneline | wc -l")
    assert (again.stdout, again.stderr) == ("2\n", "")


def test_python_and_node_work(ws: Path) -> None:
    done = run(
        ws,
        f"{shlex.quote(sys.executable)} -c 'import tempfile; tempfile.TemporaryFile(); print(1)'",
    )
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_without_a_place_for_what_stays_nothing_runs(ws: Path) -> None:
    state = ws.parent / ".local" / "state" / "wcore"
    state.mkdir(parents=True)
    (state / "sandbox").write_text("a file in the way\n")
    done = run(ws, "touch new")
    assert done.returncode == 1
    assert f"{state}/sandbox/" in done.stderr
    assert "for what programs keep, cannot be used: File exists" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (ws / "new").exists()


def test_where_there_is_no_quarantine_it_stays_beside_under_another_name(ws: Path) -> None:
    state = ws.parent / ".local" / "state" / "wcore"
    state.mkdir(parents=True)
    (state / "quarantine").write_text("a file in the way\n")
    done = run(ws, "mkdir .vscode; echo x >.vscode/tasks.json; echo output")
    assert (done.returncode, done.stdout) == (0, "output\n")
    assert f"{ws}/.vscode was moved to {ws}/quarantined-" in done.stderr
    assert not (ws / ".vscode").exists()


def test_a_home_that_is_the_workspace_keeps_what_programs_start(ws: Path) -> None:
    home = ws.parent
    (home / ".config").mkdir()
    script = (
        "echo x >.config/x; mkdir -p .local/bin bin; echo x >.local/bin/ls; echo x >bin/ls;"
        " echo x >.bashrc; echo x >project; mkdir .ssh; echo x >.ssh/config; echo x >.netrc"
    )
    done = run(home, script, HOME=str(home))
    left = {each.name for each in home.iterdir()}
    assert left == {".config", ".local", "project", "ws"}
    assert f"{home}/.ssh was moved to " in done.stderr
    assert list((home / ".config").iterdir()) == []
    assert not (home / ".local" / "bin").exists()


def test_what_the_home_keeps_in_the_workspace_stays_as_it_is(ws: Path) -> None:
    """Its dots, as many people keep them: what shells and git of the person go by."""
    home = ws.parent
    (ws / "git").mkdir()
    (ws / "nvim").mkdir()
    (ws / "bashrc").write_text("true\n")
    (ws / "git" / "config").write_text("[include]\n\tpath = ~/ws/more\n")
    (home / ".config").mkdir()
    (home / ".config" / "nvim").symlink_to(ws / "nvim")
    (home / ".bashrc").symlink_to("ws/bashrc")
    (home / "current").symlink_to("ws/other")
    (home / ".gitconfig").symlink_to(ws / "git/config")
    names = ["bashrc", "git/config", "nvim/init.lua", "more", "other"]
    done = run(ws, "; ".join(f"echo x >>{name}" for name in names))
    assert done.stderr.count("Read-only file system") == 3
    assert "/more was moved to " in done.stderr
    assert (ws / "other").read_text() == "x\n"
    assert (ws / "bashrc").read_text() == "true\n"


@pytest.mark.parametrize("folder", ["/home", "/etc"])
def test_the_system_is_no_workspace(ws: Path, folder: str) -> None:
    command = [*WCORE, "run", "--cwd", folder, "--", "true"]
    done = waiting.run(command, cwd=ws, env=environ(ws))
    assert done.returncode == 1
    assert "is what programs are made of" in done.stderr


def test_a_workspace_in_a_hidden_folder_is_refused(ws: Path) -> None:
    inside = ws.parent / ".ssh" / "ws"
    inside.mkdir(parents=True)
    done = run(inside, "true", HOME=str(ws.parent))
    assert done.returncode == 1
    assert f"the workspace lies in {ws.parent}/.ssh, which is hidden" in done.stderr


def test_a_secret_with_another_name_is_refused(ws: Path) -> None:
    (ws / ".env").write_text("x")
    os.link(ws / ".env", ws / "b")
    done = run(ws, "cat b")
    assert (done.returncode, done.stdout) == (1, "")
    assert "another name" in done.stderr


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["run"], "missing command: give it behind `--`"),
        (["run", "true"], "unrecognized arguments"),
        (["walk"], "invalid choice"),
        (["run", "--view", "x", "--", "true"], "invalid"),
        ([], "required: what"),
        (["run", "--cwd", "/nowhere", "--", "true"], "there is no such folder"),
    ],
)
def test_a_wrong_command_line_says_what_is_wrong(ws: Path, argv: list[str], problem: str) -> None:
    done = waiting.run([*WCORE, *argv], cwd=ws, env=environ(ws))
    assert done.returncode == 2
    assert problem in done.stderr
    assert "Traceback" not in done.stderr


def test_without_bubblewrap_it_says_what_to_install(ws: Path, tmp_path: Path) -> None:
    """As where there is no user namespace: the one that is found says so, and nothing is run."""
    failing = tmp_path / "bwrap"
    said = "No permissions to create new namespace"
    failing.write_text(f"#!/bin/sh\necho 'bwrap: {said}' >&2; exit 1\n")
    failing.chmod(0o755)
    for found, told in (([str(failing)], f"{failing}: {said}"), ([], "install bubblewrap")):
        change = f"from wcore.sandbox import sandbox; sandbox.candidates = lambda *_: {found!r}"
        code = f"{change}; from wcore.__main__ import main; main()"
        command = [sys.executable, "-c", code, "sandbox", "run", "--", "touch", "done"]
        done = waiting.run(command, cwd=ws, env=environ(ws))
        assert done.returncode == 1
        assert told in done.stderr
        assert not (ws / "done").exists()


def test_check_prints_what_is_held(ws: Path) -> None:
    done = waiting.run([*WCORE, "check", "--json"], cwd=ws, env=environ(ws))
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert {each["name"] for each in found if each["held"]} == ALL


def test_check_says_what_is_not_held(ws: Path) -> None:
    code = (
        "from wcore.sandbox import escapes; escapes.ESCAPES['look around'] = 'echo got out';"
        "import sys; sys.argv[0] = 'wcore'; from wcore.__main__ import main; main()"
    )
    done = waiting.run([sys.executable, "-c", code, "sandbox", "check"], cwd=ws, env=environ(ws))
    assert done.returncode == 1
    assert "NOT HELD  look around\n          got out\n" in done.stdout
