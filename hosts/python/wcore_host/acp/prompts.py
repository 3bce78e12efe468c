"""What the person sent: blocks of an ACP prompt become the text and the files of a message.

Pictures are written to a folder of this session, because the engine takes files by path. Linked
files are named, not read: the model reads them through the gate like everything else.
"""

import base64
import binascii
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from wcore_host.acp.markup import fenced

Block: TypeAlias = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)

ENDINGS: Final = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
}
LINES: Final = re.compile(r"L(\d+)(?:[:-]L?(\d+))?")  # of an editor, in the fragment of an address


class Prompts:
    """Reads prompts; keeps their pictures in a private folder until `close`."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._pictures = 0

    def close(self) -> None:
        """Forget the pictures."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def read(self, blocks: Sequence[Block]) -> tuple[str, list[str]]:
        """Return the text of the message and the paths of its pictures."""
        parts: list[str] = []
        files: list[str] = []
        after_link = False
        for part in blocks:
            is_link = isinstance(part, ResourceContentBlock)
            if parts and (is_link or after_link):
                parts.append(" ")
            after_link = is_link
            match part:
                case TextContentBlock(text=text):
                    parts.append(text)
                case ImageContentBlock(data=data, mime_type=kind):
                    self._add(data, kind, "a picture", parts, files)
                case AudioContentBlock():
                    parts.append("\n[audio was sent, which this agent cannot hear]\n")
                case ResourceContentBlock(uri=uri, name=name):
                    parts.append(mention(uri, name))
                case EmbeddedResourceContentBlock(resource=TextResourceContents() as resource):
                    parts.append(f"\n{mention(resource.uri)}:\n{fenced(resource.text)}\n")
                case EmbeddedResourceContentBlock(resource=BlobResourceContents() as resource):
                    name = mention(resource.uri)
                    self._add(resource.blob, resource.mime_type or "", name, parts, files)
                case _:
                    parts.append("\n[something was sent that this agent does not know]\n")
        return "".join(parts), files

    def _add(self, data: str, kind: str, name: str, parts: list[str], files: list[str]) -> None:
        ending = ENDINGS.get(kind.lower())
        if ending is None:
            parts.append(f"\n[{name} was sent as {kind or 'bytes'}, which this agent cannot use]\n")
            return
        try:
            content = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            parts.append(f"\n[{name} was sent, but it is damaged]\n")
            return
        self._pictures += 1
        self._folder = self._folder or Path(tempfile.mkdtemp(prefix="wcore-acp-"))
        path = self._folder / f"picture-{self._pictures}{ending}"
        path.write_bytes(content)
        files.append(str(path))


def mention(uri: str, name: str = "") -> str:
    """Return the path of a `file:` address or the address, and in words what of it is meant."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri
    words = [] if name in unquote(uri) else [name]
    if parts.scheme != "file" or not parts.path:
        path = uri
    else:
        path = unquote(parts.path)
        words += [f"symbol {each}" for each in parse_qs(parts.query).get("symbol", ())]
        if lines := LINES.fullmatch(parts.fragment):
            words.append(f"lines {lines[1]} to {lines[2] or lines[1]}")
    return f"{path} ({', '.join(words)})" if words else path
