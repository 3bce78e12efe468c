"""Case files: TOML in, checked values out. `protocol-spec/cases/README.md` is the manual."""

import fnmatch
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, cast

from wcore.conformance.json_object import JsonObject
from wcore.conformance.script import ITEMS
from wcore.errors import ConfigError

MATCHERS: Final = frozenset(
    "has lacks contains begins differs one_of at_most at_least kinds length longest".split()
)
#: Each kind of step, and what may stand beside it.
STEPS: Final[Mapping[str, frozenset[str]]] = {
    "send": frozenset({"bytes"}),
    "raw": frozenset({"end", "times"}),
    "hex": frozenset(),
    "message": frozenset({"msg_id", "started"}),
    "hear": MATCHERS | {"as", "within_s", "passing"},
    "hear_all": frozenset({"within_s", "passing"}),
    "heard": frozenset({"times"}),
    "race": frozenset({"times"}),
    "hear_text": frozenset({"times"}),
    "quiet": frozenset({"within_s", "passing"}),
    "each": frozenset({"steps"}),
    "eof": frozenset(),
    "signal": frozenset(),
    "exit": frozenset({"within_s"}),
    "start": frozenset(),
    "run": frozenset({"exit", "lines", "within_s"}),
    "close_stdout": frozenset(),
    "wait_s": frozenset(),
    "file": frozenset({"is", "contains", "within_s"}),
    "no_file": frozenset(),
    "only_files": frozenset(),
    "change": frozenset({"to"}),
    "still": frozenset(),
    "moves": frozenset(),
    "told": frozenset({"not"}),
    "offered": frozenset({"not"}),
    "asked": frozenset(),
    "request": frozenset(),
    "answered": frozenset(),
    "never_said": frozenset({"outside"}),
    "hidden": frozenset({"in"}),
    "same": frozenset(),
    "matches": frozenset({"path", "like"}),
    "file_lacks": frozenset({"text"}),
    "needs": frozenset(),
    "given": frozenset(),
    "gone": frozenset({"within_s"}),
    "until": frozenset({"answer"}),
}
_CASE_KEYS: Final = frozenset(
    "id title tier requires capability without ttl_s provider flags files home model steps"
    " never manual".split()
)


class Tier(StrEnum):
    """How much a failure weighs."""

    MANDATORY = "mandatory"
    CAPABILITY = "capability"  # counts once the engine advertises it
    ADVISORY = "advisory"


class CaseError(ConfigError):
    """A case file is not what it should be."""


@dataclass(frozen=True, slots=True)
class Case:
    """One conversation and what must come of it. Times in seconds."""

    id: str
    title: str
    tier: Tier
    requires: tuple[str, ...]
    steps: tuple[JsonObject, ...]
    source: str
    capability: str | None = None
    without: str | None = None
    ttl_s: float | None = None
    provider: str | None = None
    flags: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    home: Mapping[str, str] = field(default_factory=dict[str, str])
    model: tuple[tuple[JsonObject, ...], ...] = ()
    never: tuple[JsonObject, ...] = ()
    manual: bool = False


def folder() -> Path:
    """Return where the case files are: in the checkout, or inside the installed package.

    Raises:
        CaseError: neither is there.
    """
    here = Path(__file__).parent
    for place in (here.parents[1] / "protocol-spec" / "cases", here / "cases"):
        if place.is_dir():
            return place
    raise CaseError("there are no case files here: name their folder with --cases DIR")


def load(place: Path) -> tuple[Case, ...]:
    """Return all cases below `place`, in the order of the files.

    Raises:
        CaseError: a file cannot be read or is wrong; names file and case.
    """
    found: dict[str, Case] = {}
    for path in sorted(place.glob("*.toml")):
        try:
            tables = tomllib.loads(path.read_text()).get("case", [])
        except (OSError, ValueError) as error:
            raise CaseError(f"{path.name}: {error}") from None
        for table in tables:
            case = _case(table, path.name)
            if case.id in found:
                raise CaseError(f"{path.name}: case {case.id}: there is another one of that id")
            found[case.id] = case
    if not found:
        raise CaseError(f"{place}: there are no cases in it")
    return tuple(found.values())


def chosen(cases: Iterable[Case], patterns: Iterable[str]) -> tuple[Case, ...]:
    """Return the cases whose id, or one of whose requirements, fits one of the patterns."""
    wanted = tuple(patterns) or ("*",)
    return tuple(
        case
        for case in cases
        if any(fnmatch.fnmatchcase(n, p) for p in wanted for n in (case.id, *case.requires))
    )


def kind_of(step: JsonObject) -> str:
    """Return what a step does."""
    return next(name for name in step if name in STEPS)


def _case(table: JsonObject, source: str) -> Case:
    name = table.get("id")
    if not isinstance(name, str):
        raise CaseError(f"{source}: a case without an id")
    at = f"{source}: case {name}"
    if unknown := set(table) - _CASE_KEYS:
        raise CaseError(f"{at}: unknown {', '.join(sorted(unknown))}")
    if not table.get("requires") or not table.get("steps") or not table.get("title"):
        raise CaseError(f"{at}: title, requires and steps must be there")
    for step in table["steps"]:
        _check_step(step, at)
    for item in [item for reply in table.get("model", []) for item in reply]:
        if len(set(item) & set(ITEMS)) != 1:
            raise CaseError(f"{at}: a model item is one of {', '.join(sorted(ITEMS))}: {item}")
    try:
        tier = Tier(table.get("tier", Tier.MANDATORY))
    except ValueError:
        raise CaseError(f"{at}: tier is one of {', '.join(Tier)}") from None
    tuples = {key: tuple(table.get(key, ())) for key in ("requires", "steps", "flags", "never")}
    rest = set(table) - set(tuples) - {"tier", "model"}
    model = tuple(tuple(reply) for reply in table.get("model", []))
    return Case(tier=tier, model=model, source=source, **tuples, **{k: table[k] for k in rest})


def _check_step(step: JsonObject, at: str) -> None:
    kinds = [key for key in step if key in STEPS]
    kind = next(iter(kinds), None)
    if kind is None:
        raise CaseError(f"{at}: {step} is no step; steps are {', '.join(STEPS)}")
    if unknown := set(step) - {kind} - STEPS[kind]:
        raise CaseError(f"{at}: {kind} does not know {', '.join(sorted(unknown))}")
    inner = {"each": "steps", "hear_all": "hear_all"}.get(kind)
    for one in cast("list[JsonObject]", step[inner] if inner else []):
        _check_step(one, at)
