"""What `wcore/visible.py` marks, for the hosts: a copy in Python, a pattern in JavaScript."""

import re
from itertools import groupby
from pathlib import Path
from typing import Final

from spec.requirements import SPEC
from wcore.visible import DRAWN_AS_NOTHING

ROOT: Final = SPEC.parent
SOURCE: Final = ROOT / "wcore" / "visible.py"
COPY: Final = ROOT / "hosts" / "python" / "wcore_host" / "visible.py"
SCRIPTS: Final = (
    ROOT / "hosts" / "typescript" / "src" / "visible.ts",
    ROOT / "hosts" / "python" / "wcore_host" / "web" / "static" / "visible.js",
)
HEAD: Final = "# A copy of wcore/visible.py, made by tests/write_spec.py; not edited by hand.\n"
PATTERN: Final = re.compile(r"^const HIDDEN =[^;]*;\n", re.MULTILINE)


def rendered(path: Path) -> str:
    """Return what a host's file has to be."""
    if path == COPY:
        return HEAD + SOURCE.read_text()
    return PATTERN.sub(lambda _: pattern(), path.read_text(), count=1)


def pattern() -> str:
    """Return the pattern of all that is marked, also line ends and tabs."""
    numbers = sorted(DRAWN_AS_NOTHING)
    runs = [
        [code for _, code in run]
        for _, run in groupby(enumerate(numbers), lambda at: at[1] - at[0])
    ]
    listed = "".join(
        _escaped(run[0]) + (f"-{_escaped(run[-1])}" if run[1:] else "") for run in runs
    )
    return f"const HIDDEN =\n  /[\\p{{C}}\\p{{Zl}}\\p{{Zp}}{listed}]|(?! )\\p{{Zs}}/gu;\n"


def _escaped(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\u{{{code:x}}}"


def write() -> None:
    for path in (COPY, *SCRIPTS):
        path.write_text(rendered(path))
