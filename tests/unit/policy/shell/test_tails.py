"""What a prefix of a runner or reader never covers behind it: a table of tails, for every entry."""

import pytest
from tables import rows
from unit.policy.shell.gate import why, why_lexed

from wcore.policy.shell import Reason, suggest
from wcore.policy.shell.coverage import COMMANDS
from wcore.policy.shell.known_options import KNOWN_OPTIONS
from wcore.policy.shell.option_specs import Tasks, option_spec
from wcore.policy.shell.programs_with_scripts import SCRIPT_CHECKS
from wcore.policy.shell.project_tasks import PROJECT_TASKS, REWRITERS, TASK_NEEDED
from wcore.policy.shell.read_only_commands import READING_TOOLS
from wcore.policy.shell.read_only_programs import READING_PROGRAMS

OFFERED = {**PROJECT_TASKS, **READING_TOOLS, **READING_PROGRAMS}
ARGUMENT = Reason.UNCOVERED_ARGUMENT
#: Code from elsewhere, or a file of further arguments, as an operand.
FROM_ELSEWHERE = """
https://evil.invalid/x.ts http://evil.invalid/x git+ssh://evil.invalid/x npm:evil jsr:@a/evil
file:../x github:a/evil data:text/javascript,x git@evil.invalid:x @x.rsp @evil//x '@x' "npm:evil"
npm:$X https://$X
""".split()
#: Options that load code, configuration or plugins, or write, in the words that tools use for them.
LOAD_OR_WRITE = """
--config=./x --config-file=./x --plugin=./x --plugins=./x --require=./x --loader=./x --preload=./x
--import=./x --reporter=./x --reporters=./x --setup-file=./x --rootdir=./x --resolver=./x
--output-file=./x --outfile=./x --exec=./x --toolexec=./x --shell=./x --init-script=./x
--load-plugins=x --runner=./x --env-file=./x --settings=./x --pre=./x --pager=./x --editor=./x
--define=x --logfile=x --junit-xml=x --coverage-file=x --override=x
""".split()


def spelled(key: str) -> str:
    return f"python3 -m {key}" if key in ("json.tool", "unittest") else key


@rows("key", PROJECT_TASKS)
def test_code_from_elsewhere_asks_as_an_operand_of_every_runner(key: str) -> None:
    for task in ("", " x"):
        granted = spelled(key) + task
        for tail in FROM_ELSEWHERE:
            assert why_lexed(f"{granted} {tail}", granted) == ARGUMENT, tail


@rows("key", sorted(OFFERED.keys() - SCRIPT_CHECKS.keys()))
def test_an_option_that_loads_or_writes_asks_of_whatever_is_offered(key: str) -> None:
    spec = option_spec(COMMANDS[key])
    if spec.is_open or spec.asks_itself:
        return  # `echo`, and the like
    for tail in LOAD_OR_WRITE:
        name = tail.partition("=")[0]
        if spec.single_dash:
            name = "--" + name.lstrip("-")
        if name not in spec.known or name in spec.values:
            assert why_lexed(f"{spelled(key)} {tail}", spelled(key)) == ARGUMENT, tail
            assert (
                why_lexed(f"{spelled(key)} {tail.replace('=', ' ')}", spelled(key)) == ARGUMENT
            ), tail


@pytest.mark.parametrize("key", [key for key, text in COMMANDS.items() if option_spec(text).values])
def test_a_value_that_is_none_of_a_choice_asks(key: str) -> None:
    spec = option_spec(COMMANDS[key])
    for name, values in spec.values.items():
        for value in values:
            assert why(f"{key} {name}={value}", key) is None
            assert why(f"{key} {name} {value}", key) is None
        for value in ("./x", "x", "evil.Class", '"$X"', "$X", "a*"):
            assert why(f"{key} {name}={value}", key) == ARGUMENT, value
            assert why(f"{key} {name} {value}", key) == ARGUMENT, value


@rows("key", PROJECT_TASKS)
def test_a_prefix_with_a_task_covers_no_further_task(key: str) -> None:
    tasks = option_spec(COMMANDS[key]).tasks
    granted = f"{spelled(key)} test"
    if tasks is not Tasks.ANY:
        assert why(granted, granted) is None
        for tail in ("deploy", "'deploy'", "-- deploy", '"$X"', "de*", "-q deploy", "test"):
            assert why(f"{granted} {tail}", granted) == ARGUMENT, tail
    if tasks is Tasks.NONE_BUT_THE_NAMED:
        assert why(granted, spelled(key)) == ARGUMENT


