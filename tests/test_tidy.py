"""House rules as tests: what a reviewer would say again and again, said once."""

import ast
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final

import waiting
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wcore.errors import Code

ROOT: Final = Path(__file__).parent.parent
SOURCES: Final = (ROOT / "wcore", ROOT / "hosts" / "python" / "wcore_host")
FILE_LINES_MAX: Final = 400  # what fits into a head
FUNCTION_LINES_MAX: Final = 50  # what fits onto a screen

CODES: Final = set(  # the design's list, all of it
    "protocol_error busy refused not_supported init_failed config_error auth_required auth_invalid"
    " provider_error context_overflow internal_error".split()
)
NOT_AT_START: Final = (  # what costs time or memory, or opens a door, before anybody asked for it
    *("pydantic_ai", "openai", "anthropic", "httpx", "mcp", "sqlalchemy", "psycopg", "sqlite3"),
    *("textual", "starlette", "uvicorn", "opentelemetry", "bashlex", "psutil", "difflib", "ssl"),
    *(
        "wcore.turn",
        "wcore.tools.builtin.catalog",
        "wcore.tools.mcp.server",
        "wcore.engine.mcp_servers",
    ),
    *("ctypes", "http.client", "urllib.request", "multiprocessing", "trio", "wcore_host"),
)
LIMIT: Final = re.compile(r"[A-Z][A-Z0-9_]*_(MAX|MIN|LIMIT|S|MS|BYTES|CHARS|LINES)")
UNWANTED_NAMES: Final = {"utils", "util", "helpers", "helper", "base", "common", "misc", "shared"}
BARE_WAIT: Final = re.compile(
    r"(anyio\.fail_after|subprocess\.run|anyio\.run_process|\.communicate"
    r"|\.stdout\.read(line)?)$"
)
BARE_LOOK: Final = re.compile(r"(psutil\.Process|\.children|\.cmdline)$")
SPIN: Final = "await anyio.lowlevel.checkpoint()"  # who waits so is at work: never `Hung`
CLOCKS_OF_THEIR_OWN: Final = {
    "waiting.py",
    "second_look.py",
    "shell/opening.py",  # what a text does in two seconds is what is looked at
    "shell/sandbox.py",
    "conformance/hosts.py",  # a program that hears an engine
    "unit/approval/test_manager.py",  # virtual time
}
MARKS: Final = "TODO|FIXME|XXX|HACK"
COMES_WITH: Final = {
    "acp": "agent-client-protocol",
    "mcp_types": "mcp",
    "pydantic_core": "pydantic",
    "ignore": "ignore-python",
    "pydantic_ai": "pydantic-ai-slim",
    "rich": "textual",
    "markdown_it": "textual",
    "yaml": "pyyaml",
}


@cache
def sources() -> tuple[Path, ...]:
    return tuple(sorted(path for folder in SOURCES for path in folder.rglob("*.py")))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def check(*command: str) -> None:
    """Run one of our tools from the root; what it says is the failure."""
    folders = [str(ROOT / "hosts" / "python"), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))}
    done = waiting.run([sys.executable, *command], cwd=ROOT, env=env, limit_s=waiting.LONG_S)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


# --- other people's tools -------------------------------------------------------------------------


def test_ruff_finds_nothing() -> None:
    check("-m", "ruff", "check", "--no-cache", "--quiet", ".")


def test_every_file_is_formatted() -> None:
    check("-m", "ruff", "format", "--no-cache", "--quiet", "--check", ".")


def test_packages_import_only_what_they_may() -> None:
    run = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    check("-c", run, "--no-cache")


def test_ci_installs_a_known_release_of_all_that_we_ask_for() -> None:
    written = [Requirement(line) for line in (ROOT / "constraints.txt").read_text().splitlines()
               if not line.startswith("#")]  # fmt: skip
    known = {canonicalize_name(each.name): str(each.specifier)[2:] for each in written}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    for each in map(Requirement, asked):
        if each.name != "wcore":
            assert each.specifier.contains(known[canonicalize_name(each.name)]), each


