"""`wcore policy check`, `test` and `lint`: the policy files, for people and scripts."""

import json
from pathlib import Path

from policy.asking import trust, wcore

POLICY = """\
deny = ["Read(*.pem)"]
[[rule]]
match = "Bash"
do = "allow"
[[rule]]
match = "Bash(git push)"
do = "ask"
[[rule]]
match = "Bash"
do = "allow"
[[test]]
call = "Bash(git push --force)"
expect = "ask"
[[test]]
call = "Read(a.pem)"
expect = "deny"
[[test]]
call = "Read"
expect = "ask"
"""


def write_user_policy(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "home" / ".config" / "wcore" / "policy.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_check_lists_the_files_in_force(workspace: Path, tmp_path: Path) -> None:
    assert "no policy files" in wcore("policy", "check", cwd=workspace).stdout
    path = write_user_policy(tmp_path, POLICY)
    done = wcore("policy", "check", "--json", cwd=workspace)
    assert done.returncode == 0
    (file,) = json.loads(done.stdout)["files"]
    assert (file["path"], file["rules"], file["deny"], file["tests"]) == (str(path), 3, 1, 3)


def test_rules_are_listed_in_order_with_their_places(workspace: Path, tmp_path: Path) -> None:
    assert "no rules" in wcore("policy", "rules", cwd=workspace).stdout
    user = write_user_policy(tmp_path, POLICY + '[limits]\nmax_mode = "auto_edit"\n')
    project = workspace / ".wcore" / "policy.toml"
    project.parent.mkdir()
    project.write_text('default = "deny"\n[[rule]]\nmatch = "LS"\ndo = "allow"\nagent = "a*"\n')
    told = json.loads(wcore("policy", "rules", "--json", cwd=workspace).stdout)
    assert told["trusted"] is False
    assert told["limits"] == {"max_mode": "auto_edit"}
    assert [(r["do"], r["match"], r["source"]) for r in told["rules"]] == [
        ("deny", "Read(*.pem)", f"{user}:1"),
        ("allow", "Bash", f"{user}:2"),
        ("ask", "Bash(git push)", f"{user}:5"),
        ("allow", "Bash", f"{user}:8"),
        ("allow", "LS", f"{project}:2"),
        ("deny", "*", f"{project}:1"),
    ]
    untrusted = told["rules"][4]
    assert (untrusted["level"], untrusted["agent"]) == ("project", "a*")
    assert "not trusted" in untrusted["note"]
    trust(workspace)
    told = json.loads(wcore("policy", "rules", "--json", cwd=workspace).stdout)
    assert [r["match"] for r in told["rules"]][:3] == ["Read(*.pem)", "LS", "Bash"]
    assert "note" not in told["rules"][1]


def test_check_names_file_line_and_reason(workspace: Path, tmp_path: Path) -> None:
    path = write_user_policy(tmp_path, "\n[limits]\nttl = 'long'\n")
    for command in ("check", "rules", "test", "lint", "explain"):
        more = ["ls"] if command == "explain" else []
        done = wcore("policy", command, *more, cwd=workspace)
        assert done.returncode == 1, command
        assert done.stdout == ""
        assert f"{path}:3: `ttl` must be a number" in done.stderr


def test_tests_say_what_is_not_as_expected(workspace: Path, tmp_path: Path) -> None:
    path = write_user_policy(tmp_path, POLICY)
    done = wcore("policy", "test", cwd=workspace)
    assert done.returncode == 1
    assert f"{path}:11: Bash(git push --force): expected ask, is allow" in done.stdout
    assert f"{path}:17: Read: Read needs the argument 'file_path'" in done.stdout
    assert done.stdout.endswith("3 tests, 2 not as expected\n")


def test_lint_finds_what_is_dead_shadowed_or_broad(workspace: Path, tmp_path: Path) -> None:
    path = write_user_policy(tmp_path, POLICY)
    done = wcore("policy", "lint", cwd=workspace)
    assert done.returncode == 1
    kinds = [line.split(": ")[:2] for line in done.stdout.splitlines()]
    assert [f"{path}:5", "shadowed"] in kinds
    assert [f"{path}:8", "dead"] in kinds
    assert [f"{path}:2", "over-broad"] in kinds
    assert [f"{path}:1", "narrow"] in kinds


def test_a_tool_that_does_not_exist_is_named_with_the_nearest_one(
    workspace: Path, tmp_path: Path
) -> None:
    names = ["Bsh", "bash", "Ba*h", "mcp__x__y", "@git", "git_log", "Wr?te"]
    policy = "".join(f'[[rule]]\nmatch = "{name}"\ndo = "deny"\n' for name in names)
    path = write_user_policy(tmp_path, policy)
    told = wcore("policy", "check", cwd=workspace).stdout
    assert f"{path}:1: `Bsh`: no tool is called Bsh; do you mean Bash?" in told
    assert "`bash` fits no call: the tool is called Bash" in told
    assert "no tool is called git_log" in told
    assert not any(f"`{name}`" in told for name in ("Ba*h", "mcp__x__y", "@git", "Wr?te"))
    assert "Bsh" in wcore("policy", "lint", cwd=workspace).stdout
