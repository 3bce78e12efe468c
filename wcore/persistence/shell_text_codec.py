"""The paths and programs of a shell text in a journal record: to JSON and back."""

from collections.abc import Iterator, Mapping, Sequence

from wcore.vocabulary import Access, Json, PathFact, ProgramFact


def fact(path: PathFact) -> list[Json]:
    """Return one path as a record holds it."""
    found: list[Json] = [path.path, path.access.value, path.inside]
    found += [path.protected, path.own, path.unknown]
    return found if path.danger is None else [*found, path.danger]


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
            *danger,
        ]:
            known = next(iter(danger), None)
            if len(danger) > 1 or not isinstance(known, str | None):
                raise TypeError("a path is none")
            return PathFact(path, Access(access), inside, why, own, unknown, known)
        case _:
            raise TypeError("a path is none")


def program_fact(program: ProgramFact) -> list[Json]:
    """Return one program as a record holds it."""
    return [program.word, program.path, program.inside, program.shadows]


def programs(body: Mapping[str, Json]) -> tuple[ProgramFact, ...]:
    """Return the programs of a shell text in a `prepared`; what is none is left out."""
    found = body.get("programs")
    listed = found if isinstance(found, list | tuple) else ()
    return tuple(fact for each in listed for fact in _programs(each))


def _programs(each: Json) -> Iterator[ProgramFact]:
    match each:
        case [str(word), str(path), bool(inside), bool(shadows)]:
            yield ProgramFact(word, path, inside, shadows)
        case _:
            pass
