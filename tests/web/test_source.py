"""What the page's own code may not do, and that its types hold: read, not run."""

import json
import re
from importlib import resources
from pathlib import Path
from typing import Final

import pytest
import waiting

ROOT: Final = Path(__file__).parents[2]
STATIC: Final = Path(str(resources.files("wcore_host.web"))) / "static"
TSC: Final = ROOT / "node_modules" / ".bin" / "tsc"
PROTOCOL: Final = ROOT / "protocol-spec" / "typescript" / "wcore.d.ts"
MARKUP: Final = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment"
    r"|srcdoc|setHTML|\beval\b|new Function|javascript:|setTimeout\(\s*[\"'`]|trustedTypes"
)
ELSEWHERE: Final = re.compile(
    r"https?://(?!www\.w3\.org/2000/svg)[\w.]|//[\w-]+\.[a-z]{2,}/|@import|url\("
)
FILE_LINES_MAX: Final = 300  # the same as for Python


def sources(*endings: str) -> list[Path]:
    return sorted(path for path in STATIC.iterdir() if path.suffix in endings)


def test_no_text_is_ever_read_as_markup_or_code() -> None:
    assert sources(".js")
    found = [path.name for path in sources(".js", ".html") if MARKUP.search(path.read_text())]
    assert found == []


def test_nothing_is_fetched_from_anywhere_else() -> None:
    for path in sources(".js", ".css", ".html", ".svg"):
        text = path.read_text()
        if path.name == "markdown.js":  # it looks for links in what models say
            text = text.replace("https?:", "")
        found = [m[0] for m in ELSEWHERE.finditer(text) if "www.w3.org/2000/svg" not in m[0]]
        assert found == [] or path.suffix == ".svg", f"{path.name}: {found}"


def test_no_file_of_the_page_is_longer_than_a_head_holds() -> None:
    lengths = {p.name: len(p.read_text().splitlines()) for p in sources(".js", ".css", ".html")}
    assert {name: n for name, n in lengths.items() if n > FILE_LINES_MAX} == {}


def test_every_asset_that_is_named_exists() -> None:
    named = set(re.findall(r'/static/([\w.]+)"', (STATIC / "index.html").read_text()))
    for path in sources(".js"):
        named |= set(re.findall(r'^import .* from "\./([\w.]+)";', path.read_text(), re.MULTILINE))
    assert named
    assert [name for name in sorted(named) if not (STATIC / name).is_file()] == []
    unused = {path.name for path in sources(".js", ".css", ".svg")} - named
    assert unused == set()


@pytest.mark.skipif(not TSC.exists(), reason="there is no tsc: npm install --no-save typescript")
def test_the_types_of_the_page_hold(tmp_path: Path) -> None:
    options = {
        "allowJs": True,
        "checkJs": True,
        "strict": True,
        "noEmit": True,
        "target": "es2022",
        "module": "es2022",
        "moduleResolution": "bundler",
        "lib": ["es2023", "dom", "dom.iterable"],
        "noUnusedLocals": True,
        "noUnusedParameters": True,
        "noImplicitReturns": True,
        "types": [],
        "paths": {"wcore-protocol": [str(PROTOCOL)]},
    }
    project = {"compilerOptions": options, "include": [f"{STATIC}/*"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(project))
    command = [str(TSC), "--project", str(tmp_path)]
    done = waiting.run(command)
    assert done.returncode == 0, done.stdout