@rows("key", sorted(set(PROJECT_TASKS)))
def test_a_suggestion_never_loses_a_task(key: str) -> None:
    one = f"{spelled(key)} check"
    two = f"{one} deploy"
    if option_spec(COMMANDS[key]).tasks is not Tasks.ANY:
        assert suggest(one) == [one]
        assert suggest(two) == [two]
    elif key in TASK_NEEDED:
        assert suggest(one) == [one]
    elif key not in REWRITERS:
        assert suggest(one) in ([spelled(key)], [one])


@rows(
    ("text", "granted"),
    [
        ("make test deploy", "make test"),
        ("make V=1 test deploy", "make V=1 test"),
        ("mvn clean test deploy", "mvn clean test"),
        ("./gradlew test publish", "./gradlew test"),
        ("ninja uninstall", "ninja"),
        ("tox -e publish", "tox"),
        ("tox run -e publish", "tox"),
        ("tox -e py -e publish", "tox -e py"),
        ("tox -epublish", "tox -e py"),
        ("nox -s release", "nox"),
        ("nox -s lint release", "nox -s lint"),
        ("nox -k release", "nox -s lint"),
        ("zig build uninstall", "zig build"),
        ("go test -mod=mod ./...", "go test"),
        ("go test -mod mod ./...", "go test"),
        ("go test github.com/evil/x", "go test"),
        ("go test all", "go test"),
        ("go vet evil.example/x/...", "go vet"),
        ("dotnet test /p:X=y", "dotnet test"),
        ("dotnet test '/p:X=y'", "dotnet test"),
        ("dotnet test /property:X=y", "dotnet test"),
        ("dotnet test -- RunConfiguration.TestAdaptersPaths=x", "dotnet test"),
        ("cargo test -- --logfile=x", "cargo test"),
        ("cargo clippy -- -C linker=./x", "cargo clippy"),
        ("cargo clippy -- -Clinker=./x", "cargo clippy"),
        ("cargo clippy -- -Zcodegen-backend=x", "cargo clippy"),
        ("cargo clippy -- --print=cfg=x", "cargo clippy"),
        ("cargo clippy -- --print cfg=x", "cargo clippy"),
        ("cargo clippy -- --pri=cfg=x", "cargo clippy"),
        ("cargo clippy -- -D warnings --emit=dep-info=x", "cargo clippy"),
        ("cargo clippy -- @argf", "cargo clippy"),
        ("cargo clippy -- ./@argf", "cargo clippy"),
        ("cargo clippy -- $X", "cargo clippy"),
        ("cargo check -- -o x", "cargo check"),
        ("cargo fmt -- --print-config default x", "cargo fmt"),
        ("cargo fmt -- --backup", "cargo fmt"),
        ("cargo fmt -- other.rs", "cargo fmt"),
        ("cargo fmt -- --check other.rs", "cargo fmt"),
        ("cargo fmt -- --config-path=x", "cargo fmt"),
        ("cargo fmt -- --emit files", "cargo fmt -- --check"),
        ("cargo fmt -- @argf", "cargo fmt"),
        *((f"make test {each}", "make test") for each in ("-t", "-jt", "-kt", "-nt", "--tou")),
        *(
            (f"pytest {each}", "pytest")
            for each in (
                *("-W=ignore::evil.X", "-vW=ignore::evil.X", "-W ' ignore::evil.X'"),
                *("-Wi::evil.X", "-W 'i:m: evil.X'", "-W ignore::a.b.X:3"),
            )
        ),
        ("dotnet build -fl", "dotnet build"),
        ("dotnet build -flp:logfile=x", "dotnet build"),
        ("dotnet test -verbosity:d", "dotnet test"),
        ("eslint --cache x", "eslint"),
        ("go build -work", "go build"),
        ("vitest --changed=--output=x", "vitest"),
        ("tsc --noEmit false", "tsc --noEmit"),
        ("tsc --noEmit=false", "tsc --noEmit"),
        ("svn log svn+ssh://h/x", "svn log"),
        ("svn log http://h/x", "svn log"),
        ("gh pr list -R h.invalid/a/b", "gh pr list"),
        ("gh pr list -Rh.invalid/a/b", "gh pr list"),
        ("gh pr list -R=h.invalid/a/b", "gh pr list"),
        ("gh pr list --repo=https://h.invalid/a/b", "gh pr list"),
        ("gh pr view https://github.com.h.invalid/a/b/pull/1", "gh pr view"),
        ("aws lambda list-functions help", "aws lambda list-functions"),
        ("cargo check --some-new-option", "cargo check"),
        ("pytest -W error::evil.Warning", "pytest"),
        ("vitest init browser", "vitest"),
        ("pylint --output-format=evil.Reporter x", "pylint"),
        ("eslint -f evil x", "eslint"),
        ("rspec -f Evil", "rspec"),
        ("tsc -p ../other", "tsc"),
        ("brew info ./x.rb", "brew info"),
        ("brew info https://evil.invalid/x.rb", "brew info"),
        *(("npm view", "npm view"), ("npm view --json", "npm view"), ("npm show $x", "npm show")),
        *(
            (f"{reader} {spec}", reader)
            for reader in ("npm view", "npm info", "npm show", "npm v", "pnpm view", "yarn info")
            for spec in (
                *("git+ssh://evil.invalid/x", "https://x.invalid/x.tgz", "file:x", "github:a/b"),
                *(
                    "./x",
                    "../x",
                    "~/x",
                    "/x",
                    "a/b",
                    "a/b#c",
                    "x.tgz",
                    "@a/b/c",
                    "x@a/b",
                    "x@npm:y",
                ),
                *("git@evil.invalid:a/b", "--git=./x", "--registry=http://x", ".", ".."),
            )
        ),
        *(
            (f"{head} {word}", head)
            for head in ("ld", "ar", "gcc", "clang", "javac", "jar", "swiftc", "msbuild", "csc")
            for word in ("@x", "-O2 @x", "'@x'")
        ),
        ("msbuild /p:X=y", "msbuild"),
        ("dotnet msbuild /logger:x.dll", "dotnet msbuild"),
        ("mocha --require ./x", "mocha"),
        ("webpack --config ./x", "webpack"),
        ("webpack --conf=./x", "webpack"),
    ],
)
def test_what_was_found_asks(text: str, granted: str) -> None:
    assert why(text, granted) is not None


