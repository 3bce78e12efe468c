"""Whether a part of a text changes the folder in which it runs."""

from collections.abc import Sequence
from typing import Final

from wcore.policy.shell_paths.syntax import Close, Command, Event, Open, Scope

MOVERS: Final = frozenset("cd pushd popd eval trap".split())


def moves(events: Sequence[Event], *, whole: bool = False) -> bool:
    """Whether the folder is changed in the part that begins here, or anywhere behind."""
    depth, sheltered = 0, 0
    for event in events:
        if isinstance(event, Open):
            depth += 1
            sheltered += event.scope is Scope.SUBSHELL or sheltered > 0
        elif isinstance(event, Close):
            depth -= 1
            sheltered -= sheltered > 0
            if depth == 0 and not whole:
                return False
        elif isinstance(event, Command) and (whole or not sheltered):
            heads = [word.literal for word in event.words[:3]]
            if heads[:1] == [None] or not MOVERS.isdisjoint(heads):
                return True
    return False
