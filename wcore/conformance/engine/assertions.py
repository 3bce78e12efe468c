"""Steps that look: at files, at what the model was told, at what was heard."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

import anyio

from wcore.conformance.engine import dialects
from wcore.conformance.engine.case_context import CaseContext
from wcore.conformance.engine.conversation import PATIENCE_S, MismatchError
from wcore.conformance.engine.patterns import difference, found
from wcore.conformance.json_object import JsonObject

LOOK_S: Final = 0.02  # between two looks at a file
STILL_S: Final = 0.5  # a process that writes every 50 ms would have written ten times


async def _file(context: CaseContext, step: JsonObject) -> None:
    """Wait until a file is there and as it should be."""
    path = context.workspace / step["file"]
    end = anyio.current_time() + step.get("within_s", PATIENCE_S) * context.engine.slack
    while (why := _unlike(path, step)) is not None:
        if anyio.current_time() >= end:
            raise MismatchError(f"{step['file']} {why}")
        await anyio.sleep(LOOK_S)


async def _no_file(context: CaseContext, step: JsonObject) -> None:
    if (context.workspace / step["no_file"]).exists():
        raise MismatchError(f"{step['no_file']} exists: something ran that must not have")


async def _only_files(context: CaseContext, step: JsonObject) -> None:
    names = sorted(str(p.relative_to(context.workspace)) for p in context.workspace.rglob("*"))
    if names != sorted(step["only_files"]):
        raise MismatchError(f"the workspace holds {names}, not {step['only_files']}")


async def _file_lacks(context: CaseContext, step: JsonObject) -> None:
    if step["text"] in _read(context.workspace / step["file_lacks"]):
        raise MismatchError(f"{step['file_lacks']} holds what it must not hold")


async def _change(context: CaseContext, step: JsonObject) -> None:
    (context.workspace / step["change"]).write_text(step["to"])


async def _still(context: CaseContext, step: JsonObject) -> None:
    """Prove that nobody writes to a file any more: what wrote it is dead."""
    path = context.workspace / step["still"]
    before = path.stat().st_size
    await anyio.sleep(STILL_S)
    if path.stat().st_size != before:
        raise MismatchError(f"{step['still']} still grows: a process of the tool lives on")


async def _moves(context: CaseContext, step: JsonObject) -> None:
    """Wait until somebody writes to a file."""
    path = context.workspace / step["moves"]
    end = anyio.current_time() + PATIENCE_S * context.engine.slack
    before = path.stat().st_size if path.exists() else 0
    while not path.exists() or path.stat().st_size <= before:
        if anyio.current_time() >= end:
            raise MismatchError(f"{step['moves']} does not grow: the tool does not run")
        await anyio.sleep(LOOK_S)


async def _told(context: CaseContext, step: JsonObject) -> None:
    """Check what the model was given with the last request, in order."""
    given = "\n".join(dialects.given(_last(context)))
    at = 0
    for text in step["told"]:
        at = given.find(text, at)
        if at < 0:
            raise MismatchError(f"the model was not told {text!r} (in this order): {given[-600:]}")
        at += len(text)
    for text in step.get("not", []):
        if text in given:
            raise MismatchError(f"the model was told {text!r}")


async def _offered(context: CaseContext, step: JsonObject) -> None:
    names = dialects.offered(_last(context))
    for name in step["offered"]:
        if name not in names:
            raise MismatchError(f"the model is not offered {name}: {names}")
    for name in step.get("not", []):
        if name in names:
            raise MismatchError(f"the model is offered {name}")


async def _asked(context: CaseContext, step: JsonObject) -> None:
    if len(context.provider.asked) != step["asked"]:
        count = len(context.provider.asked)
        raise MismatchError(f"the model was asked {count} times, not {step['asked']} times")


async def _request(context: CaseContext, step: JsonObject) -> None:
    """Check fields of the last request to the model."""
    why = difference(_last(context), {"hear": step["request"]})
    if why is not None:
        raise MismatchError(f"the request to the model: {why}")


async def _answered(context: CaseContext, step: JsonObject) -> None:
    """Check under which ids the model was given its results."""
    ids = dialects.answered(_last(context))
    if ids != step["answered"]:
        raise MismatchError(f"results went to the model under {ids}, not {step['answered']}")


async def _never_said(context: CaseContext, step: JsonObject) -> None:
    """Check that a text is in no event so far, but of some types."""
    allowed = step.get("outside", [])
    for talk in context.talks:
        for event, line in talk.heard:
            if step["never_said"] in line and event["type"] not in allowed:
                raise MismatchError(f"{event['type']} holds a text that it must not hold")


async def _hidden(context: CaseContext, step: JsonObject) -> None:
    """Check that a text is in none of some fields of what was heard, where they are there."""
    for path in step["in"]:
        value = found(context.known, path)
        if isinstance(value, str) and step["hidden"] in value:
            raise MismatchError(f"{path} holds {step['hidden']!r}")


async def _same(context: CaseContext, step: JsonObject) -> None:
    values = [found(context.known, path) for path in step["same"]]
    if any(value != values[0] for value in values):
        raise MismatchError(f"{' and '.join(step['same'])} differ: {values}")


async def _matches(context: CaseContext, step: JsonObject) -> None:
    """Check a part of what was heard."""
    part = found(context.known[step["matches"]], step["path"])
    why = difference(part, {"hear": step["like"]})
    if why is not None:
        raise MismatchError(f"{step['path']} of {step['matches']}: {why}")


async def _heard(context: CaseContext, step: JsonObject) -> None:
    """Check how many events of a type there were so far."""
    count = sum(event["type"] == step["heard"] for event, _ in context.engine.heard)
    if count != step["times"]:
        raise MismatchError(f"{step['heard']} came {count} times, not {step['times']} times")


def _unlike(path: Path, step: JsonObject) -> str | None:
    if not path.is_file():
        return "does not exist"
    text = _read(path)
    if "is" in step and text != step["is"]:
        return f"is {text[:200]!r}, not {step['is']!r}"
    if "contains" in step and step["contains"] not in text:
        return f"is {text[:200]!r}, without {step['contains']!r}"
    return None


def _last(context: CaseContext) -> JsonObject:
    if not context.provider.asked:
        raise MismatchError("the engine has not asked the model")
    return context.provider.asked[-1]


def _read(path: Path) -> str:
    """Return a file's text; what is no UTF-8 is escaped."""
    return path.read_bytes().decode(errors="backslashreplace")


LOOKERS: Final[Mapping[str, Callable[[CaseContext, JsonObject], Awaitable[None]]]] = {
    "file": _file,
    "no_file": _no_file,
    "only_files": _only_files,
    "file_lacks": _file_lacks,
    "change": _change,
    "still": _still,
    "moves": _moves,
    "told": _told,
    "offered": _offered,
    "asked": _asked,
    "request": _request,
    "answered": _answered,
    "never_said": _never_said,
    "hidden": _hidden,
    "same": _same,
    "matches": _matches,
    "heard": _heard,
}