# --- how tests wait -------------------------------------------------------------------------------


def test_tests_wait_by_the_one_clock() -> None:
    """`tests/waiting.py` says what was seen, and whether it was late; other limits say nothing."""
    tests = ROOT / "tests"
    files = [path for path in tests.rglob("*.py") if path.parent.name != "bench"]
    found = {
        f"{path.relative_to(tests)}:{line}: {name}"
        for path in files
        if str(path.relative_to(tests)) not in CLOCKS_OF_THEIR_OWN
        for line, name in bare_waits(tree(path))
    }
    assert found == set()


def test_tests_look_at_processes_as_what_may_end_meanwhile() -> None:
    """`tests/processes.py` takes what ended for none, where psutil raises: now and then."""
    tests = ROOT / "tests"
    found = {
        f"{path.relative_to(tests)}:{node.lineno}: {name}"
        for path in tests.rglob("*.py")
        if path.name not in ("waiting.py", "processes.py") and path.parent.name != "bench"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and BARE_LOOK.search(name := ast.unparse(node.func))
    }
    assert found == set()


def bare_waits(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield what waits by another clock, but for tests whose subject is a time."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(
        ast.unparse(mark) == "pytest.mark.clock" for mark in node.decorator_list
    ):
        return
    if isinstance(node, ast.Call) and BARE_WAIT.search(name := ast.unparse(node.func)):
        yield node.lineno, name
    if isinstance(node, ast.While) and [*map(ast.unparse, node.body)] == [SPIN]:
        yield node.lineno, SPIN
    for child in ast.iter_child_nodes(node):
        yield from bare_waits(child)


# --- size and names -------------------------------------------------------------------------------


def test_no_file_is_longer_than_a_head_holds() -> None:
    lengths = {named(path): len(path.read_text().splitlines()) for path in sources()}
    assert {name: n for name, n in lengths.items() if n > FILE_LINES_MAX} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    found: dict[str, int] = {}
    for path in sources():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > FUNCTION_LINES_MAX:
                    found[f"{named(path)}::{node.name}"] = length
    assert found == {}


def test_modules_are_named_by_what_they_are_about() -> None:
    assert [named(path) for path in sources() if path.stem in UNWANTED_NAMES] == []
    folders = {path.parent.name for path in sources()}
    assert not folders & UNWANTED_NAMES


def test_nothing_is_left_to_do_in_a_comment() -> None:
    mark = re.compile(rf"#.*\b({MARKS})\b")
    found = [
        f"{named(path)}:{number}"
        for path in [*sources(), *sorted((ROOT / "tests").rglob("*.py"))]
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if mark.search(line)
    ]
    assert found == []


def test_no_merge_was_left_half_done() -> None:
    found = waiting.run(["git", "grep", "-lE", "^(<<<<<<<|>>>>>>>) "], cwd=ROOT)
    assert not found.stdout


def test_every_module_says_what_its_job_is() -> None:
    silent = [
        named(path) for path in sources() if tree(path).body and not ast.get_docstring(tree(path))
    ]
    assert silent == []


def limits(path: Path) -> Iterator[tuple[str, int, int]]:
    """Yield name, first and last line of each limit that a module sets."""
    for node in tree(path).body:
        targets = [node.target] if isinstance(node, ast.AnnAssign) else []
        targets += node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Name) and LIMIT.fullmatch(target.id):
                yield target.id, node.lineno, node.end_lineno or node.lineno


def test_every_limit_has_its_reason_beside_it() -> None:
    bare: list[str] = []
    for path in sources():
        lines = path.read_text().splitlines()
        for name, first, last in limits(path):
            beside = "".join(lines[first - 1 : last])
            above = lines[first - 2].strip() if first > 1 else ""
            if "#" not in beside and not above.startswith("#"):
                bare.append(f"{named(path)}:{first} {name}")
    assert bare == []


