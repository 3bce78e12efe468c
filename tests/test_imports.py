"""Modules import each other in one direction: each can be read with what is below it alone."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest
from test_tidy import SOURCES, sources, tree


def dotted(path: Path) -> str:
    """Return the name of a module; that of a package ends in `.__init__`."""
    folder = next(folder.parent for folder in SOURCES if path.is_relative_to(folder))
    return ".".join(path.relative_to(folder).with_suffix("").parts)


def imported(module: ast.Module, package: str) -> Iterator[str]:
    """Yield the names that a module imports, also within functions and under `TYPE_CHECKING`."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), package)
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def test_no_modules_import_each_other_in_a_circle() -> None:
    paths = {dotted(path): path for path in sources()}

    def found(name: str) -> str | None:
        """Return the module that has, or is, what `name` says."""
        parent = name.rpartition(".")[0]
        places = (name, f"{name}.__init__", parent, f"{parent}.__init__")
        return next((place for place in places if place in paths), None)

    graph = {
        name: {found(each) for each in imported(tree(path), name.rpartition(".")[0])} - {None}
        for name, path in paths.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" is imported by ".join(error.args[1]))
