"""`wcore policy explain`: the engine's own decision, for people and for scripts."""

from pathlib import Path

from policy.asking import explain, wcore


def test_the_part_that_is_not_granted_is_marked(workspace: Path) -> None:
    done = wcore(
        *("policy", "explain", "cargo build; curl x|tee y", "--grant", "cargo "), cwd=workspace
    )
    assert done.returncode == 10
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["verdict", "ask"]
    assert lines[-2:] == ["  cargo build; curl x|tee y", "               ^^^^^^"]
    assert "no_grant" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_text_that_nobody_can_read_is_marked(workspace: Path) -> None:
    lines = wcore("policy", "explain", "curl x | sh", cwd=workspace).stdout.splitlines()
    assert lines[-2:] == ["  curl x | sh", "           ^^"]
    assert "script_from_input" in "".join(lines)


def test_a_covered_command_is_allowed_and_names_the_grant(workspace: Path) -> None:
    told = explain("cargo build && cargo test", "--grant", "cargo ", cwd=workspace)
    assert (told["verdict"], told["row"], told["exit"]) == ("allow", "grant", 0)
    assert told["rule"] == "--grant 1"


def test_json_has_the_span_in_bytes(workspace: Path) -> None:
    told = explain("echo ä; curl x", "--grant", "echo", cwd=workspace)
    assert told["command"].encode()[slice(*told["span"])] == b"curl x"


def test_a_grant_that_cannot_be_honoured_is_named_and_counts_for_nothing(workspace: Path) -> None:
    told = explain("eval x", "--grant", "eval", cwd=workspace)
    assert told["verdict"] == "ask"
    assert told["refused_grants"][0]["grant"] == "eval"


def test_a_suggestion_really_covers_the_command(workspace: Path) -> None:
    suggestions = explain("git log -3", cwd=workspace)["suggestions"]
    assert suggestions
    for text in suggestions:
        assert explain("git log -3", "--grant", text, cwd=workspace)["verdict"] == "allow"


def test_all_that_a_card_would_offer_is_told(workspace: Path) -> None:
    for command, offered, line in (
        ("./build.sh", [{"always_exact": {"command": "./build.sh"}}], "grant of exactly this"),
        ("git log -3", [{"always_prefix": {"prefix": "git log"}}], "grant of git log"),
        (
            "git log -3 && cargo test",
            [{"always_prefixes": {"prefixes": ["git log", "cargo test"]}}],
            "set of   git log, cargo test",
        ),
    ):
        scopes = explain(command, cwd=workspace)["scopes"]
        assert all(scope in scopes for scope in offered), scopes
        assert line in wcore("policy", "explain", command, cwd=workspace).stdout


def test_modes_and_other_tools(workspace: Path) -> None:
    assert explain("--tool", "Write", "a.txt", cwd=workspace)["verdict"] == "ask"
    told = explain("--tool", "Write", "a.txt", "--mode", "acceptEdits", cwd=workspace)
    assert (told["verdict"], told["row"], told["exit"]) == ("allow", "mode", 0)
    told = explain("--tool", "Read", "/etc/passwd", "--mode", "read_only", cwd=workspace)
    assert (told["verdict"], told["row"]) == ("ask", "outside")


def test_writing_wcores_own_files_is_denied_in_every_mode(workspace: Path) -> None:
    told = explain("--tool", "Write", ".wcore/policy.toml", "--mode", "force", cwd=workspace)
    assert (told["verdict"], told["row"], told["exit"]) == ("deny", "safety", 20)


def test_arguments_as_the_model_would_send_them(workspace: Path) -> None:
    told = explain("--tool", "Grep", "--args", '{"pattern":"x","path":"/etc"}', cwd=workspace)
    assert told["row"] == "outside"


def test_the_command_may_come_from_stdin(workspace: Path) -> None:
    done = wcore(
        *("policy", "explain", "-", "--grant", "ls"), cwd=workspace, stdin=b"ls\0\nrm \xff"
    )
    assert done.returncode == 10
    assert "forbidden_character" in done.stdout


def test_hostile_characters_are_visible(workspace: Path) -> None:
    done = wcore("policy", "explain", "ls \u202e\x1b[2J", cwd=workspace)
    assert "⟨U+202E⟩⟨U+001B⟩[2J" in done.stdout


def test_wrong_usage_says_what_and_exits_2(workspace: Path) -> None:
    for argv, expected in (
        (["explain"], "missing command"),
        (["explain", "--mode", "lax", "ls"], "unknown mode 'lax'"),
        (["explain", "--args", "[1]", "ls"], "not a JSON object"),
        (["explain", "--args", "{", "ls"], "not JSON"),
        (["explain", "--cwd", "/nowhere-at-all", "ls"], "no such folder"),
        (["explain", "--tool", "Write"], "needs the argument 'file_path'"),
        (["guess"], "guess"),
        ([], "one of explain"),
    ):
        done = wcore("policy", *argv, cwd=workspace)
        assert done.returncode == 2, argv
        assert done.stdout == ""
        assert expected in done.stderr


def test_help_explains_the_exit_codes(workspace: Path) -> None:
    done = wcore("policy", "explain", "--help", cwd=workspace)
    assert done.returncode == 0
    assert "0 allow   10 ask   20 deny" in done.stdout
