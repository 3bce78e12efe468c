"""The words of docstrings: what they name is there, and a newcomer knows them."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from test_tidy import ROOT, named, sources, tree

#: Words that once stood for parts of this program and are known to nobody else.
PRIVATE: Final = re.compile(
    r"\b(hall|rims?|rooms|doors?|stage|scene|board|epitaph|judge|mouth|flight|keeper)\b",
    re.IGNORECASE,
)
EXAMPLES: Final = {"a_b", "b_c", "mcp_a_b_c"}  # names of servers and tools
OTHERS: Final = {
    "mcp_server_tool",
    "mcp__server__tool",
    "server__tool",
    "server_tool",
    "getopt_long",
}
QUOTED: Final = re.compile(r"`([^`\n]+)`")
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*(\(\))?")
WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree(path)):
        if isinstance(node, kinds) and (text := ast.get_docstring(node, clean=False)):
            yield getattr(node, "lineno", 1), text


@cache
def written(path: Path) -> frozenset[str]:
    """Every word of a file outside of its docstrings: names, texts and comments."""
    text = path.read_text()
    for _, docstring in docstrings(path):
        text = text.replace(docstring, "", 1)
    return frozenset(WORD.findall(text))


@cache
def everywhere() -> frozenset[str]:
    pages = [*(ROOT / "protocol-spec").rglob("*.toml"), *(ROOT / "protocol-spec").glob("*.md")]
    words = set[str]().union(*(written(path) for path in sources()))
    return frozenset(words.union(*(WORD.findall(page.read_text()) for page in pages)))


@cache
def modules() -> frozenset[str]:
    return frozenset(part for path in sources() for part in named(path)[:-3].split("/"))


def missing(quoted: str) -> bool:
    """Whether a name is nowhere; what is no name is an example, a path, a piece of shell."""
    if not NAME.fullmatch(quoted) or quoted in EXAMPLES | OTHERS:
        return False
    parts = quoted.removesuffix("()").removesuffix(".py").split(".")
    known = everywhere() | modules()
    return not all(part in known for part in parts)


def test_what_a_docstring_names_is_there() -> None:
    found = {
        f"{named(path)}:{line}: `{quoted}`"
        for path in sources()
        for line, text in docstrings(path)
        for quoted in QUOTED.findall(text)
        if missing(quoted)
    }
    assert found == set()


def test_words_are_those_of_the_field() -> None:
    found = {
        f"{named(path)}:{line}: {word}"
        for path in sources()
        for line, text in docstrings(path)
        for word in PRIVATE.findall(text)
    } | {
        f"{named(path)}: {word}"
        for path in sources()
        for name in names(path)
        for word in PRIVATE.findall(name.replace("_", " "))
    }
    assert found == set()


def names(path: Path) -> Iterator[str]:
    """Yield the names that a file gives."""
    for node in ast.walk(tree(path)):
        match node:
            case (
                ast.ClassDef(name=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
            ):
                yield re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case _:
                pass
