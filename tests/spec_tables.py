"""The parts of the specification's pages that come from the code; `write_spec.py` writes them."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from spec import life_tables, limits, reference, tools
from spec.requirements import SPEC, requirements
from spec.words import entries

from wcore.approval import manager, reasons
from wcore.policy import decide, protected, safety, tiers
from wcore.vocabulary import MODE_ALIASES, Category, Mode

PAGES: Final[tuple[Path, ...]] = tuple(sorted(SPEC.glob("*.md")))
BLOCK: Final = re.compile(
    r"(?P<open><!-- from the code: (?P<name>[a-z ]+) -->\n).*?(?P<close><!-- end -->)", re.DOTALL
)
NUMBERED: Final = re.compile(
    r"(?P<open><!-- requirements (?P<area>[A-Z]+)(?: (?P<first>\d+)-(?P<last>\d+))? -->\n)"
    r".*?(?P<close><!-- end -->)",
    re.DOTALL,
)


def _reasons() -> str:
    rows = [
        ("user", "the host's own words, else", reasons.USER),
        ("timeout", "nobody answered in time", reasons.TIMEOUT),
        ("host_gone", "stdin was closed", reasons.HOST_GONE),
        ("stop", "`stop`, or `stop` with another call's denial", reasons.STOP),
        ("signal", "a signal ended the engine", reasons.SIGNAL),
        ("policy", "a rule; `why.detail` follows", reasons.RULE),
        ("policy", "a bug of the engine: the call cannot go on", manager.REASON_BUG),
        ("policy", "a server's question whose call has ended", reasons.WITHDRAWN),
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


_IN_A_SANDBOX: Final = {
    (Mode.PLAN, Category.EDIT): "denied",
    (Mode.PLAN, Category.MCP): "denied",
    (Mode.PLAN, Category.EXEC): "commands run in a read-only sandbox, else are denied",
    (Mode.AUTO_RUN, Category.EXEC): "commands run in a sandbox, else ask",
}


def _modes() -> str:
    names = list(Category)
    lines = [
        f"| `{mode}` | {' | '.join(_covered(mode, name) for name in names)} |" for mode in Mode
    ]
    head = [f"| mode | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    return "\n".join([*head, *lines]) + "\n"


def _covered(mode: Mode, category: Category) -> str:
    if special := _IN_A_SANDBOX.get((mode, category)):
        return special
    if category not in decide.MODE_COVERS[mode]:
        return "asks"
    spares = mode is not Mode.FORCE and category is Category.EDIT
    return f"runs ({decide.AUTO_EDIT_EXCLUDES} asks)" if spares else "runs"


def _aliases() -> str:
    others = {name: mode for name, mode in MODE_ALIASES.items() if name != mode.value}
    lines = [f"| `{name}` | `{mode}` |" for name, mode in others.items()]
    return "\n".join(["| said | meant |", "|---|---|", *lines]) + "\n"


def _codes_of_errors() -> str:
    values = entries("parts")["Code"].values
    lines = [f"| `{code}` | {says} |" for code, says in values.items()]
    return "\n".join(["| code | when |", "|---|---|", *lines]) + "\n"


TABLES: Final[dict[str, Callable[[], str]]] = {
    "life of a call": life_tables.of_calls,
    "life of a server": life_tables.of_servers,
    "reasons": _reasons,
    "decision": _decision,
    "protected": _protected,
    "safety": _safety,
    "tiers": _tiers,
    "tools": tools.as_markdown,
    "modes": _modes,
    "aliases": _aliases,
    "error codes": _codes_of_errors,
    "limits": limits.as_markdown,
    "commands": lambda: reference.messages("commands"),
    "events": lambda: reference.messages("events"),
    "objects": reference.objects,
    "list of commands": lambda: reference.contents("commands") + "\n",
    "list of events": lambda: reference.contents("events") + "\n",
    "results": reference.carried,
}


def _numbered(match: re.Match[str]) -> str:
    first, last = int(match["first"] or 1), int(match["last"] or 999)
    lines = [
        reference.requirement_line(each)
        for each in requirements()
        if each.area == match["area"] and first <= int(each.id[-3:]) <= last
    ]
    assert lines, match["open"]
    return match["open"] + "\n" + "\n".join(lines) + "\n\n" + match["close"]


def rendered(text: str) -> str:
    """Return `text` with every block as the code has it today."""
    text = BLOCK.sub(lambda m: m["open"] + "\n" + TABLES[m["name"]]() + "\n" + m["close"], text)
    return NUMBERED.sub(_numbered, text)
