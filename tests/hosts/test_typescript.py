"""The TypeScript host: built, tested by node's own runner, packed, installed, used."""

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import waiting
from conformance.judging import SCENARIOS, SLACK
from hosts.places import PYTHON, Place
from talking import ROOT

from wcore.conformance.host.runner import HostRunner
from wcore.conformance.reporting import failure_of

PACKAGE: Final = ROOT / "hosts" / "typescript"
NODE_MODULES: Final = Path(os.environ.get("WCORE_NODE_MODULES") or ROOT / "node_modules")
LEFT_OUT: Final = shutil.ignore_patterns("node_modules", "dist", "*.tgz")
needs_node = pytest.mark.skipif(
    not shutil.which("node") or not (NODE_MODULES / ".bin" / "tsc").exists(),
    reason="no node or tsc: npm install --no-save typescript @types/node, or WCORE_NODE_MODULES",
)

USER: Final = """
import { connect, type HostEvent, type PermissionResult, type ToolContext } from "@wcore/host";

async function decide(name: string, input: object, about: ToolContext): Promise<PermissionResult> {
  const scope = about.request.suggestions?.[0] ?? "once";
  return name === "Bash" ? { behavior: "deny", message: "no" } : { behavior: "allow", scope };
}

export function text(event: HostEvent): string {
  switch (event.type) {
    case "text_delta":
      return event.text;
    case "tool_request":
      return event.why.detail + (event.preview?.text ?? "");
    case "stream_end":
      return event.finish_reason;
    default:
      return "";
  }
}

const engine = await connect({ canUseTool: decide, permissionMode: "read_only" });
for await (const event of engine.turn("hello")) console.log(text(event));
// @ts-expect-error there is no such mode
await engine.setPermissionMode("sometimes");
// @ts-expect-error a command needs its fields
await engine.send({ type: "tool_approve" });
"""


def run(*command: str, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = waiting.run(command, cwd=cwd, env=env, limit_s=waiting.LONG_S)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with its `dist`."""
    folder = tmp_path_factory.mktemp("typescript") / "host"
    shutil.copytree(PACKAGE, folder, ignore=LEFT_OUT)
    (folder / "node_modules").symlink_to(NODE_MODULES)
    run("npm", "run", "--silent", "build", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def installed(built: Path) -> Path:
    """A folder into which the packed package was installed."""
    run("npm", "pack", "--silent", "--ignore-scripts", cwd=built)
    (tarball,) = built.glob("*.tgz")
    folder = built.parent / "user"
    folder.mkdir()
    (folder / "package.json").write_text('{"type": "module"}')
    run("npm", "install", "--offline", "--no-audit", "--no-fund", str(tarball), cwd=folder)
    return folder


def test_its_types_are_those_of_the_protocol() -> None:
    published = (ROOT / "protocol-spec" / "typescript" / "wcore.d.ts").read_text()
    assert (PACKAGE / "src" / "protocol.ts").read_text() == published, "python tests/write_spec.py"


def test_its_tools_are_the_ones_that_ci_installs() -> None:
    named: dict[str, Any] = json.loads((PACKAGE / "package.json").read_text())
    ci = (ROOT / ".ci" / "run").read_text()
    assert "dependencies" not in named
    for name, version in named["devDependencies"].items():
        assert f"{name}@{version}" in ci


@needs_node
def test_its_own_tests_pass_against_the_real_engine(built: Path, place: Place) -> None:
    command = json.dumps([*PYTHON, "-m", "wcore"])
    run("npm", "test", "--silent", cwd=built, env={**place.env, "WCORE_COMMAND": command})


@needs_node
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_it_survives_everything_an_engine_may_do(built: Path, scenario: str) -> None:
    host = ("node", str(built / "test" / "host.mjs"), "{engine}")
    outcome = await HostRunner(host, b"", SLACK, approves=True).run(SCENARIOS[scenario])
    assert not outcome.counts, failure_of(outcome)


@needs_node
def test_the_package_holds_what_a_user_needs_and_nothing_else(built: Path) -> None:
    command = ("npm", "pack", "--dry-run", "--json", "--ignore-scripts")
    files = set(re.findall(r'"path": "(.*?)"', run(*command, cwd=built)))
    modules = {path.stem for path in (PACKAGE / "src").glob("*.ts")}
    code = {f"dist/{name}{ending}" for name in modules for ending in (".js", ".d.ts")}
    assert files == {"package.json", "README.md", "LICENSE", *code}
    assert (PACKAGE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


@needs_node
def test_the_example_of_the_readme_works_after_npm_install(installed: Path, place: Place) -> None:
    example = re.search(r"```js\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)
    assert example
    (installed / "example.mjs").write_text(example[1])
    path = f"{Path(sys.executable).parent}{os.pathsep}{place.env['PATH']}"
    out = run("node", "example.mjs", cwd=installed, env={**place.env, "PATH": path})
    assert "Write wants to run: mode read_only asks before edit tools" in out
    assert (installed / "notes.md").read_text().strip() == "# Hello"


@needs_node
def test_a_strict_program_is_checked_against_its_types(installed: Path) -> None:
    (installed / "user.ts").write_text(USER)
    tsc = str(NODE_MODULES / ".bin" / "tsc")
    roots = ("--typeRoots", str(NODE_MODULES / "@types"), "--types", "node")
    module = ("--module", "nodenext", "--target", "es2022", "--lib", "es2023,esnext.disposable")
    run(tsc, "--strict", "--noEmit", *module, *roots, "user.ts", cwd=installed)
