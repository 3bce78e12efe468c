"""Runners of the project's own code, each with the options that keep to that code.

What is not named asks: another makefile, another shell, another configuration, a variable of make,
a plugin, a file to write; what is fetched from elsewhere, a further task than the one named.
`TASK_NEEDED` says of which a prefix must name the task as well, `TASK_OPTIONS` which options do.
"""

from collections.abc import Mapping
from typing import Final

_MAKE: Final = (  # `-jt` is `-j -t`
    "^ &^-[A-NP-Za-z]*[jl][A-Za-z]"
    " @^(?!(?:V|VERBOSE|DEBUG|CI)=[01]?$).*= -bBikLmnpqrsSvw -jlO? -W:"
    " --always-make --ignore-errors --jobs=? --keep-going --load-average=? --max-load=?"
    " --just-print --dry-run --recon --output-sync=? --print-data-base --question --silent --quiet"
    " --no-silent --no-keep-going --stop --trace --print-directory --no-print-directory"
    " --warn-undefined-variables --version --debug=? !-f: !-C: !-I: !-E: !-o: !-e !--file="
    " !--makefile= !--directory= !--include-dir= !--eval= !--environment-overrides !--old-file="
    " !--assume-old= !-t !--touch"
)
_NPM: Final = (
    "-sdq -w: --silent --quiet --verbose --loglevel= --if-present --workspace= --workspaces"
    " --include-workspace-root --no-color --color=? !--script-shell= !--prefix= !--shell= !-C:"
    " !--userconfig= !--globalconfig= !--node-options= !--scripts-prepend-node-path=? !--cache="
    " !--logs-dir= !--location= !-g !--global !--call= !-c:"
)
_PNPM: Final = (
    "-rws -F: --filter= --recursive --parallel --stream --silent --if-present --workspace-root"
    " --aggregate-output --no-bail --workspace-concurrency= !-C: !--dir= !-c !--shell-mode"
    " !--script-shell= !--config= !--global-dir="
)
_YARN: Final = (
    "-s --silent --verbose --json --non-interactive !--cwd= !--use-yarnrc= !--modules-folder="
    " !--script-shell= !--cache-folder="
)
_BUN: Final = (
    "-b --bun --silent --watch --hot --if-present -F: --filter= !--cwd= !--preload= !-r: !-c:"
    " !--config=? !-e: !--eval= !-p: !--print= !--shell= !--env-file="
)
_CARGO: Final = (
    "-vqrd -pFjEe: --verbose --quiet"
    " --release --package= --workspace --all --exclude= --lib"
    " --bins --bin= --examples --example= --tests --test= --benches --bench= --all-targets"
    " --doc --no-run --no-fail-fast --features= --all-features --no-default-features --profile="
    " --jobs= --message-format= --color= --frozen --locked --offline --keep-going"
    " --future-incompat-report --no-deps --document-private-items --check --ignore-rust-version"
    " --target= --depth= --edges= --invert= --prefix= --format-version= --duplicates --charset="
    " --format= --nocapture --no-capture --ignored --include-ignored --exact --list --test-threads="
    " --show-output --skip= --retries= --fail-fast --failure-output= --success-output="
    " --run-ignored= --filter-expr= --no-dedupe"
    " %\\.json$ !--config= !-Z: !-C: !--manifest-path= !--target-dir="
    " !--artifact-dir= !--out-dir= !--lockfile-path= !--fix !--timings=? !--open"
    " !--config-file= !--user-config-file= !--tool-config-file= !--archive-file= !--extract-to="
    " !--filter-platform="
)
#: What may be handed on behind `--`: lints to the compiler; to the formatter, how it shows things.
_LINTS: Final = (
    " @^(?!(?:-[DWAF])?(?:clippy::|rustdoc::)?[a-z][a-z0-9_-]*$|-[DWAF]$|--no-deps$"
    "|--(?:deny|warn|allow|forbid|cap-lints)(?:=[a-z][a-z0-9_:-]*)?$)"
)
_FORMATS: Final = (
    " @^(?!--(?:check|verbose|quiet|files-with-diff)$|-[lqv]$|--edition(?:=\\d{4})?$|\\d{4}$"
    "|--color(?:=[a-z]+)?$|(?:always|never|auto)$)"
)
_GO: Final = (
    "= @\\@|^all$|^[^./][^/]*\\.(?!go$)[^/]*(?:/|$) --v --n --x --a --p= --race --msan --asan"
    " --cover --covermode= --coverpkg= --json --tags= --trimpath --buildvcs=?"
    " --mod={vendor,readonly} --m --u --f= --deps --test --find --e --run= --count= --short"
    " --timeout= --failfast --parallel= --cpu= --bench= --benchtime= --benchmem --list= --skip="
    " --shuffle= --vet= --fullpath --benchsplit= --all --args --i !--exec= !--toolexec= !--o= !--C="
    " !--c !--overlay= !--modfile= !--vettool= !--ldflags= !--gcflags= !--asmflags= !--gccgoflags="
    " !--compiler= !--pkgdir= !--coverprofile= !--cpuprofile= !--memprofile= !--blockprofile="
    " !--mutexprofile= !--trace= !--outputdir= !--fuzz= !--pgo= !--w !--fix !--work"
)
_PYTEST: Final = (
    "@^@ &^(?:-\\w*W=?)?\\s*[a-z]*\\s*:[^:]*:[^:]*\\."
    " -qvxslh -kmrnW: --quiet --verbose --verbosity="
    " --exitfirst --maxfail= --capture= --lf --last-failed --ff --failed-first --nf --sw --stepwise"
    " --collect-only --co --tb= --durations= --durations-min= --showlocals --no-header --no-summary"
    " --strict-markers --strict-config --markers --fixtures --numprocesses= --dist= --timeout="
    " --ignore= --ignore-glob= --deselect= --color= --runxfail --disable-warnings --cache-show=?"
    " --cache-clear --setup-show --reruns= --benchmark-skip --benchmark-only --snapshot-details"
    " --no-cov --cov=? --doctest-modules --show-capture= --version --help --randomly-seed= !-p:"
    " !-c: !-o: !--rootdir= !--confcutdir= !--basetemp= !--override-ini= !--config-file="
    " !--junitxml= !--junit-xml= !--log-file= !--pastebin= !--pdb !--pdbcls= !--trace !--debug=?"
    " !--import-mode= !--pyargs !--cov-report= !--cov-config= !--html= !--report-log="
    " !--result-log= !--log-cli-level="
)
_GRADLE: Final = (
    "^ @= -qisSwah -x: --info --quiet --stacktrace --full-stacktrace --no-daemon --daemon"
    " --parallel"
    " --build-cache --no-build-cache --rerun-tasks --continue --offline --dry-run --warn --tests="
    " --console= --exclude-task= --configuration-cache --max-workers= !--scan !-b: !-c: !-p: !-I:"
    " !-D: !-P: !-g: !-M: !--init-script= !--include-build= !--project-dir= !--build-file="
    " !--settings-file= !--gradle-user-home= !--project-cache-dir= !--system-prop="
    " !--project-prop= !--profile !--write-locks !--write-verification-metadata="
)
_MVN: Final = (
    "^ @: &^-D(?!(?:skipTests|skipITs|test|it\\.test|maven\\.test\\.skip|failIfNoTests)(?:=|$))"
    " -qXBUeoVam -TD: --quiet --offline --errors --debug --update-snapshots --threads="
    " --batch-mode --no-transfer-progress --projects= --also-make !-f: !--file= !-s:"
    " !--settings= !-g !--global-settings= !-t: !--toolchains= !-l: !--log-file= !-P:"
    " !--activate-profiles= !--encrypt-password= !-b: !--builder="
)
_LINT: Final = "-qv --quiet --verbose --version --help --color=? --no-color"
#: The value of `--changed` is handed on to git, where it must not be an option.
_VITEST: Final = (
    "@^(?:init|complete)$ %^- -t: --run --coverage --silent=?"
    " --reporter={default,basic,verbose,dot,json,tap,tap-flat,junit,tree,hanging-process}"
    " --testNamePattern= --bail= --passWithNoTests"
    " --changed=? --no-color --watch=? !-c: !--config= !-r: !--root= !-u !--update=? !--dir="
    " !--outputFile= !--environment= !--api=? !--ui --globals !--plugin= !--pool= !--globalSetup="
    " !--loader= !--require="
)
_RUFF: Final = (
    "@^@ -nqvs --select= --ignore= --extend-select= --extend-ignore= --statistics --diff --check"
    " --preview --no-cache --output-format= --exclude= --extend-exclude= --target-version="
    " --show-files --line-length= --quiet --verbose --silent --exit-zero --exit-non-zero-on-fix"
    " --no-fix --color= --force-exclude --stdin-filename= --show-settings --isolated !--config="
    " !-o: !--output-file= !--fix !--fix-only !--unsafe-fixes !--add-noqa=? !--cache-dir= !-w"
    " !--watch"
)

_OPTIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("make", "gmake"), _MAKE),
    **dict.fromkeys(("npm run", "npm run-script", "npm test", "npm start", "npm t"), _NPM),
    **dict.fromkeys(("pnpm run", "pnpm test", "pnpm start", "pnpm lint", "pnpm build"), _PNPM),
    **dict.fromkeys(("yarn run", "yarn test", "yarn start", "yarn lint", "yarn build"), _YARN),
    **dict.fromkeys(("bun run", "bun test"), _BUN),
    **dict.fromkeys(("cargo test", "cargo t", "cargo bench"), _CARGO + " &^--?logfile"),
    **dict.fromkeys(("cargo build", "cargo check", "cargo clippy"), _CARGO + _LINTS),
    "cargo fmt": _CARGO + _FORMATS,
    **dict.fromkeys(("cargo run", "cargo doc", "cargo tree", "cargo metadata"), _CARGO),
    "cargo nextest run": _CARGO,
    **dict.fromkeys(("go test", "go build", "go vet", "go list"), _GO),
    **dict.fromkeys(("pytest", "py.test"), _PYTEST),
    "unittest": "-vqfbc -kspt: --verbose --quiet --failfast --buffer --catch --locals --durations="
    " --start-directory= --pattern= --top-level-directory=",
    **dict.fromkeys(("gradle", "gradlew"), _GRADLE),
    **dict.fromkeys(("mvn", "mvnw"), _MVN),
    "tox": "@^(?:exec|e|devenv|d|quickstart|q|legacy|le)$ -qvrpl !-e: !-f: !-m: !--labels= --quiet"
    " --verbose --recreate --parallel=? --listenvs --notest --skip-missing-interpreters=?"
    " --colored= !-c: !--conf= !-x: !--override= !--workdir= !--root= !--result-json= !-n"
    " !--installpkg= !--devenv= !--hashseed=",
    "nox": "^0 -lrR --list --no-color --reuse-existing-virtualenvs !-s: !-e: !-k: !-t: !--session="
    " !--sessions= !--keywords= !--tags= !-f: !--noxfile="
    " !--envdir= !--report= !-p: !-P: !--default-venv-backend=",
    "ctest": "-VQNF -RLEICj: --output-on-failure --verbose --quiet --parallel=? --rerun-failed"
    " --show-only=? --stop-on-failure --timeout= --repeat= --label-regex= --tests-regex="
    " --exclude-regex= --no-tests= --progress !-S: !-D: !-M: !-T: !-O: !--output-log="
    " !--output-junit= !--test-dir= !--build-and-test= !--script= !--build-makeprogram="
    " !--test-command= !--overwrite=",
    "ninja": "^0 -nv -klj: --verbose --quiet --version !-C: !-f:",
    "just": "^ -nqvl --list --summary --dry-run --quiet --verbose --color= !-f: !--justfile= !-d:"
    " !--working-directory= !--shell= !--shell-arg= !-c: !--command= !-e !--edit !--set="
    " !--dotenv-path= !--chooser= !-g !--global-justfile",
    "rake": "^ @= -nqstvT --dry-run --quiet --silent --trace=? --tasks=? --verbose -j? -m"
    " --multitask"
    " !-f: !--rakefile= !-r: !--require= !-I: !--libdir= !-e: !--execute= !-E: !--execute-continue="
    " !-p: !--execute-print= !-R: !--rakelibdir= !-C: !--directory= !-g !--system",
    **dict.fromkeys(
        ("dotnet test", "dotnet build"),
        "@^[/@]|= &^-[cvf][A-Za-z] -c: -v: -f: --configuration= --verbosity="
        " --framework= --filter= --no-build --no-restore --nologo --list-tests -t"
        " --logger={console,trx} %[;=] !-o: !--output= !-p: !--property= !--settings= !-s:"
        " !--results-directory= !-r:"
        " !--test-adapter-path= !--diag= !-d: !--collect=",
    ),
    **dict.fromkeys(
        ("mix test", "mix compile"),
        "--trace --failed --stale --only= --exclude= --include="
        " --seed= --max-failures= --color --no-color --cover --warnings-as-errors --force"
        " --slowest= !--require= !-r:",
    ),
    **dict.fromkeys(
        ("swift test", "swift build"),
        "-vq -c: --configuration= --filter= --skip="
        " --parallel --verbose --quiet --list-tests !--package-path= !--scratch-path="
        " !--build-path= !-X: !--toolchain=",
    ),
    "phpunit": "--filter= --testsuite= --group= --exclude-group= --stop-on-failure --testdox"
    " --colors=? --list-tests --verbose !-c: !--configuration= !--bootstrap= !--log-junit="
    " !--coverage-html= !--printer= !--include-path= !-d: !--coverage-clover= !--prepend="
    " !--loader=",
    "rspec": "-pwb -te: --tag= --example= --format={progress,documentation,json,failures} --color"
    " --no-color --fail-fast=? --seed="
    " --order= --dry-run --profile=? --only-failures --next-failure --backtrace %/ !-f: !-r:"
    " !--require="
    " !-I: !-o: !--out= !-O: !--options= !--default-path= !-X !--bisect=?",
    "eslint": "--ext= --quiet --max-warnings= --no-color --color"
    " --format={stylish,json,json-with-metadata,html,compact,unix,tap,visualstudio,junit}"
    " --ignore-pattern= --no-error-on-unmatched-pattern --report-unused-disable-directives --debug"
    " --rule= %/ !-f: !-c: !--config= !--resolve-plugins-relative-to= !--rulesdir= !--plugin="
    " !--parser= !-o: !--output-file= !--fix !--cache !--cache-location= !--cache-file="
    " !--parser-options= !--init",
    "jest": "-ibo -tw: --testNamePattern= --runInBand --bail=? --onlyChanged --watch --watchAll=?"
    " --coverage=? --verbose --silent --ci --maxWorkers= --testPathPattern= --findRelatedTests"
    " --passWithNoTests --no-coverage --forceExit --detectOpenHandles --colors --listTests !-c:"
    " !--config= !-u !--updateSnapshot !--rootDir= !--outputFile= !--coverageDirectory= !--runner="
    " !--testRunner= !--setupFiles= !--globalSetup= !--reporters= !--preset= !--projects="
    " !--testEnvironment=",
    **dict.fromkeys(("vitest", "vitest run"), _VITEST),
    "prettier": "-lcu --check --list-different --ignore-unknown --no-error-on-unmatched-pattern"
    " --log-level= --no-color !--config= !--plugin= !--write !-w !--ignore-path="
    " !--cache-location=",
    "tsc": "= @^@ @^(?:true|false|null)$ --noEmit --pretty=? --strict=? --skipLibCheck=?"
    " --incremental=? --listFiles --showConfig --version --watch --w --traceResolution"
    " %/|^\\.\\.|^@ --p= --project= !--outDir= !--outFile= !--build !--b !--declarationDir="
    " !--init !--generateTrace= !--tsBuildInfoFile= !--rootDir= !--generateCpuProfile= !--plugins=",
    **dict.fromkeys(("ruff check", "ruff format"), _RUFF),
    "mypy": "@^@ -v --strict --pretty --show-error-codes --show-error-context --no-incremental"
    " --verbose --ignore-missing-imports --warn-unused-ignores --no-error-summary"
    " --show-column-numbers --exclude= --python-version= --platform= --follow-imports="
    " --disallow-untyped-defs --no-color-output -mp: --module= --package= !--config-file="
    " !--python-executable= !--cache-dir= !--junit-xml= !--custom-typeshed-dir= !--install-types"
    " !--html-report= !--txt-report= !--xml-report= !--linecount-report= !--any-exprs-report="
    " !--shadow-file= !--plugins= !--non-interactive",
    "flake8": _LINT
    + " --select= --ignore= --extend-ignore= --max-line-length= --count --statistics"
    " --show-source --exclude= --format= --exit-zero -j: !--config= !--append-config="
    " !--output-file= !--tee !--enable-extensions= !--stdin-display-name=",
    "pylint": _LINT + " -E -drj: --errors-only --disable= --enable= --score= --jobs="
    " --output-format={text,json,json2,parseable,colorized,msvs,github} !-f:"
    " --msg-template= --reports= !--rcfile= !--load-plugins= !--init-hook= !--output="
    " !--ignore-paths= !--generate-toml-config",
    "pyright": "--outputjson --stats --warnings --verbose --skipunannotated --version --level="
    " --pythonversion= --pythonplatform= !-p: !--project= !--pythonpath= !--venvpath= !-v: !-t:"
    " !--typeshedpath= !--createstub= !--writebaseline",
    "biome check": "--max-diagnostics= --no-errors-on-unmatched --colors= --verbose !--config-path="
    " !--write !--apply !--apply-unsafe !--fix !--unsafe !--log-file=",
    **dict.fromkeys(
        ("deno test", "deno check", "deno lint"),
        "-q --quiet --no-check=? --fail-fast=?"
        " --filter= --parallel !-A !--allow-all !--allow-run=? !-c: !--config= !--import-map="
        " !-r !--reload=? !--fix !--coverage=? !--preload= !--allow-write=? !--allow-net=?"
        " !--allow-ffi=?",
    ),
    **dict.fromkeys(
        ("composer test", "rails test", "flutter test", "dart test", "dart analyze"), ""
    ),
    **dict.fromkeys(("stack test", "cabal test"), "^0"),
    "npm outdated": "-agl --json --long --all --parseable --global",  # starts the git of .npmrc
    **dict.fromkeys(
        ("bazel test", "bazel build"),
        "@^@ -ck: --config= --test_output= --keep_going"
        " --verbose_failures --nocache_test_results --test_filter= !--run_under= !--bazelrc="
        " !--define= !--action_env= !--test_env= !--override_repository=",
    ),
    "zig build": "^0 -D: --summary= --verbose !--build-file= !-p: !--prefix= !--cache-dir="
    " !--zig-lib-dir=",
    "meson test": "@^@ -vq --suite= --no-suite= --list --print-errorlogs --no-rebuild --repeat="
    " --num-processes= !-C: !--wrapper= !--wrap= !--gdb !--gdb-path= !--logbase= !--setup="
    " !--test-args=",
}

