from itertools import product

import pytest
from tables import rows
from unit.policy.shell.gate import why, why_lexed

from wcore.policy.shell import (
    PrefixGrant,
    PrefixGrantRefused,
    Reason,
    analyse,
    note_of,
    parse_grant,
)
from wcore.policy.shell.coverage import COMMANDS, GROUPS, CommandKind
from wcore.policy.shell.option_specs import OptionArgument, OptionSpec, option_spec
from wcore.policy.shell.programs_with_scripts import SCRIPT_CHECKS
from wcore.policy.shell.project_tasks import TASK_GROUPS
from wcore.policy.shell.read_only_commands import TOOL_GROUPS
from wcore.policy.stops import scan

SPECS = {
    key: option_spec(text)
    for key, text in COMMANDS.items()
    if key not in SCRIPT_CHECKS and not option_spec(text).asks_itself
}
ARGUMENT = Reason.UNCOVERED_ARGUMENT


def spelled(key: str) -> str:
    return f"python3 -m {key}" if key in ("json.tool", "unittest") else key


def dashed(spec: OptionSpec, name: str) -> str:
    return name[1:] if spec.single_dash else name


def test_every_line_of_the_tables_can_be_read() -> None:
    for key, text in (*COMMANDS.items(), *GROUPS.items()):
        spec = option_spec(text)
        assert not spec.known.keys() & spec.asks.keys(), key
        assert not (spec.is_harmless and spec.asks), key
        if spec.hands_on or spec.operands_max is not None:
            assert not spec.is_open or spec.single_dash, key  # its operands could not be told
        assert key not in COMMANDS or isinstance(parse_grant(spelled(key)), PrefixGrant), key


def test_no_table_says_what_another_says() -> None:
    assert not TOOL_GROUPS.keys() & TASK_GROUPS.keys()
    assert not (TOOL_GROUPS.keys() | TASK_GROUPS.keys()) & COMMANDS.keys()


@rows("key", SPECS)
def test_an_option_that_does_harm_asks_in_every_spelling(key: str) -> None:
    spec, command = SPECS[key], spelled(key)
    for name, takes in spec.asks.items():
        option = dashed(spec, name)
        forms = [option, f"'{option}'", f"{option} x", f"x {option} x", f"{option}$X", f"{option}*"]
        if name.startswith("--"):
            forms += [f"{option}=x", f'{option}="$X"']
            shorter = (option[:end] for end in range(3, len(option)))
            forms += [
                short for short in shorter
                if not spec.single_dash and not _means_another(spec, short)
            ]  # fmt: skip
        elif takes is not OptionArgument.NOTHING:
            forms += [f"{option}x"]
        for form in forms:
            if spec.hands_on and form.startswith("x "):
                continue
            assert why_lexed(f"{command} {form}", command) == ARGUMENT, form


def _means_another(spec: OptionSpec, short: str) -> bool:
    """Whether a program may read a shortened name as an option that does no harm."""
    return short in spec.known


@rows("key", SPECS)
def test_a_letter_that_does_harm_asks_among_others(key: str) -> None:
    spec, command = SPECS[key], spelled(key)
    if spec.single_dash:
        return
    letters = [name[1] for name in spec.asks if len(name) == 2]
    before = [name[1] for name, takes in spec.known.items()
              if len(name) == 2 and takes is OptionArgument.NOTHING]  # fmt: skip
    for harmless, letter in product(before, letters):
        assert why_lexed(f"{command} -{harmless}{letter}", command) == ARGUMENT
        assert why_lexed(f"{command} -{harmless}{letter}x", command) == ARGUMENT


@rows("key", SPECS)
def test_an_option_that_no_list_names_asks_of_what_only_reads(key: str) -> None:
    spec, command = SPECS[key], spelled(key)
    if not spec.is_open:
        for word in ("--no-such-option", "--no-such-option=x", "-\N{SECTION SIGN}"):
            assert why_lexed(f"{command} {word}", command) == ARGUMENT


@rows("key", SPECS)
def test_a_harmless_option_is_covered(key: str) -> None:
    spec, command = SPECS[key], spelled(key)
    for name, takes in spec.known.items():
        option = dashed(spec, name)
        chosen = next(iter(spec.values.get(name, "x")))
        value = {
            OptionArgument.VALUE: f" {chosen}",
            OptionArgument.NOTHING: "",
            OptionArgument.ATTACHED: "",
        }[takes]
        if spec.value_pattern is None and spec.word_pattern is None:
            operands = " x" * spec.operands_min
            assert why(f"{command} {option}{value}{operands}", command) is None, option