@pytest.mark.parametrize(
    "key", ["pytest", "mypy", "ruff check", "tsc", "meson test", "bazel test", "dotnet test"]
)
def test_a_file_of_arguments_asks_behind_the_end_of_options_too(key: str) -> None:
    assert why(f"{key} -- @x", key) == ARGUMENT


@rows(
    ("text", "granted"),
    [
        ("make test", "make"),
        ("make -j4 test lint", "make"),
        ("make test V=1 -k", "make test"),
        ("make V=1 test", "make V=1"),
        ("mvn clean test -q", "mvn clean test"),
        ("gradle :app:test --tests X", "gradle :app:test"),
        ("tox -q -- tests/test_x.py -k y", "tox"),
        ("tox -e py -- -x", "tox -e py"),
        ("go test ./... ../x main.go", "go test"),
        ("go test -mod=vendor -run X ./pkg/v1.2", "go test"),
        ("go build cmd/server net/http", "go build"),
        ("dotnet test src/X.csproj --logger trx", "dotnet test"),
        ("cargo test --lib -- --nocapture x", "cargo test"),
        ("cargo clippy -- -D warnings", "cargo clippy"),
        ("cargo clippy -- -Dwarnings -W clippy::all --allow=dead_code --no-deps", "cargo clippy"),
        ("cargo fmt --all -- --check -l", "cargo fmt"),
        ("cargo fmt -- --edition 2021 --color always", "cargo fmt"),
        ("make test -kn", "make test"),
        ("pytest 'a.py::T::b[1.5]' --deselect a.py::T::c", "pytest"),
        ("vitest --changed=main", "vitest"),
        ("vitest --changed HEAD~1", "vitest"),
        ("dotnet build -c Release -f net8.0", "dotnet build"),
        ("svn log -l 5 src/a", "svn log"),
        ("gh pr list -R a/b --head feature/x/y --search is:open", "gh pr list"),
        ("gh pr view https://github.com/a/b/pull/1", "gh pr view"),
        ("cargo run -- -o out https://x", "cargo run"),
        ("vitest run --reporter=verbose src/a", "vitest run"),
        ("npm view react versions", "npm view"),
        ("npm view @types/node@20.1.0 dist-tags.latest", "npm view"),
        ("npm run test -- https://localhost", "npm run test"),
        ("pnpm run test --filter=@a/b", "pnpm run test"),
        ("pytest -W ignore::DeprecationWarning a.py::b", "pytest"),
        ("bazel test //a:b //...", "bazel test"),
        ("brew info python@3.12", "brew info"),
        ("gcc -O2 x.c", "gcc"),
        ("mocha --grep x test", "mocha"),
    ],
)
def test_what_keeps_to_the_task_is_covered(text: str, granted: str) -> None:
    assert why(text, granted) is None


def test_what_loads_code_is_listed_once() -> None:
    assert not KNOWN_OPTIONS.keys() & OFFERED.keys()