#: By the words of the command, the options that a prefix of them covers. None fetches code.
PROJECT_TASKS: Final[Mapping[str, str]] = {key: f"/ {text}" for key, text in _OPTIONS.items()}

#: What rewrites the project's files, where no option of the next table holds it back.
REWRITERS: Final = frozenset(["cargo fmt", "ruff format"])
#: Options with which a runner does less than without them: it lists, checks, or says what it would
#: do. A prefix that is suggested for such a command names the option as well.
_DOES_LESS: Final = {
    "cargo fmt": "--check",
    "ruff format": "--check --diff",
    "ruff check": "--diff --no-fix --show-files --show-settings",
    "tsc": "--noEmit --showConfig",
    **dict.fromkeys(("make", "gmake"), "-n -q --just-print --dry-run --recon --question"),
    **dict.fromkeys(("gradle", "gradlew", "rspec"), "--dry-run"),
    "rake": "-n -T --dry-run --tasks",
    "just": "-n -l --dry-run --list --summary",
    "ninja": "-n",
    "ctest": "-N --show-only",
    "pytest": "-h --collect-only --co --markers --fixtures",
    **dict.fromkeys(("cargo test", "cargo t", "cargo bench"), "--list --no-run"),
    "cargo nextest run": "--no-run",
    **dict.fromkeys(("go test", "go build", "go vet"), "--n --list"),
    "jest": "--listTests",
    "tox": "-l --listenvs --notest",
    "nox": "-l --list",
    "meson test": "--list",
    "dotnet test": "-t --list-tests",
    **dict.fromkeys(("swift test", "phpunit"), "--list-tests"),
}
DOES_LESS: Final[Mapping[str, frozenset[str]]] = {
    key: frozenset(f"{_DOES_LESS.get(key, '')} --version --help".split()) for key in _OPTIONS
}

