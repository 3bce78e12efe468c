"""Writes the tables of the specification that come from the code: `python tests/spec_tables.py`."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from wcore.approval import reasons, table
from wcore.policy import decide, protected, safety, tiers

SPEC: Final = Path(__file__).parent.parent / "protocol-spec" / "README.md"
POLICY: Final = SPEC.with_name("policy.md")
BLOCK: Final = re.compile(
    r"(?P<open><!-- from the code: (?P<name>[a-z ]+) -->\n).*?(?P<close><!-- end -->)", re.DOTALL
)


def _reasons() -> str:
    rows = [
        ("user", "the host's own words, else", reasons.USER),
        ("timeout", "nobody answered in time", reasons.TIMEOUT),
        ("host_gone", "stdin was closed", reasons.HOST_GONE),
        ("stop", "`stop`, or `stop` with another call's denial", reasons.STOP),
        ("signal", "a signal ended the engine", reasons.SIGNAL),
        ("policy", "a rule; `why.detail` follows", reasons.RULE),
        ("(not asked)", "`--prompts none`", reasons.NO_PROMPTS),
    ]
    lines = [f"| {by} | {when} | `{text}` |" for by, when, text in rows]
    return "\n".join(["| settled by | when | reason |", "|---|---|---|", *lines]) + "\n"


def _decision() -> str:
    lines: list[str] = []
    for row in decide.ROWS:
        number, _, text = (row.__doc__ or "").splitlines()[0].partition(": ")
        lines.append(f"| {number.removeprefix('Row ')} | {text} |")
    return "\n".join(["| row | rule |", "|---|---|", *lines]) + "\n"


def _protected() -> str:
    lines = [
        f"| {what} | {', '.join(f'`{name}`' for name in names)} | {why} |"
        for what, names, why in protected.as_rows()
    ]
    return "\n".join(["| guarded for | names | because it is |", "|---|---|---|", *lines]) + "\n"


def _codes(texts: Iterable[str]) -> str:
    return ", ".join(f"`{text}`" for text in texts).replace("|", "\\|")


def _safety() -> str:
    lines = [
        f"| {what} | {_codes(examples)} | {verdict} |"
        for what, examples, verdict in safety.as_rows()
    ]
    return "\n".join(["| the command | such as | verdict |", "|---|---|---|", *lines]) + "\n"


def _tiers() -> str:
    lines = [f"| {names} | `{tier}` |" for names, _, tier in tiers.DEFAULTS]
    return "\n".join(["| tool | status |", "|---|---|", *lines]) + "\n"


TABLES: Final[dict[str, Callable[[], str]]] = {
    "life of a call": table.as_markdown,
    "reasons": _reasons,
    "decision": _decision,
    "protected": _protected,
    "safety": _safety,
    "tiers": _tiers,
}


def rendered(text: str) -> str:
    """Return `text` with every block as the code has it today."""
    return BLOCK.sub(lambda m: m["open"] + "\n" + TABLES[m["name"]]() + "\n" + m["close"], text)


if __name__ == "__main__":
    for page in (SPEC, POLICY):
        page.write_text(rendered(page.read_text()))
