"""What others say about our documents: the AsyncAPI parser and the TypeScript compiler.

Both are found in `node_modules`, where `.ci/run` installs them.
"""

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest
import waiting

from spec import asyncapi, typescript

ROOT: Final = Path(__file__).parents[2]
MODULES: Final = ROOT / "node_modules"
HERE: Final = Path(__file__).parent

needs_parser = pytest.mark.skipif(
    not (MODULES / "@asyncapi" / "parser").is_dir(),
    reason="needs `npm install --no-save @asyncapi/parser`",
)
needs_compiler = pytest.mark.skipif(
    not (MODULES / "typescript").is_dir(), reason="needs `npm install --no-save typescript`"
)


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return waiting.run(command, cwd=ROOT)


def _parse(document: Path) -> subprocess.CompletedProcess[str]:
    return _run("node", str(HERE / "check_asyncapi.mjs"), str(document))


def _compile(*files: Path) -> subprocess.CompletedProcess[str]:
    flags = ("--noEmit", "--strict", "--exactOptionalPropertyTypes", "--target", "es2022")
    compiler = str(MODULES / ".bin" / "tsc")
    return _run(compiler, *flags, "--types", "", *(str(file) for file in files))


@needs_parser
def test_the_asyncapi_parser_takes_the_document() -> None:
    done = _parse(asyncapi.PATH)
    assert done.returncode == 0, done.stderr


@needs_parser
def test_the_asyncapi_parser_would_find_a_mistake(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    schemas = asyncapi.PATH.parent / "schema"
    text = asyncapi.PATH.read_text().replace("./schema/", f"{schemas}/")
    wrong.write_text(text.replace('"type": "ping"', '"type": "pang"'))
    assert _parse(wrong).returncode == 1


@needs_compiler
def test_the_types_compile_and_are_precise() -> None:
    done = _compile(typescript.PATH, HERE / "uses_types.ts")
    assert done.returncode == 0, done.stdout


@needs_compiler
def test_the_use_of_the_types_covers_every_event(tmp_path: Path) -> None:
    use = (HERE / "uses_types.ts").read_text()
    lacking = tmp_path / "uses_types.ts"
    types = str(typescript.PATH.with_suffix("").with_suffix(""))
    text = re.sub(r'    case "pong":\n      return "";\n', "", use)
    lacking.write_text(text.replace("../../protocol-spec/typescript/wcore", types))
    assert text != use
    assert _compile(lacking).returncode != 0
