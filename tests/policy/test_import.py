"""`wcore policy import`: other engines' rules as a policy, with a report of what differs."""

import json
from pathlib import Path
from typing import Any

import pytest
from policy.asking import explain, wcore

from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.rule import Level, ParseContext

CLAUDE = """\
{
  // what a person writes
  "permissions": {
    "allow": ["Bash(npm run test:*)", "Bash(make)", "Edit(src/**)", "mcp__github", "WebFetch"],
    "ask": ["Bash(git push *)"],
    "deny": ["Read(./secrets/**)", "Bash(curl *)", "Bash(docker * --privileged)"],
    "defaultMode": "acceptEdits",
  },
}
"""
CODEX = """\
# commands
prefix_rule(pattern = ["git", ["status", "log"]], match = ["git log -1"])
prefix_rule(pattern = ["git", "push"], decision = "prompt", justification = "shared")
prefix_rule(pattern = ["rm", "-rf"], decision = "forbidden")
"""
GEMINI = """\
[[rule]]
toolName = "run_shell_command"
decision = "deny"
priority = 10
[[rule]]
toolName = "run_shell_command"
commandPrefix = ["git ", "ls "]
decision = "allow"
priority = 100
[[rule]]
mcpName = "tracker"
toolName = ["list", "find"]
decision = "allow"
priority = 1
[[rule]]
toolName = "write_file"
decision = "ask_user"
priority = 5
modes = ["autoEdit"]
"""
OPENCODE = """\
{
  "permission": {
    "bash": {"*": "ask", "git *": "allow", "git commit *": "deny"},
    "edit": {"*": "deny", "docs/*.md": "allow"},
    "my_tracker_*": "deny", /* an MCP server */
  },
  "agent": {"review": {"permission": {"edit": "deny"}}}
}
"""
SOURCES = {"claude": CLAUDE, "codex": CODEX, "gemini": GEMINI, "opencode": OPENCODE}


@pytest.fixture
def imported(workspace: Path, tmp_path: Path) -> Any:
    """Import a source and make it the user's policy."""

    def make(name: str, text: str) -> dict[str, Any]:
        (workspace / "theirs").write_text(text)
        done = wcore("policy", "import", name, "theirs", "--json", cwd=workspace)
        assert done.stdout, done.stderr
        told = json.loads(done.stdout)
        path = tmp_path / "home" / ".config" / "wcore" / "policy.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(told["policy"])
        return {**told, "exit": done.returncode}

    return make


def verdict(workspace: Path, *argv: str) -> str:
    return explain(*argv, cwd=workspace)["verdict"]


def test_claude_code(imported: Any, workspace: Path) -> None:
    told = imported("claude", CLAUDE)
    assert told["exit"] == 0
    for command, expected in {
        "npm run test -- -v": "allow",
        "npm run build": "ask",
        "make": "ask",  # exactly `make`, which cannot be said
        "npm run test && git push origin": "ask",
        "npm run test; curl x": "deny",
        "docker ps": "deny",  # `docker * --privileged` is said as every `docker`
    }.items():
        assert verdict(workspace, command) == expected, command
    assert verdict(workspace, "--tool", "Write", "src/a/b.py") == "allow"
    assert verdict(workspace, "--tool", "Write", "b.py") == "ask"
    assert verdict(workspace, "--tool", "Read", "secrets/deep/x", "--mode", "force") == "deny"
    assert verdict(workspace, "--tool", "mcp__github__issue") == "allow"
    kinds = {(note["kind"], note["rule"]) for note in told["report"]}
    assert kinds == {
        ("left out", "Bash(make)"),
        ("left out", "WebFetch"),
        ("stricter", "Bash(docker * --privileged)"),
        ("left out", "defaultMode: acceptEdits"),
    }


def test_codex(imported: Any, workspace: Path) -> None:
    told = imported("codex", CODEX)
    assert [(note["kind"], note["rule"]) for note in told["report"]] == [
        ("looser", "decision = allow")  # a computed argument
    ]
    for command, expected in {
        "git log -3 && git status": "allow",
        "git push origin": "ask",
        "git log; rm -rf x": "deny",
        "git fetch": "ask",
    }.items():
        assert verdict(workspace, command) == expected, command


def test_gemini(imported: Any, workspace: Path) -> None:
    told = imported("gemini", GEMINI)
    for command, expected in {
        "git log": "allow",
        "git log && rm x": "deny",
        "make": "deny",
    }.items():
        assert verdict(workspace, command) == expected, command
    assert verdict(workspace, "--tool", "mcp__tracker__find") == "allow"
    assert verdict(workspace, "--tool", "mcp__tracker__drop") == "ask"
    assert verdict(workspace, "--tool", "Write", "a", "--mode", "auto_edit") == "ask"
    assert [note["kind"] for note in told["report"]] == ["stricter", "looser"]


