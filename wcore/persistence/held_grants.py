"""Lasting grants as the session holds them: those of its start, and those of its own host."""

from collections.abc import Iterable
from typing import TypeAlias

from msgspec.structs import replace

from wcore.store import LastingGrant, LoadedGrants

Meaning: TypeAlias = tuple[object, ...]


class HeldGrants:
    """Which lasting grants count: what is held, as long as it is still stored.

    A grant that was taken back is held no longer, so that whoever puts it in again changes
    nothing here. `waiting` are those that somebody else has put in since.
    """

    def __init__(self) -> None:
        self.stored: tuple[LastingGrant, ...] = ()  # as they were read last
        self._held: dict[Meaning, LastingGrant] | None = None  # `None` until they could be read

    @property
    def waiting(self) -> list[LastingGrant]:
        """The stored grants that do not count."""
        held = self._held or {}
        return [each for each in self.stored if _meaning(each) not in held]

    def read(self, loaded: LoadedGrants) -> list[LastingGrant]:
        """Know what is stored; return the grants that count.

        Each is as it was held, under the id that it has in the store now.
        """
        self.stored = loaded.grants
        stored = {_meaning(each): each for each in loaded.grants}
        if self._held is None:
            if loaded.problem and not loaded.grants:
                return []
            self._held = dict(stored)
        if not loaded.problem:  # else one that is missing may only be unreadable for now
            self._held = {what: each for what, each in self._held.items() if what in stored}
        return [
            replace(self._held[what], grant_id=each.grant_id, uses=each.uses)
            for what, each in stored.items()
            if what in self._held
        ]

    def hold(self, grant: LastingGrant) -> None:
        """Hold a grant that the own host has given."""
        if self._held is None:
            self._held = {}
        self._held[_meaning(grant)] = grant

    def drop(self, grant_id: str) -> None:
        """Hold a grant no longer that the own host has taken back, also if it is stored twice."""
        for each in self.stored:
            if each.grant_id == grant_id and self._held is not None:
                self._held.pop(_meaning(each), None)

    def accept(self) -> None:
        """Hold all that is stored: the own host has agreed."""
        self._held = {_meaning(each): each for each in self.stored}


def _meaning(grant: LastingGrant) -> Meaning:
    """Return what a grant allows, and until when; not its id, which a rewritten row changes."""
    return (
        *(grant.tool, grant.scope, grant.persist, grant.agent, grant.agent_digest),
        *(grant.launch_digest, grant.schema_digest, grant.ties_digest, grant.expires_at),
    )


def meanings(grants: Iterable[LastingGrant]) -> list[str]:
    """Return what `grants` allow, in a form that can be digested."""
    return sorted(repr(_meaning(each)) for each in grants)
