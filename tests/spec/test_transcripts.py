"""The example conversations are what the engine says today."""

from pathlib import Path

import pytest

from spec.scenes import FOLDER, SCENES, record


@pytest.mark.parametrize("name", SCENES)
async def test_the_example_is_what_the_engine_says(name: str, tmp_path: Path) -> None:
    page = (FOLDER / f"{name}.md").read_text()
    assert await record(SCENES[name], tmp_path) == page, "run: python tests/write_spec.py"


def test_every_example_is_listed() -> None:
    listed = (FOLDER / "README.md").read_text()
    assert {path.name for path in FOLDER.glob("*.md")} == {f"{name}.md" for name in SCENES} | {
        "README.md"
    }
    assert [name for name in SCENES if f"({name}.md)" not in listed] == []