#: Runners of which the next word is the task that a suggested prefix must name.
TASK_NEEDED: Final = frozenset(
    "make|gmake|npm run|npm run-script|pnpm run|yarn run|bun run|just|rake|gradle|gradlew|mvn"
    "|mvnw|cargo run".split("|")
)
#: Options whose value is a task: a suggested prefix names it.
TASK_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "tox": frozenset(["-e", "-f", "-m"]),
    "nox": frozenset(["-s", "-e", "-k", "-t", "--session", "--sessions"]),
}

#: Options before a task that do not change which code runs.
TASK_GROUPS: Final[Mapping[str, str]] = {
    "cargo": "-vqV --verbose --quiet --color= --frozen --locked --offline --version --list"
    " !--config= !-Z: !-C:",
    "npm": _NPM + " --version -v",
    "pnpm": _PNPM + " --version",
    "yarn": "-s --silent --verbose --version !--cwd= !--use-yarnrc= !--script-shell=",
    "bun": "--version --bun !--cwd= !-c: !--config=? !-e: !--eval= !-p: !--print= !--preload=",
    "deno": "--version -q --quiet",
    "go": "= !--C=",
    "pip": "-qv --quiet --verbose --disable-pip-version-check --version !--python= !--log=",
    "uv": "-qv --quiet --verbose --offline --version !--directory= !--project= !--config-file=",
    "poetry": "-qvn --quiet --verbose --no-interaction --version !-C: !-P: !--directory="
    " !--project=",
    "ruff": "-qvs --quiet --verbose --silent --version !--config= --isolated",
    "bundle": "--version",
    "dotnet": "--version --info --list-sdks",
    "mix": "",
}
