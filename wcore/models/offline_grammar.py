"""The offline model's grammar: plain requests become steps. Pure, and every text has an answer.

A request is steps joined by `then` (one reply each) or `also` (calls of the same reply); a step is
a verb and its form, see `FORMS`. The joining word counts only outside quotes, before a known verb
and not behind a `;`, so that `run if true; then echo yes; fi` stays one command.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct

from wcore.vocabulary import Args

FORMS: Final[Mapping[str, str]] = {
    "read": "read PATH",
    "list": "list [PATH or GLOB]",
    "find": "find GLOB",
    "search": "search PATTERN [in PATH]",
    "run": "run COMMAND",
    "write": "write PATH: CONTENT",
    "edit": "edit PATH: OLD => NEW",
    "delete": "delete PATH",
    "ask": "ask QUESTION? OPTION | OPTION",
}


STEPS_MAX: Final = 1_000  # of one request; about as many as calls may wait for an answer


class Step(Struct, frozen=True):
    """One tool call, and the words that asked for it."""

    said: str
    tool: str
    args: Args


class Unclear(Struct, frozen=True):
    """What starts like a request but is none, and why."""

    said: str
    why: str


Plan: TypeAlias = tuple[tuple[Step, ...], ...]  # one inner tuple a reply
_Call: TypeAlias = tuple[str, Args]

_VERBS: Final = "|".join(FORMS)
_START: Final = re.compile(rf"(?:please\s+)?({_VERBS})(?:\s+|\Z)", re.IGNORECASE)
_QUOTED: Final = r""" "[^"]*" | '[^']*' | `[^`]*` """
_JOINT: Final = re.compile(
    rf"""(?<!\w)(?:{_QUOTED})
    | (?<![;,\s]) ,? \s+ (?:and\s+)? (?P<word>then|also) \s+
      (?=(?:please\s+)?(?:{_VERBS})(?:\s|\Z))""",
    re.IGNORECASE | re.VERBOSE,
)
_PATH: Final = re.compile(rf"(?:{_QUOTED}|[^\s\"'`]\S*)", re.VERBOSE)
_ALL_QUOTED: Final = re.compile(_QUOTED, re.VERBOSE)
_TARGET: Final = re.compile(  # `PATH:`; a colon before a blank wins, so that `C:\x: y` works
    rf"(?P<path>{_QUOTED}|[^\s\"'`]\S*?(?=\s*:(?:\s|\Z))|[^\s:\"'`]+) \s*: (?:[\ \t]*\r?\n|\ )?",
    re.VERBOSE,
)
_ARROW: Final = re.compile(r"(?: |\r?\n)=>(?: |\r?\n|\Z)")


def understand(text: str) -> Plan | Unclear | None:
    """Return what to do; `None` when the text does not start with a verb."""
    if _START.match(text.lstrip()) is None:
        return None
    segments = _segments(text.lstrip())
    if len(segments) > STEPS_MAX:
        return Unclear(text, f"A request has {STEPS_MAX} steps at most.")
    rounds: list[tuple[Step, ...]] = []
    for joined_by, said in segments:
        step = _step(said)
        if isinstance(step, Unclear):
            return step
        if joined_by == "also":
            rounds[-1] = (*rounds[-1], step)
        else:
            rounds.append((step,))
    return tuple(rounds)


def _segments(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    joined_by, start = "", 0
    for joint in _JOINT.finditer(text):
        if word := joint["word"]:
            found.append((joined_by, text[start : joint.start()]))
            joined_by, start = word.lower(), joint.end()
    found.append((joined_by, text[start:]))
    return found


def _step(said: str) -> Step | Unclear:
    start = _START.match(said)
    assert start is not None, "segments are cut before verbs"
    verb = start[1].lower()
    call = _READERS[verb](said[start.end() :])
    if call is None:
        return Unclear(said.strip(), f"The form is `{FORMS[verb]}`.")
    return Step(said.strip(), *call)


def _path(text: str) -> str | None:
    """One word or one quoted text; several bare words are more likely prose than a path."""
    text = text.strip()
    if _PATH.fullmatch(text) is None:
        return None
    bare = text[1:-1] if text[0] in "\"'`" else text
    return bare or None


def _file(text: str) -> str | None:
    """The same for what is a file: hosts complete names behind an `@`, which is no part of them."""
    return _path(text.strip().removeprefix("@"))


def _read(rest: str) -> _Call | None:
    path = _file(rest)
    return None if path is None else ("Read", {"file_path": path})


def _delete(rest: str) -> _Call | None:
    path = _file(rest)
    return None if path is None else ("Delete", {"file_path": path})


def _find(rest: str) -> _Call | None:
    pattern = _path(rest)
    return None if pattern is None else ("Glob", {"pattern": pattern})


def _list(rest: str) -> _Call | None:
    if not rest.strip():
        return "LS", {"path": "."}
    path = _file(rest)
    if path is None:
        return None
    return ("Glob", {"pattern": path}) if re.search(r"[*?\[]", path) else ("LS", {"path": path})


def _search(rest: str) -> _Call | None:
    rest = rest.strip()
    if not rest:
        return None
    pattern, joint, place = rest.rpartition(" in ")
    path = _file(place) if joint and not _ALL_QUOTED.fullmatch(rest) else None
    if path is None or not pattern.strip():
        return "Grep", {"pattern": _path(rest) or rest}
    return "Grep", {"pattern": _path(pattern) or pattern.strip(), "path": path}


def _run(rest: str) -> _Call | None:
    return ("Bash", {"command": rest.strip()}) if rest.strip() else None


def _write(rest: str) -> _Call | None:
    target = _TARGET.match(rest)
    path = _file(target["path"]) if target else None
    if target is None or path is None:
        return None
    return "Write", {"file_path": path, "content": rest[target.end() :]}


def _edit(rest: str) -> _Call | None:
    target = _TARGET.match(rest)
    path = _file(target["path"]) if target else None
    if target is None or path is None:
        return None
    change = rest[target.end() :].removesuffix("\n")  # ends the message, not the new text
    arrow = _ARROW.search(change)
    old, found, new = change.partition(arrow[0] if arrow else "=>")
    if not old or not found:
        return None
    return "Edit", {"file_path": path, "old_string": old, "new_string": new}


def _ask(rest: str) -> _Call | None:
    mark = rest.rfind("?", 0, rest.find("|"))  # the last one before the first option ends
    labels = dict.fromkeys(label.strip() for label in rest[mark + 1 :].split("|"))
    options = [{"label": label, "description": ""} for label in labels if label]
    if mark < 1 or len(options) < 2:
        return None
    question = rest[: mark + 1].strip()
    return "AskUserQuestion", {
        "question": question,
        "header": "Question",
        "options": options,
        "multiSelect": False,
    }


_READERS: Final[Mapping[str, Callable[[str], _Call | None]]] = {
    "read": _read,
    "list": _list,
    "find": _find,
    "search": _search,
    "run": _run,
    "write": _write,
    "edit": _edit,
    "delete": _delete,
    "ask": _ask,
}
