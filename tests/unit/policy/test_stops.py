"""Rules that ask or deny commands: no way of writing one lets it pass, and what is given up."""

import json
import random
import time
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import rows

from wcore.policy.rules.lint import lint
from wcore.policy.rules.parser import parse
from wcore.policy.rules.rule import Level, ParseContext
from wcore.vocabulary import Mode

from .test_rules import PLACES, bash, outcome, policies, rules

GIVEN_UP: Final = Path(__file__).parents[3] / "protocol-spec/cases/shell/given_up.jsonl"
GIVEN_UP_MAX: Final = 60
KINDS: Final = ("named", "asks", "elsewhere", "value")
PATH_KINDS: Final = ("folder", "variable", "held")  # tried where there is a disk

COMMANDS: Final = (
    ("git push origin", "git push"),
    ("rm -rf x", "rm -rf"),
    ("timeout -k 5 9 rm x", "rm"),
    ("npm run x -- y", "npm run"),
    ("env A=1 /usr/bin/curl x", "curl"),
    ("AB=1 curl x", "curl"),
)
AROUND: Final = (
    *("{}", "ls && {}", "a | {}", "( {} )", "if x; then {}; fi", "for i in 1; do {}; done"),
    *("x=$({})", 'echo "$({})"', "f() {{ {}; }}", "case a in b) {};; esac", "[[ a ]] && {}"),
    *("{{ {}; }} > f", "diff <({}) b", "cat <<E\n$({})\nE", "! {}", "a=(1 $({}))", "{} &"),
    *("time -p {}", "! time -p -- {}", "time -p if {}; then y; fi", "a=(1 # )\n); {}"),
    *("{{fd}}>f {}", "3\\\n>f {}", "{{f\\\nd}}<f {}", "{{a[0]}}>>f {}"),
    *("cat <<'E'\n)'\"\nE\n{}", "`{}`", "((1)) || {}", "while {}; do y; done", "x # '\n{}"),
)


def verdict(text: str, rule: str, do: str = "deny") -> str:
    found = policies(rules((f"Bash({rule})", do), ("Bash", "allow")))
    return outcome(bash(text), found, Mode.DEFAULT).verdict.value


def dressed(command: str, seed: int) -> str:
    """Write the letters of a command in other ways that are the same to bash."""
    chosen = random.Random(seed)
    ways = (
        *("{0}", "{0}", "'{0}'", '"{0}"', "\\{0}", "\\\n{0}", "''{0}", '{0}""', "$'{0}'"),
        *("$'\\x{1:02x}'", "$''{0}"),
    )
    found = ""
    for each in command:
        kept = each in " /=" or each.isupper()
        found += each if kept else chosen.choice(ways).format(each, ord(each))
    return found.replace("=", "\\\n=") if seed % 2 else found


@given(st.sampled_from(COMMANDS), st.sampled_from(AROUND), st.integers(0, 10_000))
def test_quotes_backslashes_and_joined_lines_change_nothing(
    case: tuple[str, str], around: str, seed: int
) -> None:
    command, rule = case
    written = dressed(command, seed)
    if around[0] == "`":
        written = written.replace("\\", "\\\\")
    text = around.format(written)
    for do in ("deny", "ask"):
        assert verdict(text, rule, do) == do, text


HOLES: Final = (
    "$X",
    '"$X"',
    "${{X}}",
    "${{X:-{0}}}",
    "$(x)",
    "`x`",
    "*",
    "?",
    "[{0}]",
    "{{{0},y}}",
)


@given(st.sampled_from(COMMANDS), st.sampled_from(AROUND[:-3]), st.data())
def test_what_the_shell_computes_is_never_less_than_asked(
    case: tuple[str, str], around: str, data: st.DataObject
) -> None:
    command, rule = case
    start = data.draw(st.integers(0, len(command) - 1))
    end = data.draw(st.integers(start + 1, min(start + 4, len(command))))
    part = command[start:end]
    if " " in part or "/" in part or "=" in part:
        return
    hole = data.draw(st.sampled_from(HOLES)).format(part)
    text = around.format(command[:start] + hole + command[end:])
    for do in ("deny", "ask"):
        assert verdict(text, rule, do) != "allow", text


