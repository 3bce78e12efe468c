"""The second opinion: bashlex, an independent parser, must see the same words.

bashlex has faults of its own (live commands missing from its tree, texts on which it never ends),
so its approval alone means nothing. It is asked only about texts that our lexer understood, never
about one with a `${` that could make it loop, and every node it returns must be of a kind that we
know. It takes 0.2 s to import: that happens on the first question.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from wcore.policy.shell.characters import NAME
from wcore.policy.shell.model import SimpleCommand, Span
from wcore.policy.shell.reasons import Reason

_OPEN_BRACE: Final = re.compile(rf"\$\{{(?!{NAME}\}})")
_PARAMETER: Final = re.compile(r"[A-Za-z_]\w*|\?")
_TILDE: Final = re.compile(r"~[\w.-]*")

_ALWAYS: Final = {"kind", "pos", "s"}
#: For each kind of node, the attributes that it has, and no others.
_KINDS: Final = {
    "list": {"parts"},
    "pipeline": {"parts"},
    "command": {"parts"},
    "word": {"word", "parts"},
    "assignment": {"word", "parts"},
    "operator": {"op"},
    "pipe": {"pipe"},
    "redirect": {"input", "type", "output", "heredoc"},
    "parameter": {"value"},
    "tilde": {"value"},
}
_INSIDE: Final = {
    "list": {"command", "pipeline", "operator"},
    "pipeline": {"command", "pipe"},
    "command": {"word", "assignment", "redirect"},
    "word": {"parameter", "tilde"},
    "assignment": {"parameter", "tilde"},
}

Outline = tuple[tuple[Span, ...], tuple[tuple[int | None, str, Span | int], ...]]


class _Unknown(Exception):  # noqa: N818 - the tree has something that we do not know
    pass


class Disagreement(Struct, frozen=True):
    """The two analyses do not agree. `span` counts characters."""

    reason: Reason
    span: Span | None = None


def find_doubt(text: str, commands: tuple[SimpleCommand, ...]) -> Disagreement | None:
    """Return why the second analysis of `text` does not confirm `commands`, if it does not."""
    for reading in (text, text.replace("\\\n", "")):
        if brace := _OPEN_BRACE.search(reading):
            return Disagreement(Reason.EXPANSION, brace.span() if reading is text else None)
    try:
        outlines = list(_outlines(text))
    except Exception:  # noqa: BLE001 - six kinds are known, and all mean the same
        return Disagreement(Reason.PARSER_FAILED)
    for command, outline in zip(commands, outlines, strict=False):
        if _outline_of(command) != outline:
            return Disagreement(Reason.PARSER_DISAGREES, command.span)
    if len(outlines) != len(commands):
        return Disagreement(Reason.PARSER_DISAGREES)
    return None


def warm() -> None:
    """Import the parser now rather than on the first question."""
    list(_outlines(":"))


def _outline_of(command: SimpleCommand) -> Outline:
    words = tuple(word.span for word in command.words)
    redirects = tuple(
        (r.fd, r.operator, int(r.target.source) if r.operator == ">&" else r.target.span)
        for r in command.redirects
    )
    return words, redirects


def _outlines(text: str) -> Iterator[Outline]:
    import bashlex  # noqa: PLC0415 - see the module's docstring  # pyright: ignore

    trees: list[Any] = bashlex.parse(text)  # pyright: ignore
    for tree in trees:
        if tree.kind not in ("list", "pipeline", "command"):
            raise _Unknown(tree.kind)
        yield from _walk(tree)


def _walk(node: Any) -> Iterator[Outline]:
    _check(node)
    if node.kind == "command":
        yield _outline(node)
    elif node.kind in ("list", "pipeline"):
        for part in node.parts:
            yield from _walk(part)


def _outline(command: Any) -> Outline:
    words: list[Span] = []
    redirects: list[tuple[int | None, str, Span | int]] = []
    for part in command.parts:
        _check(part)
        if part.kind == "redirect":
            redirects.append((part.input, part.type, _target(part.output)))
        else:
            words.append(tuple(part.pos))
            for inner in part.parts:
                _check(inner)
    return tuple(words), tuple(redirects)


def _target(output: Any) -> Span | int:
    if isinstance(output, int):
        return output
    _check(output)
    if output.kind != "word" or output.parts:
        raise _Unknown("redirection")
    span: Span = tuple(output.pos)
    return span


def _check(node: Any) -> None:
    """Raise unless the node, but for its children's own attributes, is one that we know."""
    kind: str = node.kind
    attributes: dict[str, object] = node.__dict__
    if attributes.keys() - _ALWAYS != _KINDS[kind]:
        raise _Unknown(kind)
    if kind in _INSIDE and not {part.kind for part in node.parts} <= _INSIDE[kind]:
        raise _Unknown(kind)
    if not _is_known(node):
        raise _Unknown(kind)


def _is_known(node: Any) -> bool:
    match node.kind:
        case "operator":
            return node.op in (";", "&&", "||", "\n")
        case "pipe":
            return node.pipe == "|"
        case "redirect":
            return node.heredoc is None
        case "parameter":
            return _PARAMETER.fullmatch(node.value) is not None
        case "tilde":
            return _TILDE.fullmatch(node.value) is not None
        case _:
            return True