@rows("key", sorted(SPECS.keys() - {"printf", "test", "["}))
def test_a_word_that_may_become_an_option_asks_where_one_does_harm(key: str) -> None:
    spec, command = SPECS[key], spelled(key)
    for word in ("$X", '"$X"', "*", "?x", "{a,-x}", "$X/a", "[a-]x"):
        expected = None if spec.is_harmless else ARGUMENT
        assert why(f"{command} {word}", command) == expected, word


@rows(
    ("text", "granted"),
    [
        ('sort ./* "src/$X" ~/x', "sort"),
        ('sort "$HOME/x"', "sort"),
        ("sort -- * $X", "sort"),
        ("sort -o x a", "sort -o"),
        ("sort -o y -u", "sort -o"),
        ("git -c core.pager=cat log -3", "git -c core.pager=cat log"),
        ("git log -- *.py", "git log"),
        ('git commit -m "$MESSAGE"', "git commit"),
        ("git --no-pager log -3", "git"),
        ("kubectl -n dev get pods", "kubectl"),
        ("cargo +nightly test", "cargo"),
        ("make CC=clang all", "make CC=clang"),
        ("npm run build -- --prefix x", "npm run build"),
        ("cargo test -- --config x", "cargo test"),
        ("find . -name '*.c' -newer x", "find"),
        ("find . -delete", "find . -delete"),
        ("sed -n '1,5p;$p' a", "sed"),
        ("sed -e 's/a/b/g' -e 's|x|y|' a", "sed"),
        ("sed ':a;N;$!ba;s/a/b/g' a", "sed"),
        ("awk -F: 'NR>1 {print $1}' a", "awk"),
        ("tar tf a.tar", "tar tf"),
        ("timeout 5 sort -u a", "timeout 5 sort"),
        ("xargs grep -l x", "xargs grep"),
        ("xargs sort --", "xargs sort --"),
    ],
)
def test_what_is_named_or_harmless_is_covered(text: str, granted: str) -> None:
    assert why(text, granted) is None


@rows(
    ("text", "granted"),
    [
        ("sort -o x -o y", "sort -o x"),
        ("git -c core.pager=cat -c core.pager=x log", "git -c core.pager=cat"),
        ("git -C sub --no-pager log", "git"),
        ("git log -n1 --output x", "git log"),
        ("git --no-pager log --output=x", "git"),
        ("docker --debug exec a b", "docker"),
        ("kubectl -n dev --kubeconfig x get pods", "kubectl"),
        ("timeout 5 sort -o x", "timeout 5 sort"),
        ("nice git log --output=x", "nice git log"),
        ("xargs sort", "xargs sort"),
        ("xargs git diff", "xargs git diff"),
        ("python3 -m pytest -p x", "python3 -m pytest"),
        ("python3.11 -m json.tool a b", "python3.11 -m json.tool"),
        ("uv run pytest -p x", "uv run pytest"),
        ("/usr/bin/sort -o x", "/usr/bin/sort"),
        ("sort --key -o x", "sort"),
        ("sort -k -o x", "sort"),
        ("git commit --no-such -- --template=x", "git commit"),
        ("sed -l 5 's/a/b/e'", "sed"),
        ("sed 's/[/]/w x/' a", "sed"),
        ("sed -ep -e 'w x'", "sed"),
        ("tar xIf sh a", "tar"),
    ],
)
def test_what_is_hidden_behind_other_words_asks(text: str, granted: str) -> None:
    assert why(text, granted) == ARGUMENT


