"""Policy files of an adversary or a careless person: no rule that silently never fits."""

import pytest
from tables import rows

from wcore.policy import shell
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import Facts, gather
from wcore.policy.grants import GrantBook
from wcore.policy.protected import Places
from wcore.policy.rules.lint import lint
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_file import PolicyError
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.vocabulary import Access, Category, Mode, PathAccess, Prepared, Verdict

PLACES = Places("/ws", "/home/me", own=("/home/me/.config/wcore", "/home/me/.local/state/wcore"))
SCENE = ParseContext(PLACES, {})


def forced(facts: Facts, text: str) -> Verdict:
    """Return the verdict in mode force, where only what denies is left."""
    policies = PolicySet([parse(text, "/p.toml", Level.PROJECT, SCENE)])
    context = DecisionContext(Mode.FORCE, GrantBook(), frozenset({facts.tool}), policies)
    return decide(facts, context).verdict


def write(path: str) -> Facts:
    touch = PathAccess(path, Access.WRITE)
    return gather(Prepared("Write", Category.EDIT, {}, "", "", (touch,)), None, PLACES)


def bash(text: str) -> Facts:
    called = Prepared("Bash", Category.EXEC, {}, "", "", command=text)
    return gather(called, shell.analyse(text), PLACES)


@pytest.mark.parametrize(
    "path",
    [
        "/home/me/.config/wcore/policy.toml",
        "/home/me/.CONFIG/WCore/policy.toml",
        "/home/me/.local/STATE/wcore/trust.json",
        "/ws/.WCORE/policy.toml",
        "/ws/deep/.wcore",
    ],
)
def test_wcores_own_files_are_safe_where_case_is_ignored(path: str) -> None:
    assert forced(write(path), "") is Verdict.DENY


@pytest.mark.parametrize(
    "spec", ["secret/**", "secret/", "./secret/", "/ws/secret/", "SECRET/**", "[s]ecret/**", "**/a"]
)
def test_every_spelling_of_a_folder_denies_what_lies_in_it(spec: str) -> None:
    assert forced(write("/ws/secret/a"), f'deny = ["Write({spec})"]') is Verdict.DENY


@rows(
    ("rule", "problem"),
    [
        ("Bash(FOO=1 make)", "begin with the program"),
        ("Bash(time make)", "begin with the program"),
        ("Bash(! make)", "begin with the program"),
        ("Bash('rm' *)", "without quotes"),
        ("Bash(rm \\\\*)", "without quotes"),
        ("Bash({rm,cp)", "without quotes"),
        ("Read(~me/x)", "own home only"),
        ("Read(../x)", "`..`"),
        ("Read(a//b)", "empty"),
        ("Wr\u0456te", "outside ASCII"),
        ("write(src/**)", "neither paths nor commands"),
        ("mcp__a__b(x)", "neither paths nor commands"),
        ("Read(x\u202e)", "cannot be seen"),
        ("Read(src", "not closed"),
    ],
)
def test_a_rule_that_could_never_fit_is_an_error(rule: str, problem: str) -> None:
    with pytest.raises(PolicyError) as error:
        parse(f'\ndeny = ["{rule}"]', "/p.toml", Level.USER, SCENE)
    assert problem in error.value.reason
    assert error.value.line == 2


@rows(
    "command",
    [
        *("rm x", "/bin/rm x", "r\\m x", "'rm' x", "RM x", "env rm x", "FOO=1 rm x"),
        *("bash -c 'rm x'", "eval rm x", "xargs rm", "find . -exec rm {} +", "trap 'rm x' EXIT"),
        *(
            "watch 'rm x'",
            "script -c 'rm x'",
            "su -c 'rm x'",
            "if true; then rm x; fi",
            "{ rm x; }",
        ),
        *(
            "sh <<E\nrm x\nE",
            "cat <<E\n$(rm x)\nE",
            "r\\\nm x",
            "ls & rm x",
            "time rm x",
            "busybox rm x",
        ),
    ],
)
def test_a_denied_command_is_found_in_every_spelling(command: str) -> None:
    assert forced(bash(command), 'deny = ["Bash(rm)"]') is Verdict.DENY


