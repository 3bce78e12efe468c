"""A model without HTTP: what a case scripts, as a file in the format of `script-format.md`.

For engines that can replay such a file, ours among them. What the model is told cannot be looked at
then, and the position in the script belongs to one process.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Final

from wcore.conformance.engine.command import HookMissingError
from wcore.conformance.engine.provider import LAST_WORDS
from wcore.conformance.json_object import JsonObject
from wcore.conformance.script import padded

UNSEEN: Final = "what the model is told is not seen with {script}"
TWICE: Final = "a {script} begins anew with every process"
#: Steps that look at what the model was told.
LOOKS: Final = frozenset("told offered answered request asked".split())
REPLIES_AFTER: Final = 100  # no case goes on for so long when its script is over


class Scripted:
    """Stands where the provider does; there is nothing to be asked."""

    url = ""

    @property
    def asked(self) -> list[JsonObject]:
        """Nothing that could be looked at.

        Raises:
            HookMissingError: always.
        """
        raise HookMissingError(UNSEEN)


def looks(steps: Iterable[JsonObject]) -> bool:
    """Whether one of these steps looks at what the model was told."""
    return any(LOOKS & set(step) or looks(step.get("steps", ())) for step in steps)


def script_of(replies: Sequence[tuple[JsonObject, ...]]) -> str:
    """Return the file: a line for each reply, and last words without end."""
    lines = [{"say": _ended([padded(item) for item in reply])} for reply in replies]
    lines += [{"say": [{"text": LAST_WORDS}]}] * REPLIES_AFTER
    return "".join(json.dumps(line) + "\n" for line in lines)


def _ended(items: list[JsonObject]) -> list[JsonObject]:
    """Return the items up to the one that ends the reply; none may follow it in a script."""
    last = next((n for n, item in enumerate(items, 1) if "error" in item or "stall" in item), None)
    return items[:last]
