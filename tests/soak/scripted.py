"""What a hostile model says: replies for `--model script:FILE`. Pure: a `Random` in, replies out.

Every call that has an effect leaves a marker of its own in the workspace, and nothing else.
"""

import itertools
import json
from random import Random
from typing import Any, Final

MARKER: Final = "marker-"
SHELL: Final = (  # what is left running must not outlive the engine
    "touch {m}",
    "sleep 0.05; touch {m}",
    "touch {m}; sleep 60",
    "touch {m}; sleep 60 &",
    "touch {m}; setsid sleep 61 >/dev/null 2>&1 &",
    "trap '' TERM INT HUP; touch {m}; sleep 62",
    "touch {m}; head -c 300000 /dev/zero",
    "touch {m}; printf '\\377\\033[2J\\n\\0'; exit 3",
    "touch {m}; (touch {m}-b; sleep 63) & exit 0",
)
TEXTS: Final = ("", "hello", "\u0000\u001b[31m", "\u202e\u2028", "{}", "\U0001f600" * 50)
ODD_NAMES: Final = (
    "Teleport",
    "bash",
    "Bash ",
    "mcp__x__y",
    "tool\n\u0000",
    "é" * 200,
    "..",
    "a" * 5000,
)
BROKEN: Final = (
    "{",
    "[1, 2]",
    '"text"',
    "null",
    "{}{}",
    '{"command": ',
    '{"command": "\\ud800"}',
    "NaN",
)
WRONG: Final[tuple[object, ...]] = (None, 1, [], {})  # no argument is any of these


class Scripted:
    """Makes replies; knows which markers it used."""

    def __init__(self, chance: Random, *, hostile: bool) -> None:
        self._chance = chance
        self._hostile = hostile
        self._numbers = itertools.count(1)

    def replies(self, count: int) -> list[list[object]]:
        """Return this many replies."""
        return [self._reply() for _ in range(count)]

    def _reply(self) -> list[object]:
        chance = self._chance
        items: list[object] = [self._words() for _ in range(chance.randrange(3))]
        items += [self._call() for _ in range(chance.choice((0, 1, 1, 2, 4)))]
        if self._hostile:
            chance.shuffle(items)
            items += self._ending()
        return items

    def _words(self) -> dict[str, object]:
        kind = self._chance.choice(("text", "thinking"))
        item: dict[str, object] = {kind: self._chance.choice(TEXTS)}
        if self._hostile:
            match self._chance.randrange(6):
                case 0:
                    item = {kind: "{n} ", "repeat": 2000}
                case 1:
                    item[kind] = "huge " * 200_000
                case _:
                    pass
        return item

    def _ending(self) -> list[object]:
        chance = self._chance
        match chance.randrange(9):
            case 0:
                return [{"stall": True}]
            case 1:
                return [{"stall_ms": chance.randint(1, 80)}, {"text": "late"}]
            case 2:
                code = chance.choice(("provider_error", "auth_invalid", "context_overflow"))
                error = {"message": "no\u0000", "retryable": chance.random() < 0.3, "code": code}
                return [{"error": error}]
            case 3:
                return [{"finish": chance.choice(("stop", "length", "tools"))}]
            case 4:
                return [{"usage": {"input_tokens": 2**40, "output_tokens": 0}}]
            case _:
                return []

    def _call(self) -> dict[str, object]:
        chance = self._chance
        name, args = self._wanted()
        made: dict[str, object] = {"name": name, "args": args}
        if not self._hostile:
            return {"call": made}
        if chance.random() < 0.3:
            made["id"] = chance.choice(("", "same", "same", "x" * 400, "a\nb"))
        match chance.randrange(12):
            case 0:
                made["name"] = chance.choice(ODD_NAMES)
            case 1:
                del made["args"]
                made["raw"] = chance.choice(BROKEN)
            case 2:
                del made["args"]
                text = json.dumps(args)
                made["raw"] = text[: chance.randrange(len(text))]
            case 3:
                made["args"] = {key: chance.choice(WRONG) for key in args}
            case 4:
                return {"call": {"name": "Read", "args": {"file_path": "f{n}"}}, "repeat": 30}
            case _:
                pass
        return {"call": made}

    def _wanted(self) -> tuple[str, dict[str, Any]]:
        """Return a call: its tool and arguments."""
        chance, marker = self._chance, f"{MARKER}{next(self._numbers)}"
        question = {"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}
        return chance.choice(
            (
                ("Bash", {"command": chance.choice(SHELL).format(m=marker)}),
                ("Bash", {"command": f"touch {marker}"}),
                ("Write", {"file_path": marker, "content": chance.choice(TEXTS)}),
                ("Write", {"file_path": f"deep/{marker}", "content": "x"}),
                ("Edit", {"file_path": "seen.txt", "old_string": "a", "new_string": "a"}),
                ("Edit", {"file_path": "seen.txt", "old_string": "seen", "new_string": "seen a"}),
                ("Delete", {"file_path": f"{MARKER}1"}),
                ("Read", {"file_path": chance.choice(("seen.txt", "none", "/dev/zero", "."))}),
                ("LS", {"path": chance.choice((".", "..", "none"))}),
                ("Glob", {"pattern": chance.choice(("**/*", "[", "*" * 50))}),
                ("Grep", {"pattern": chance.choice(("seen", "(a+)+$", "["))}),
                ("AskUserQuestion", {"questions": [question]}),
                ("Spawn", {"task": "look", "agent": chance.choice(("general", "explore", "none"))}),
            )
        )
