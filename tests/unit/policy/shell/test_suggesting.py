import pytest
from tables import rows

from wcore.policy.shell import (
    SUGGESTIONS_MAX,
    PrefixGrant,
    analyse,
    covers,
    lex,
    matches,
    parse_grant,
    suggest,
)
from wcore.policy.shell.coverage import CommandKind
from wcore.policy.shell.option_specs import option_spec
from wcore.policy.shell.project_tasks import DOES_LESS, PROJECT_TASKS, TASK_NEEDED
from wcore.policy.shell.read_only_commands import REACHING_TOOLS, READING_TOOLS
from wcore.policy.shell.read_only_programs import LOOKING_AROUND, READING_PROGRAMS
from wcore.policy.shell.suggestions import suggest_prefix


@rows(
    ("text", "prefix"),
    [
        ("cargo test --lib foo", "cargo test"),
        ("cargo build && cargo build --release", "cargo build"),
        ("cargo test > /dev/null 2>&1", "cargo test"),
        ("RUST_BACKTRACE=1 cargo test", "RUST_BACKTRACE=1 cargo test"),
        ("npm run lint:fix -- x", "npm run lint:fix"),
        ("npm test", "npm test"),
        ("go test ./...", "go test"),
        ("make check", "make check"),
        ("./gradlew test --info", "./gradlew test"),
        ("pytest -q tests", "pytest"),
        ("python3 -m pytest -q", "python3 -m pytest"),
        ("uv run pytest -q", "uv run pytest"),
        ("tox -e lint", "tox -e lint"),
    ],
)
def test_a_runner_of_the_projects_code_is_offered_down_to_its_task(text: str, prefix: str) -> None:
    assert suggest(text) == [prefix]
    assert suggest(analyse(text)) == [prefix]
    offered = suggest_prefix(lex(text).commands[0])
    assert offered is not None
    assert (offered.text, offered.kind) == (prefix, CommandKind.PROJECT_CODE)


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("git log --oneline", "git log"),
        ("git status && git status -s", "git status"),
        ("git stash list", "git stash list"),
        ("git worktree list --porcelain", "git worktree list"),
        ("ls -la", "ls"),
        ("/usr/bin/git log", "/usr/bin/git log"),
        ("grep -rn 'a b' src", "grep"),
        ("sort -u a.txt", "sort"),
        ("find . -name '*.c'", "find"),
    ],
)
def test_a_command_that_reads_is_offered_with_all_its_subcommands(text: str, prefix: str) -> None:
    assert suggest(text) == [prefix]
    offered = suggest_prefix(lex(text).commands[0])
    assert offered is not None
    assert (offered.text, offered.kind) == (prefix, CommandKind.READS)


def test_what_looks_at_other_processes_or_through_a_network_is_offered_to_the_letter_only() -> None:
    for key in (*LOOKING_AROUND, *REACHING_TOOLS):
        for text in (key, f"{key} x", f"{key} -o wide", f"/usr/bin/{key} x"):
            assert suggest(text) == [], text
    for text in ("cargo run", "cargo run --bin x", "cargo run --example y -- z"):
        assert suggest(text) == [], text


@rows(
    "text",
    [
        *("bash ci.sh", "sh -c 'ls'", "eval ls", "exec ls", ". ./x", "source x", "env cargo test"),
        *("env A=1 cargo", "sudo ls", "doas ls", "xargs ls", "nohup cargo test", "nice cargo"),
        *("setsid x", "timeout 5 cargo test", "watch ls", "setarch x86_64 true", "linux64 true"),
        *("ssh-agent true", "/lib64/ld-linux-x86-64.so.2 /bin/true", "busybox.static true"),
        *("hyperfine ls", "xvfb-run ls", "perf stat ls", "valgrind ls", "nix-shell", "tini ls"),
        *("pipenv run x", "direnv exec . x", "cross-env A=1 x", "java X", "julia x", "R", "m4 x"),
        *("python3 -c 'x'", "python3", "python3 -", "python3 x.py", "node x.js", "perl -e 1"),
        *("awk '{print}' x", "sed -n p x", "ssh host ls", "strace ls", "./build.sh", "./ls"),
        *("git", "git -C x status", "git -c a=b log", "git push", "git clean -n", "git reset x"),
        *("git checkout x", "git fetch", "git stash", "git ls-remote .", "git commit -m x"),
        *("npm", "npm run", "npm exec x", "npm ci", "npx x", "npx eslint", "docker"),
        "docker run x",
        *("docker compose", "docker exec a b", "kubectl exec a", "kubectl apply -f x", "go run ."),
        *("make", "make -j4", "make A=b", "cargo", "cargo publish --dry-run", "cargo install x"),
        *("terraform plan", "aws s3 rm x", "gh pr merge 3", "gh repo delete x", "psql -l"),
        *("sqlite3 a.db .tables", "git config a b", "npm run $X", "npm run bash", "rm -rf x"),
        *("curl x", "chmod x", "mv a b", "tee x", "time cargo", "parallel x", "tar tf a", "man ls"),
        *("less a", "split a", "uniq a b", "sort -o a b", "unknown-tool x", "python3 -m timeit x"),
        *("xxd a b", "rg --pre x y", "git grep -O x", "git diff --output=x", "cd sub", "zip a b"),
        *("poetry run git log", "uv run rm x", "cargo $X", "git $X", "make $X", "gcc a.c"),
    ],
)  # fmt: skip
def test_nothing_is_offered_for_what_stands_in_neither_list(text: str) -> None:
    assert suggest(text) == []


