"""What the start costs: nothing for models that are not used, and nothing in the first turn."""

import os
import sys
from pathlib import Path

import pytest
import waiting
from talking import ROOT

PROGRAM = """
import os, sys
from wcore.cli import options, serve
from wcore.models.factory import create_model
model = create_model(*{choice!r})
before = set(sys.modules)
model.warm()
print(sorted(n for n in before if n.partition(".")[0] in ("httpx2", "httpcore2", "ssl")))
print("wcore.models.http.backend" in before, "httpx2" in sys.modules)
"""


def loaded(folder: Path, choice: tuple[str | None, str | None]) -> list[str]:
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = waiting.run(
        [sys.executable, "-c", PROGRAM.format(choice=choice)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        check=True,
    )
    return done.stdout.splitlines()


def test_without_a_real_model_nothing_of_it_is_ever_loaded(tmp_path: Path) -> None:
    assert loaded(tmp_path, (None, None)) == ["[]", "False False"]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_the_http_library_of_a_real_model_waits_for_the_warm_up(
    tmp_path: Path, provider: str
) -> None:
    assert loaded(tmp_path, (provider, "m")) == ["[]", "True True"]