@pytest.mark.parametrize(
    "text",
    [
        *("time -p $X", "time { $X; }", "! $X", "f+() { $X; }", "$A\\\nb c"),
        "cat <<EE\nE\\\nE\n$X",
        *("$X", "env $X", "sudo -n $X", "xargs $X", "/usr/bin/$X a", "`x`", "c$X", "{x,y}"),
        *("eval $X", 'eval "$(x)"', "builtin eval $X", "bash -c $X", "env bash -c '$X a'"),
        *("find . -name sh -exec bash -c '$X' ';'", "timeout 5 sh -c 'x; $X'", "env -S '$X a'"),
        *("x | sh", "x < f; sh", "(x) | sh", "while x; do sh; done < f", "sh <(x)", ". <(x)"),
        *("bash $X", "source $X", "xargs env", "xargs sh -c", "xargs -I{} sh -c 'x {}'"),
        *("alias p=$X; p", "alias p='$X'; p", "trap $X EXIT", "trap '$X' EXIT", "hash -p x y"),
        *("sh <<E\n$(x)\nE", "sh <<< $X", "ssh host '$X'", "x <<E | sh\ny\nE"),
    ],
)  # fmt: skip
def test_what_has_nothing_literal_to_run_asks(text: str) -> None:
    for do in ("deny", "ask"):
        assert verdict(text, "curl", do) == "ask"


@pytest.mark.parametrize(
    "text",
    [
        *("alias p='ls -l'; p", "trap 'rm -f x' EXIT", "bash x.sh", "bash $X/x.sh", ". ~/.x"),
        *("eval 'ls'", "bash -c 'ls $X'", "echo ls | sh", "sh <<E\nls\nE", "xargs ls", "xargs"),
        *("$X/bin/ls", "env A=$X ls", "timeout 5 ls $X", "find . -name $X", "x=$X", "x $(y)"),
        *("[[ $X ]]", "(( X ))", "for x in $X; do ls; done", "case $X in a) ls;; esac"),
    ],
)
def test_what_names_its_programs_runs_next_to_a_rule_about_another(text: str) -> None:
    for do in ("deny", "ask"):
        assert verdict(text, "curl", do) == "allow"


@pytest.mark.parametrize(
    "text",
    [
        *("ls " + "a" * 16_384, "ls \0", "ls \ud800", "env" + " a" * 8_000, "ls {1..99999}"),
        *("ls " + "{a,b}" * 400, "$(" * 100 + ")" * 100, "x; " * 5_000, "ls 'a", 'ls "a'),
        *("xargs " * 2_000, "eval '" * 500),
    ],
    ids=str,
)
@pytest.mark.clock
def test_odd_and_heavy_texts_ask_and_none_hangs(text: str) -> None:
    start = time.process_time()
    for do in ("deny", "ask"):
        assert verdict(text, "curl", do) == "ask"
    assert time.process_time() - start < 5


@pytest.mark.parametrize("line", GIVEN_UP.read_text().splitlines())
def test_what_is_given_up_stands_in_one_file(line: str) -> None:
    case = json.loads(line)
    assert set(case) == {"kind", "text", "deny", "before", "now"}
    assert case["kind"] in KINDS + PATH_KINDS
    if case["kind"] in PATH_KINDS:
        return
    assert case["before"] != case["now"]
    found = policies(f'deny = ["Bash({case["deny"]})"]\n' + rules(("Bash", "allow")))
    assert outcome(bash(case["text"]), found, Mode.FORCE).verdict.value == case["now"]


def test_little_is_given_up() -> None:
    assert len(GIVEN_UP.read_text().splitlines()) <= GIVEN_UP_MAX


def test_lint_says_what_a_rule_that_names_an_option_cannot_hold() -> None:
    text = 'deny = ["Bash(rm -rf)", "Bash(git push)", "Bash(find -delete)"]\n'
    text += '[[rule]]\nmatch = "Bash(git push --force -f)"\ndo = "ask"\n'
    found = list(lint(parse(text, "/p.toml", Level.USER, ParseContext(PLACES, {}))))
    assert [finding.kind for finding in found] == ["partial"] * 3
    other = ", but no other name of it, short or long"
    assert [finding.text for finding in found] == [
        f"`Bash(rm -rf)` holds `-rf` in every order and bundling{other}",
        f"`Bash(find -delete)` holds `-delete` in every place{other}",
        "`Bash(git push --force -f)` holds `--force` in every place and shortened and"
        f" `-f` in every order and bundling{other}",
    ]


@rows(("text", "rule"), [
    *(("rm --recursive --force x", "rm -rf"), ("git push -f", "git push --force")),
    *(("find . -dele", "find -delete"), ("find . -eltd", "find -delete")),
])  # fmt: skip
def test_what_lint_says_is_not_held_is_not(text: str, rule: str) -> None:
    assert verdict(text, rule) == "allow"