@rows(
    "text",
    [
        *("", "#", "cargo test; ls", "cargo test && rm x", "ls $(x)", "ls > x", "ls &", "(ls)"),
        *("if ls", "'git' log", "git 'log'", "$A test", "l*", "A=1 ls", "LD_PRELOAD=x ls"),
        *("PATH=x ls", "A=1", "printf -v x y", "test -v x", "ls\0", "ls \ud800", "ls 'x"),
        *("cd a && ./run.sh", "x" * 20_000),
    ],
)  # fmt: skip
def test_nothing_is_offered_for_a_text_that_no_one_prefix_can_cover(text: str) -> None:
    assert suggest(text) == []
    assert suggest(analyse(text)) == []


def test_every_suggestion_is_honoured_and_covers() -> None:
    for text in ("cargo test", "npm run a && npm run a b", "echo a; echo b", "RUST_LOG=x ls -l"):
        found = suggest(text)
        assert 0 < len(found) <= SUGGESTIONS_MAX
        for suggestion in found:
            grant = parse_grant(suggestion)
            assert isinstance(grant, PrefixGrant)
            assert grant.text == suggestion
            assert covers(text, [grant]).covered
            assert matches(analyse(text), [grant]).covered


@rows("key", [*READING_PROGRAMS, *READING_TOOLS])
def test_a_module_of_python_is_never_offered_as_reading(key: str) -> None:
    for python in ("python3", "python", "/usr/bin/python3.12"):
        assert suggest(f"{python} -m {key}") == []
        assert suggest(f"{python} -m {key} a") == []


@rows("key", [key for key in DOES_LESS if key not in TASK_NEEDED])
def test_a_prefix_names_the_option_without_which_more_would_be_done(key: str) -> None:
    spec = option_spec(PROJECT_TASKS[key])
    for option in DOES_LESS[key]:
        shown = "-" + option.lstrip("-") if spec.single_dash else option
        if option not in spec.known:
            continue  # asks anyhow
        assert suggest(f"{key} {shown}") == [f"{key} {shown}"], option
        assert suggest(f"{key} -- {shown}") in ([f"{key} -- {shown}"], []), option
        assert suggest(f"{key} a {shown}") == [], option
        assert not covers(key, [granted(f"{key} {shown}")]).covered


@rows("key", sorted(TASK_NEEDED))
def test_a_task_is_not_offered_where_it_was_only_shown(key: str) -> None:
    for option in DOES_LESS[key]:
        assert suggest(f"{key} x {option}") == suggest(f"{key} {option} x") == [], option
    assert suggest(f"{key} x") == [f"{key} x"]


@rows(
    ("text", "prefix"),
    [
        ("cargo fmt --all -- --check", "cargo fmt --all -- --check"),
        ("ruff format --check --diff src", "ruff format --check"),
        ("npx tsc --noEmit", None),
        ("tsc --noEmit -p tsconfig.json", "tsc --noEmit"),
        ("pytest -qh a b -h", "pytest -qh"),
        ("cargo test -- --list", "cargo test -- --list"),
        *((text, None) for text in ("cargo fmt", "ruff format .", "ruff format . --check")),
        *(
            (text, None)
            for text in ("cargo fmt -p a -- --check", "tsc --noEmit false", "make -kn x")
        ),
        *(
            (text, None)
            for text in ("tsc --noEmit null", "tsc --noEmit true", "tsc --noEmit -p x null")
        ),
        *((text, None) for text in ("make x --dry")),
    ],
)
def test_what_is_offered_does_no_more_than_what_was_shown(text: str, prefix: str | None) -> None:
    assert suggest(text) == ([] if prefix is None else [prefix])


def granted(text: str) -> PrefixGrant:
    grant = parse_grant(text)
    assert isinstance(grant, PrefixGrant)
    return grant
