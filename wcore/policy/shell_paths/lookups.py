"""What of the paths of a shell text is looked up on disk, and what is said of it. Values."""

from msgspec import Struct


class Found(Struct, frozen=True):
    """What is on disk. `real`: where a path leads, or the paths that fit a pattern.

    Of a pattern it is the folder it begins with that `exists`. Not `complete`: a pattern fits more
    than was looked at, or it could not be looked at.
    """

    real: tuple[str, ...]
    exists: bool = True
    has_parent: bool = True
    complete: bool = True


class Component(Struct, frozen=True):
    """One name of a path: `parts` with any characters between them; one part is literal.

    `hidden`: a leading dot fits a hole as well. `deep`: it stands for any folders, or none.
    """

    parts: tuple[str, ...]
    hidden: bool = False
    deep: bool = False

    def fits(self, name: str) -> bool:
        """Whether it may be `name`; linear, letters in either case."""
        if len(self.parts) == 1:
            return name == self.parts[0]
        if not self.parts[0] and not self.hidden and name.startswith("."):
            return False
        folded = name.casefold()
        first, *middle, last = (part.casefold() for part in self.parts)
        if not folded.startswith(first):
            return False
        at = len(first)
        for part in middle:
            found = folded.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        return len(folded) - at >= len(last) and folded.endswith(last)


class Candidate(Struct, frozen=True):
    """What to look up. `holes`: where a `*` in `path` stands for any characters but `/`.

    Those in `patterns` take no leading dot of a name, those in `deep` are components that stand for
    any folders or none. A path without holes is literal. Letters fit in either case.
    """

    path: str
    holes: tuple[int, ...] = ()
    patterns: tuple[int, ...] = ()
    deep: tuple[int, ...] = ()

    @property
    def components(self) -> list[Component]:
        """The names that the path is made of, each as the literal parts between its holes."""
        found: list[Component] = []
        at = 1
        for name in self.path[1:].split("/"):
            cuts = [hole - at for hole in self.holes if at <= hole < at + len(name)]
            edges = zip([-1, *cuts], [*cuts, len(name)], strict=True)
            parts = tuple(name[begin + 1 : end] for begin, end in edges)
            found.append(Component(parts, at not in self.patterns, at in self.deep))
            at += len(name) + 1
        return found