COMPUTED: Final = "$(rev<<<mr) F"


@rows("runner", [
    *("env -u X", "env -C .", "exec -a x", "builtin exec -a x", "timeout -s INT 1", "stdbuf -o L"),
    *("taskset -c 0-1", "/usr/bin/time -o x", "strace -o x", "unshare -w .", "find F -exec"),
    *("env -u X env -u Y", "nice env -u X", "xargs env -u X", "find F -exec env -u X", "time -p"),
])  # fmt: skip
def test_a_computed_program_behind_values_of_options_asks(runner: str) -> None:
    assert verdict(f"{runner} {COMPUTED}", "rm") == "ask"


@rows("text", [
    *("perf stat {}", "perf record -g -- {}", "npm exec -- {}", "uv run {}"),
    *("mise exec n@20 -- {}", "kubectl exec p -- {}", "docker exec c {}", "docker run img {}"),
    *("taskset 0x3 {}", "flock f {}", "git bisect run {}", "strace -f sudo {}", "fd -x {}"),
    *("jobs -x {}", "flock f env A=1 {}"),
])  # fmt: skip
def test_what_a_runner_starts_is_never_less_than_asked(text: str) -> None:
    for computed in ("$(rev<<<mr) F", "$X", "r$X F", '"$X" F'):
        assert verdict(text.format(computed), "rm") == "ask", computed
    assert verdict(text.format("git $X"), "git push") == "ask"
    assert verdict(text.format("bash -c '$X'"), "rm") == "ask"
    assert verdict(text.format("rm -f x"), "rm") != "allow"


@rows("text", [
    *("cat F > >(bash)", "cat F > >(sh -s)", "exec > >(bash); cat F", "cat F 2> >(env bash)"),
    *("bash < <(cat F)", "curl -o >(bash) x"),
])  # fmt: skip
def test_a_shell_that_reads_from_a_process_asks(text: str) -> None:
    assert verdict(text, "rm") == "ask"
    assert verdict("make > >(tee log) 2>&1", "rm") == "allow"


def test_a_word_that_may_become_what_a_rule_wants_asks_wherever_a_program_may_stand() -> None:
    for text in ("git $X", "git pu$X", "g$X push"):
        assert verdict(f"docker compose exec web {text}", "git push") == "ask", text
    assert verdict("docker compose exec web ls $X", "git push") == "allow"


@rows("text", [
    *("sudo {}", "timeout -k 5 10 {}", "env A=1 {}", "nice -n 5 {}", "xargs -n 1 {}", "watch {}"),
    *("find . -exec {} +", "find . -name x -okdir sudo {} +", "fd -x {}", "command {}"),
    *("docker exec c {}", "docker run img {}", "kubectl exec p -- {}", "exec -cl {}", "npx {}"),
    *("uv run {}", "taskset 0x3 {}", "busybox {}", "timeout -s INT 5 {}", "xargs -0 -n1 {}"),
    *("nohup setsid {}", "jobs -x {}", "npm exec -- {}", "npm exec -y -- {}", "time -p {}"),
    *("builtin command -p {}", "xargs -P4 -I@ {}", "coproc {}", "coproc N {{ {}; }}"),
    *("f() {{ {}; }}", "{} $\\\n(x)", "f () ( {} )", "x # y\n{}", "X=1 {}"),
])  # fmt: skip
def test_what_stands_at_the_head_behind_runners_is_denied(text: str) -> None:
    for command, rule in (("rm -f x", "rm"), ("git -C a push", "git push"), ("/bin/rm x", "rm")):
        assert verdict(text.format(command), rule) == "deny", command


@rows("text", [
    *("sudo -u me {}", "env -u X A=1 {}", "env -C sub {}", "xargs -a list {}", "exec -a x {}"),
    *("docker run --rm img {}", "docker exec -it c {}", "npx -y {}", "chrt -f 10 {}", "strace {}"),
    *("conda run -n e {}", "git bisect run {}", "flock -w 5 f {}", "su me -c {}", "xargs -r {}"),
])  # fmt: skip
def test_behind_an_option_of_which_nobody_knows_whether_it_takes_a_word_it_asks(text: str) -> None:
    for command, rule in (("rm -f x", "rm"), ("git -C a push", "git push"), ("/bin/rm x", "rm")):
        assert verdict(text.format(command), rule) == "ask", command


