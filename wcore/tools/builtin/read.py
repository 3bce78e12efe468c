"""Read: lines of a text file with their numbers, or an image."""

import base64
import os
from collections.abc import Iterator
from typing import Final

from anyio import from_thread, to_thread
from msgspec import Struct
from pydantic import Field

from wcore.alike_names import looks_same, true_name
from wcore.errors import ToolError
from wcore.file_content import FileContent
from wcore.tools.arguments import Arguments, FilePath, parse, schema_of
from wcore.tools.digests import call_digest
from wcore.tools.fs.editorconfig import charset_for
from wcore.tools.fs.files import digest_of, os_errors
from wcore.tools.fs.line_window import Window, window
from wcore.tools.fs.paths import (
    description_line,
    display_path,
    open_file,
    quote_path,
    resolved,
    target_paths,
)
from wcore.tools.fs.text_encoding import BYTES_KEPT, declared, encoding_of, looks_binary
from wcore.tools.tool import RunContext, ToolEnvironment
from wcore.vocabulary import (
    Access,
    Args,
    Category,
    PathAccess,
    Prepared,
    Status,
    ToolOutput,
    ToolSpec,
)

NAME = "Read"
LINES_DEFAULT: Final = 2000
IMAGE_BYTES_MAX: Final = 5 * 1024 * 1024  # 6.7 MB as base64: still one line of the wire
SNIFF_BYTES: Final = 8192  # where a NUL shows a binary file, as in git
CHUNK_BYTES: Final = 1024 * 1024  # reading in pieces keeps memory flat
_IMAGES: Final = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF87a", 0, "image/gif"),
    (b"GIF89a", 0, "image/gif"),
    (b"WEBPVP8", 8, "image/webp"),
)


class ReadArguments(Arguments):
    file_path: FilePath
    offset: int = Field(default=1, ge=1, description="First line to read; the first line is 1.")
    limit: int = Field(default=LINES_DEFAULT, ge=1, description="How many lines to read.")


class _Plan(Struct, frozen=True):
    given: str
    path: str
    offset: int
    limit: int


class Read(Struct, frozen=True):
    """Reads one file."""

    environment: ToolEnvironment
    spec: ToolSpec = ToolSpec(
        NAME,
        Category.INFO,
        "Read a text file; each line is shown as its number, a tab, and its text. Long files come "
        "in parts: the last line says how to read on. PNG, JPEG, GIF and WebP come as images.",
        schema_of(ReadArguments),
    )

    def target_paths(self, args: Args) -> frozenset[str]:
        """Return the file that will be read."""
        return target_paths(self.environment, args)

    async def prepare(self, args: Args) -> Prepared:
        """Find out where the path leads. Whether anything is there is told after the gate."""
        given, args = parse(NAME, ReadArguments, args)
        path = await resolved(self.environment, given.file_path, nearly=True)
        accesses = (PathAccess(path, Access.READ),)
        return Prepared(
            tool=NAME,
            category=Category.INFO,
            args=args,
            description=description_line(f"Read {display_path(self.environment, path)}"),
            digest=call_digest(NAME, args, self.environment.workspace, accesses),
            accesses=accesses,
            plan=_Plan(given.file_path, path, given.offset, given.limit),
        )

    async def run(self, prepared: Prepared, live: RunContext) -> ToolOutput:
        """Read it in bounded memory, however large it is."""
        assert isinstance(prepared.plan, _Plan)
        return await to_thread.run_sync(_read, self.environment.workspace, prepared.plan)


def _read(workspace: str, plan: _Plan) -> ToolOutput:
    with os_errors(plan.path), open_file(plan.path) as file:
        # First: what is changed meanwhile is then another content than the one that is known.
        content = FileContent(plan.path, digest_of(file))
        head = os.pread(file, SNIFF_BYTES, 0)
        size_bytes = os.fstat(file).st_size
        for magic, start, media_type in _IMAGES:
            if head[start:].startswith(magic):
                return _image(file, content, media_type)
        if looks_binary(head):
            raise ToolError(f"{quote_path(plan.path)} is a binary file of {size_bytes} bytes")
        encoding = encoding_of(head)
        os.lseek(file, len(encoding.bom), os.SEEK_SET)
        fallback = declared(head) or charset_for(workspace, plan.path) or BYTES_KEPT
        seen = window(_chunks(file), encoding.name, plan.offset, plan.limit, fallback)
    return _text(plan, seen, encoding.name, content)


def _chunks(file: int) -> Iterator[bytes]:
    while chunk := os.read(file, CHUNK_BYTES):
        from_thread.check_cancelled()
        yield chunk


def _image(file: int, content: FileContent, media_type: str) -> ToolOutput:
    data = b""
    while len(data) <= IMAGE_BYTES_MAX and (chunk := os.read(file, CHUNK_BYTES)):
        data += chunk
    if len(data) > IMAGE_BYTES_MAX:
        raise ToolError(
            f"{quote_path(content.path)} is an image larger than {IMAGE_BYTES_MAX} bytes"
        )
    return ToolOutput(
        Status.SUCCESS,
        base64.b64encode(data).decode("ascii"),
        "image",
        {"file_path": content.path, "media_type": media_type},
        content,
    )


def _text(plan: _Plan, seen: Window, encoding: str, content: FileContent) -> ToolOutput:
    if not seen.lines and plan.offset > 1:
        raise ToolError(
            f"offset {plan.offset} is past the end: {quote_path(plan.path)} has {seen.passed} lines"
        )
    numbered = [f"{number:6}\t{line}\n" for number, line in enumerate(seen.lines, plan.offset)]
    last = plan.offset + len(seen.lines) - 1
    notes = [] if seen.lines else ["the file is empty"]
    wanted, name = os.path.basename(plan.given), os.path.basename(plan.path)
    if wanted != name and looks_same(wanted, name):
        notes.append(true_name(name))
    if seen.fallback == BYTES_KEPT:
        notes.append("not valid UTF-8: shown as Latin-1")
    elif seen.fallback:
        notes.append(f"stored as {seen.fallback.upper()}")
    elif encoding != "utf-8":
        notes.append(f"stored as {encoding.upper()}")
    if seen.more:
        notes.append(f"lines {plan.offset} to {last} shown; read on with offset={last + 1}")
    output = "".join(numbered) + "".join(f"[{note}]\n" for note in notes)
    return ToolOutput(Status.SUCCESS, output, "text", {"file_path": plan.path}, content)
