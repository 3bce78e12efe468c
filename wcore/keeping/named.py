"""The paths of a shell text in a journal record: to JSON and back."""

from collections.abc import Mapping, Sequence

from wcore.vocabulary import Access, Json, PathFact


def fact(path: PathFact) -> list[Json]:
    """Return one path as a record holds it."""
    return [path.path, path.access.value, path.inside, path.protected, path.own, path.unknown]


def named(body: Mapping[str, Json]) -> tuple[PathFact, ...] | None:
    """Return the paths of a shell text in a `prepared`; `None` where nobody had looked."""
    if "named" not in body:
        return None
    found = body["named"]
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise TypeError("named is no list")
    return tuple(_named(each) for each in found)


def _named(each: Json) -> PathFact:
    match each:
        case [
            str(path),
            str(access),
            bool(inside),
            (str() | None) as why,
            bool(own),
            bool(unknown),
        ]:
            return PathFact(path, Access(access), inside, why, own, unknown)
        case _:
            raise TypeError("a path is none")