def test_opencode(imported: Any, workspace: Path) -> None:
    imported("opencode", OPENCODE)
    for command, expected in {
        "git log": "allow",
        "git commit -m x": "deny",
        "ls": "ask",
    }.items():
        assert verdict(workspace, command) == expected, command
    assert verdict(workspace, "--tool", "Write", "docs/deep/x.md") == "allow"
    assert verdict(workspace, "--tool", "Write", "src/x.md") == "deny"
    assert verdict(workspace, "--tool", "mcp__my_tracker__drop") == "deny"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("claude", '{"hooks": {"PreToolUse": [{}]}}', "hooks.PreToolUse"),
        ("claude", '{"sandbox": {"enabled": true}}', "sandbox"),
        ("claude", '{"permissions": {"newKey": 1}}', "permissions.newKey"),
        ("codex", "network_rule(host='x', decision='deny')", "line 1: network_rule"),
        ("gemini", "[[safety_checker]]\nx = 1\n", "safety_checker"),
        ("opencode", '{"permission": {"doom_loop": "deny"}}', "permission.doom_loop: * = deny"),
        (
            "opencode",
            '{"permission": {"external_directory": "deny"}}',
            "permission.external_directory: * = deny",
        ),
        (
            "opencode",
            '{"permission": {"bash": {"*": "deny", "git push *": "ask"}}}',
            "Bash(git push)",
        ),
    ],
)
def test_a_restriction_that_is_lost_is_named_and_has_its_exit_code(
    imported: Any, name: str, text: str, said: str
) -> None:
    told = imported(name, text)
    assert told["exit"] == 10
    assert [note["rule"] for note in told["report"] if note["kind"] == "looser"] == [said]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("claude", "{", "theirs:1: not JSON"),
        ("claude", '{\n"a": [1,\n}', "theirs:3: not JSON"),
        ("claude", "[]", "no object"),
        ("claude", '{"permissions": {"allow": "x", "deny": [1]}}', "`deny` is no list of texts"),
        ("claude", '{"permissions": {"defaultMode": "yolo"}}', "'yolo', which is not known"),
        ("codex", "x = ['rm']\nprefix_rule(pattern=x)", "line 1: only calls"),
        ("codex", "prefix_rule(pattern=['a'] + ['b'])", "line 1: `pattern` is no literal"),
        ("codex", "\nfor x in y:\n  prefix_rule(pattern=[x])", "line 2: only calls"),
        ("codex", "prefix_rule(['rm'])", "line 1: arguments must be named"),
        ("codex", "other_rule()", "line 1: other_rule is not known"),
        ("codex", "prefix_rule(pattern=['a'], decision='maybe')", "unknown decision"),
        ("codex", "prefix_rule(pattern=[])", "must be a list of words"),
        ("codex", "prefix_rule(pattern=__import__('os'))", "no literal"),
        ("codex", "(" * 300, "line 1"),
        ("gemini", "[[rule]", "not TOML"),
        ("gemini", "[[rule]]\ndecision = 'allow'\npriority = 1", "names no tool"),
        ("gemini", "[[rule]]\ntoolName = 'glob'\ndecision = 'allow'", "`priority`"),
        ("gemini", "[[rule]]\ntoolName = 'glob'\nfoo = 1", "`foo` is not known"),
        ("opencode", '{"permission": {"bash": "maybe"}}', "'maybe' is none of"),
        ("opencode", '{"permission": 3}', "`permission` is no object"),
    ],
)
def test_what_is_not_understood_makes_no_policy(
    workspace: Path, name: str, text: str, problem: str
) -> None:
    (workspace / "theirs").write_text(text)
    done = wcore("policy", "import", name, "theirs", cwd=workspace)
    assert (done.returncode, done.stdout) == (1, "")
    assert problem in done.stderr
    assert "Traceback" not in done.stderr


def test_an_existing_file_stays_unless_told(workspace: Path) -> None:
    (workspace / "theirs").write_text(CODEX)
    output = workspace / "policy.toml"
    to_file = ("policy", "import", "codex", "theirs", "--output", str(output), "--yes")
    assert wcore(*to_file, cwd=workspace).returncode == 10
    parse(output.read_text(), "p", Level.USER, ParseContext(Places("/ws", "/h"), {}))
    output.write_text("mine")
    done = wcore(*to_file, cwd=workspace)
    assert done.returncode == 1
    assert "--overwrite" in done.stderr
    assert output.read_text() == "mine"
    assert wcore(*to_file, "--overwrite", cwd=workspace).returncode == 10
    assert "prefix" not in output.read_text()
    assert sorted(path.name for path in workspace.iterdir()) == ["policy.toml", "theirs"]


def test_stdin_and_a_report_in_the_file_itself(workspace: Path) -> None:
    done = wcore("policy", "import", "claude", "-", cwd=workspace, stdin=CLAUDE.encode())
    assert "#   left out: Bash(make): " in done.stdout
    assert "left out: Bash(make): " in done.stderr


def test_nothing_of_a_hostile_file_is_run_or_hidden(workspace: Path) -> None:
    rules = ['Bash(x\u202e\n[[rule]]\nmatch = "*")', 'Read(a" \\)', "Read(\ud800)"]
    text = json.dumps({"permissions": {"deny": rules}})
    done = wcore("policy", "import", "claude", "-", cwd=workspace, stdin=text.encode())
    assert done.returncode == 0
    assert "\u202e" not in done.stdout + done.stderr
    policy = parse(done.stdout, "p", Level.USER, ParseContext(Places("/ws", "/h"), {}))
    assert not policy.rules
    assert policy.deny