@rows(
    "text",
    [
        *("setarch", "setarch x86_64", "linux64", "x86_64", "i386", "ssh-agent", "hyperfine ls"),
        *("/lib64/ld-linux-x86-64.so.2 /bin/true", "ld.so x", "ld-musl-x86_64.so.1 x", "ld64.so"),
        *("busybox.static", "busybox.static true", "busybox-musl ls", "toybox ls", "perf stat ls"),
        *("xvfb-run", "dbus-run-session", "valgrind", "watchexec ls", "tini", "chronic", "pee x"),
        *("nix-shell", "pipenv run", "poetry run", "uv run", "direnv exec", "cross-env", "npx"),
        *("prlimit", "taskset", "taskset 1", "chrt 1", "numactl", "/usr/bin/time", "fakeroot"),
        *("rlwrap", "gdb x", "lldb x", "at now", "batch", "entr ls", "parallel ls", "su x"),
        *("find . -exec", "find . -exec rm", "docker exec", "docker run", "docker run x"),
        *("kubectl exec", "git bisect run", "git submodule foreach", "coverage run", "go tool"),
        *("python3", "python3 -c", "python3.12", "node -e", "node", "perl -e", "ruby -e", "java"),
        *("python3 -m", "python3 -m timeit", "python3 -m pdb x", "php -r", "Rscript -e", "R"),
        *("bash /./dev/stdin", "bash ./../../../dev/stdin", "bash //dev/stdin", "sh ../dev/fd/0"),
        *("python3 /dev/stdin", "bash /usr/../proc/self/fd/0", "bash.exe", "cmd.exe", "pwsh.exe"),
        *("timeout 5 setarch", "env linux64", "xargs setarch", "nice ld.so x", "m4", "tmux new"),
    ],
)
def test_a_program_that_runs_others_is_not_granted_without_the_other(text: str) -> None:
    assert isinstance(parse_grant(text), PrefixGrantRefused)


@rows(
    "text",
    [
        *("setarch x86_64 make", "linux64 make", "/usr/bin/time make", "taskset 1 make"),
        *("uv run pytest", "npx eslint", "docker exec web ls", "docker run alpine ls"),
        *("python3 x.py", "python3 -m pytest", "java -jar x.jar", "node --version"),
        "direnv exec . x",
    ],
)  # fmt: skip
def test_a_program_that_runs_others_is_granted_with_the_other(text: str) -> None:
    assert isinstance(parse_grant(text), PrefixGrant)


@rows(
    "text",
    [
        *("setarch x86_64 curl x", "linux64 curl x", "ssh-agent curl x", "busybox.static curl x"),
        *("/lib64/ld-linux-x86-64.so.2 /usr/bin/curl x", "hyperfine 'curl x'", "perf stat curl x"),
        *("prlimit --nofile=9 curl x", "taskset -c 1 curl x", "uv run curl x", "npx curl x"),
        *("docker exec web curl x", "valgrind --tool=none curl x", "find . -exec curl x ;"),
        *("timeout 5 setarch i386 curl x", "numactl -N 0 curl x", "git bisect run curl x"),
    ],
)
def test_rules_that_deny_see_what_a_program_runs(text: str) -> None:
    seen = scan(analyse(text))
    assert any(started.program == "curl" for started in (*seen.heads, *seen.possible))


@pytest.mark.parametrize(
    "word", ["{1..9999999999}", "{1..2000}", "{a,b}{1..600}", "{{1..40},x}{1..40}", "{-999..999}",
             "{1..99999999999999999999999999}", "{1..3}{1..30}{1..30}", "{,}" * 10 + "{,}"],
)  # fmt: skip
def test_braces_that_make_more_words_than_a_machine_holds_ask(word: str) -> None:
    assert why(f"echo {word}", "echo") == Reason.BRACE
    assert why(f"echo '{word}'", "echo") is None


def test_braces_that_make_some_words_are_covered() -> None:
    for word in ("{1..1000}", "{a..z}{1..9}", "{a,b,c}.{x,y}", "{}", "x{1..9999999999", "{1..}"):
        expected = Reason.BRACE if "9999999999" in word else None
        assert why(f"echo {word}", "echo") == expected


def test_a_note_says_what_a_prefix_leaves_out() -> None:
    note = note_of(("sort",))
    assert (note.kind, note.runs_project_code) == (CommandKind.READS, False)
    assert "-o" in note.not_covered
    assert "-o" in note.sentences[0]
    assert "-o" not in note_of(("sort", "-o")).not_covered
    runs = "It runs the project's own code"
    assert note_of(("make", "test")).sentences[0] == f"{runs}, in any folder of the workspace."
    assert note_of(("./gradlew", "test")).sentences[0] == f"{runs}."
    assert note_of(("nice", "find")).not_covered[0] == "-exec"
    assert note_of(("unknown-tool",)).sentences == ()
    assert "-c" in note_of(("git",)).not_covered
    assert note_of(("ls",)).sentences == ("It covers options that only read: others ask.",)
