"""The files that a host attaches to a message: images are read, other files are named.

The host attached them, so that nothing here asks; what is in other files the model may read
with its tools, and then somebody is asked.
"""

import base64
import os
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from wcore.locked_files import open_unlocked

IMAGE_BYTES_MAX: Final = 5 * 1024 * 1024  # the least of what the providers take
IMAGES_MAX: Final = 20  # of one message; the least of what the providers take
_HEAD_BYTES: Final = 16
_IMAGES: Final = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF87a", 0, "image/gif"),
    (b"GIF89a", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
)


class Image(Struct, frozen=True):
    """A picture; `data` is base64."""

    media_type: str
    data: str


class Attached(Struct, frozen=True):
    """What the files of a message add to it."""

    note: str
    images: tuple[Image, ...]


def attach(paths: Sequence[str], folder: str) -> Attached:
    """Read the images and name the rest. Blocks; never raises."""
    lines: list[str] = []
    images: list[Image] = []
    for path in paths:
        found = _read(os.path.join(folder, os.path.expanduser(path)))
        if isinstance(found, Image) and len(images) == IMAGES_MAX:
            found = f"image not shown: a message may have {IMAGES_MAX}"
        if isinstance(found, Image):
            images.append(found)
            found = f"image {len(images)}"
        lines.append(f"- {path} ({found})" if found else f"- {path}")
    return Attached("[Attached files]\n" + "\n".join(lines), tuple(images))


def _read(path: str) -> Image | str:
    """Return the image, or what is to be said of the file."""
    if os.path.isdir(path):
        return "folder"
    try:
        if not os.path.isfile(path):  # a pipe would be waited for
            return "cannot be read: no such file"
        with open(path, "rb", opener=open_unlocked) as file:
            data = file.read(_HEAD_BYTES)
            types = [kind for magic, at, kind in _IMAGES if data[at:].startswith(magic)]
            if not types:
                return ""
            data += file.read(IMAGE_BYTES_MAX + 1 - len(data))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        return f"cannot be read: {reason}"
    if len(data) > IMAGE_BYTES_MAX:
        return f"image not shown: larger than {IMAGE_BYTES_MAX} bytes"
    return Image(types[0], base64.b64encode(data).decode("ascii"))