# --- the wire's words -----------------------------------------------------------------------------


def test_the_error_codes_are_those_of_the_design_and_no_other() -> None:
    assert {code.value for code in Code} == CODES


def test_error_codes_are_spelled_in_one_place() -> None:
    long_ones = CODES - {"busy", "refused"}  # words of their own
    found = [
        f"{named(path)}:{node.lineno}"
        for path in sources()
        if path.is_relative_to(ROOT / "wcore") and path.name != "errors.py"
        if "conformance" not in path.parts  # judges other engines: it has the words from the spec
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Constant) and node.value in long_ones
    ]
    assert found == []


# --- what is installed and what is loaded ---------------------------------------------------------


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def distribution(requirement: str) -> str:
    """Return the bare name of a requirement: `anyio` of `anyio>=4.6,<5`."""
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found
    return found[0].lower()


def imported(path: Path) -> Iterator[str]:
    """Yield the top-level names of the packages that a module imports, lazily or not."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def test_what_is_imported_is_a_dependency_or_an_extra() -> None:
    declared = list(project()["dependencies"])
    for extra, requirements in project()["optional-dependencies"].items():
        declared += requirements if extra not in ("dev", "test") else []
    known = {distribution(requirement).replace("-", "_") for requirement in declared}
    ours = {"wcore", "wcore_host", "__future__"}
    for path in sources():
        for name in set(imported(path)) - set(sys.stdlib_module_names) - ours:
            needs = COMES_WITH.get(name, name).replace("-", "_").lower()
            assert needs in known, f"{named(path)} imports {name}"


def test_every_dependency_is_imported_somewhere() -> None:
    used = {COMES_WITH.get(name, name) for path in sources() for name in imported(path)}
    for requirement in project()["dependencies"]:
        assert distribution(requirement) in {name.lower() for name in used}, requirement


def test_the_extra_called_all_has_every_extra_but_the_tools_of_development() -> None:
    extras = project()["optional-dependencies"]
    (everything,) = extras["all"]
    chosen = re.fullmatch(r"wcore\[(.*)\]", everything)
    assert chosen
    assert set(chosen[1].split(",")) == set(extras) - {"all", "dev", "test"}


def test_every_extra_that_is_spoken_of_exists() -> None:
    pages = [path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md"]
    for path in [*sources(), *pages, *ROOT.glob("protocol-spec/*.md"), *ROOT.glob("hosts/**/*.md")]:
        for names in re.findall(r"wcore\[([a-z, ]+)\]", path.read_text()):
            for name in names.split(","):
                assert name.strip() in project()["optional-dependencies"], named(path)


def test_at_the_start_only_what_is_needed_is_loaded(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "from wcore.cli import options, serve\n"
        "from wcore.models.factory import create_model\n"
        "chosen = options.read([], os.environ)\n"
        "create_model(chosen.provider, chosen.model)\n"
        "print('\\n'.join(sys.modules))\n"
    )
    env = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    done = waiting.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**env, "PYTHONPATH": os.pathsep.join([str(ROOT), env.get("PYTHONPATH", "")])},
        check=True,
    )
    loaded = set(done.stdout.split())
    assert "wcore.engine" in loaded
    assert sorted(loaded & set(NOT_AT_START)) == []


def test_the_version_is_told_without_loading_the_engine(tmp_path: Path) -> None:
    done = waiting.run(
        [sys.executable, "-X", "importtime", "-m", "wcore", "--version"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        },
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "wcore.cli" in loaded
    assert not loaded & {"pydantic", "anyio", "wcore.engine", "wcore.tools"}
    assert len(done.stdout.splitlines()) == 1


def test_type_checkers_of_users_look_into_our_packages() -> None:
    for package in (ROOT / "wcore", ROOT / "hosts" / "python" / "wcore_host"):
        assert (package / "py.typed").is_file(), package