@pytest.mark.parametrize("command", ["$(echo rm) x", "cat <<E | sh\nrm x\nE", "x 'rm x'"])
def test_a_denied_command_that_is_only_named_asks(command: str) -> None:
    assert forced(bash(command), 'deny = ["Bash(rm)"]') is Verdict.ASK


def test_a_denied_beginning_counts_where_the_shell_computes_other_words() -> None:
    assert forced(bash("git-lfs $(x)"), 'deny = ["Bash(git-*)"]') is Verdict.DENY
    assert forced(bash("$(x) git-lfs"), 'deny = ["Bash(git-*)"]') is Verdict.ASK
    assert forced(bash("ls $(x)"), 'deny = ["Bash(git-*)"]') is Verdict.ALLOW


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * 60_000 + " = 1",
        "[" + "a." * 60_000 + "a]",
        '"a".' * 60_000 + "a = 1",
        "a = " + "[" * 100_000,
        "a = " + "{a = " * 30_000,
        '"' * 250_000,
        "\ufeffdeny = []",
        'deny = []\ndeny = ["x"]',
        "[rule]\nmatch = 'x'\ndo = 'ask'",
        "default = 1979-05-27",
        "[limits]\nttl = nan",
        '[groups]\na = ["@b"]\nb = ["@a"]\n[[rule]]\nmatch = "@a"\ndo = "ask"',
        "[groups]\ng = ["
        + ",".join(f'"x{n}"' for n in range(200))
        + "]\n"
        + '[[rule]]\nmatch = "@g"\ndo = "ask"\n' * 4000,
        "x" * (256 * 1024 + 1),
    ],
    ids=range(14),
)
def test_a_file_that_is_odd_or_heavy_is_one_error(text: str) -> None:
    with pytest.raises(PolicyError) as error:
        parse(text, "/p.toml", Level.PROJECT, SCENE)
    assert (text.count(".") > 50_000) == ("more than 32 parts" in error.value.reason)


def test_a_tool_in_the_wrong_case_is_found_by_lint() -> None:
    file = parse('deny = ["bash"]\n', "/p.toml", Level.USER, SCENE)
    (finding,) = lint(file)
    assert (finding.kind, finding.source) == ("unknown", "/p.toml:1")
    assert "called Bash" in finding.text


@pytest.mark.parametrize("rule", ["rm", "sudo"])
@pytest.mark.parametrize(
    "around",
    [
        *("cat > a.md <<'E'\n{}\nE", "tee a.md <<E\n{}\nE", "cat >> a <<-E\n\t{}\n\tE\nls"),
        "mkdir -p a && cat > a/b <<'E'\n[a]\n{}\nE\ngit add a",
        "git commit -F - <<'E'\n{}\nE",
    ],
)
def test_what_is_written_by_a_here_document_is_no_command(rule: str, around: str) -> None:
    text = around.replace("{}", f"{rule} -rf /")
    assert forced(bash(text), f'deny = ["Bash({rule})"]') is Verdict.ASK  # it is named
    assert forced(bash(text), "") is Verdict.ALLOW
    for runs in ("sh a.md", "./a", "python3 -c x", "x a", "git -c alias.x='!sh' x"):
        told = f"{text}\n{runs}"
        assert forced(bash(told), f'deny = ["Bash({rule})"]') is Verdict.ASK, told


@pytest.mark.parametrize("delimiter", ["'\tE'", '"\tE"', "\\\tE", "'\t\tE'"])
def test_a_delimiter_that_begins_with_a_tab_is_in_doubt_where_tabs_are_stripped(
    delimiter: str,
) -> None:
    for payload in ("echo x > .wcore/policy.toml", "rm -rf ~", "sudo ls"):
        text = f"cat <<-{delimiter}\nx\n\tE\n{payload}\n"
        assert forced(bash(text), "") is not Verdict.ALLOW, text