@rows("text", [
    *("docker exec {} ls", "docker exec -it {} ls", "docker run {} ls", "docker run -n {} i ls"),
    *("kubectl exec {} -- ls", "kubectl exec -c {} p -- ls", "sudo -u {} ls", "sudo -n ls {}"),
    *("env -C {} ls", "env -u {} ls", "xargs -a {} ls", "xargs -r ls {}", "xargs -I {} ls {}"),
    *("flock {} ls", "flock -w 5 {} ls", "timeout {} ls", "taskset {} ls", "strace -o {} ls"),
    *("exec -a {} ls", "exec -ca {} ls", "npm exec -p {} -- ls", "npx -p {} ls", "su {} -c ls"),
    *("coproc {} {{", "coproc {} {{ ls; }}", "coproc {} ( ls )", "{}() {{", "{} () {{ ls; }}"),
    *("{} ( ) ( ls )", "function {} {{ ls; }}", "if x; then {}() {{ ls; }}; fi"),
])  # fmt: skip
def test_a_word_that_is_no_program_or_may_be_none_is_not_denied(text: str) -> None:
    assert verdict(text.format(*["terraform"] * 2), "terraform") == "ask"


@rows("text", [
    *("# terraform", "ls # terraform", "ls\n# rm; terraform apply\nls", "(ls) # terraform"),
    *("{ # terraform\n ls; }", "cat <<E # terraform\nx\nE", "x 'y' # it's a terraform"),
    *("TERRAFORM=1 make", "TERRAFORM+=1", "env TERRAFORM=1 make", "export TERRAFORM=1", "x=1 ls"),
    *("cat terraforms.txt", "ls my_terraform x.terraform", "ls Terraform.md", "X_TERRAFORM=1 x"),
    *("env '' ls", "nice -x '' ls", "env -"),
])  # fmt: skip
def test_what_only_looks_like_a_program_is_not_concerned(text: str) -> None:
    for do in ("deny", "ask"):
        assert verdict(text, "terraform", do) == "allow"


@rows("text", [
    *("x 'y\n# terraform'", "cat <<E\n# terraform\nE", "((1 # terraform\n))", "x #$(terraform)"),
    *("[[ x =~ # terraform\n ]]", "x# terraform", "x \\# terraform", "${x# terraform}"),
    *("x '# terraform", "bash -c 'x # terraform'", "terraform=1 make", "x terraform=1"),
    *("echo TERRAFORM", "a=(# terraform\n)", "x=TERRAFORM", "echo $# terraform"),
    *("echo `# terraform`", "ls $(x # terraform\n)"),
])  # fmt: skip
def test_what_may_be_no_comment_and_what_may_be_a_program_asks(text: str) -> None:
    for do in ("deny", "ask"):
        assert verdict(text, "terraform", do) == "ask"


@rows("text", [
    *("command -v {}", "command -pV {}", "sudo apt-get install {}", "find . -name {}"),
    *("find {}", "find -name {} -delete", "fd {}", "fd -e py {}", "flock f {}", "perf stat {}"),
    "echo {}",
])  # fmt: skip
def test_a_word_behind_a_runner_that_may_be_no_program_asks(text: str) -> None:
    assert verdict(text.format("terraform"), "terraform") == "ask"
    assert verdict(text.format("terraform apply"), "terraform apply") == "ask"


@rows("text", [
    *("terraform-docs .", "nice terraform-docs", "flock f terraform-docs ."),
    *("find . -name x -delete", "find . -name $X", "find -name $X", "find ~ -delete"),
    *("command -v $X", "uv run --python $X x", 'docker run -e A=b -v "$PWD":/x img'),
    *('docker run -v "$PWD":/x img ls', "timeout 5 ls $X", "nice apt-get install $X"),
    *("kubectl exec p -- ls $X", "xargs env A=1 ls", "docker-compose up"),
])  # fmt: skip
def test_what_is_about_something_else_is_not_concerned(text: str) -> None:
    assert verdict(text, "terraform") == "allow"


def test_a_command_with_its_subcommand_in_its_name_is_both() -> None:
    for text, rule, expected in (
        ("docker-compose up", "docker compose", "deny"),
        ("docker-compose up", "docker", "deny"),
        ("git-push origin", "git", "deny"),
        ("terraform-docs .", "terraform docs", "deny"),
    ):
        assert verdict(text, rule) == expected, text


@rows("text", [
    *(r"$'\x{72}m' F", r"$'\x{72m' F", r"r$'\x{00}zz'm F", r"sh -c $'\x{72}m F'", r"r$'\x{6d}' F"),
])  # fmt: skip
def test_an_escape_that_nobody_should_guess_asks(text: str) -> None:
    assert verdict(text, "rm") == "ask"
