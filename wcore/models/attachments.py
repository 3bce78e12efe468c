"""The files that a host attaches to a message: images are read, other files are named.

The host attached them, so that nothing here asks; what is in other files the model may read
with its tools, and then somebody is asked.
"""

import base64
import os
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from wcore.alike_names import lookalike, true_name
from wcore.locked_files import open_unlocked

IMAGE_CHARS_MAX: Final = 5 * 1024 * 1024  # of its base64; the least of what the providers take
IMAGE_BYTES_MAX: Final = IMAGE_CHARS_MAX // 4 * 3  # as many as that base64 holds
IMAGE_PIXELS_MAX: Final = 8000  # of width and height; the same
IMAGES_MAX: Final = 20  # of one message; the least of what the providers take
_HEAD_BYTES: Final = 16
_PREFIX_CHARS: Final = 256 * 1024  # of the base64; a JPEG's size stands behind its thumbnail
_JPEG_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_IMAGES: Final = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF87a", 0, "image/gif"),
    (b"GIF89a", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
)
_NAMES: Final = tuple(".png .jpg .jpeg .gif .webp .heic .heif .avif .tif .tiff .bmp".split())


class Image(Struct, frozen=True):
    """A picture; `data` is base64, `name` is for people and models."""

    media_type: str
    data: str
    name: str = ""


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
            found = lookalike(path)
            return f"cannot be read: {true_name(found) if found else 'no such file'}"
        with open(path, "rb", opener=open_unlocked) as file:
            data = file.read(_HEAD_BYTES)
            types = [kind for magic, at, kind in _IMAGES if data[at:].startswith(magic)]
            if not types:
                is_named_one = path.lower().endswith(_NAMES)
                return "image not shown: it is no PNG, JPEG, GIF or WebP" if is_named_one else ""
            data += file.read(IMAGE_BYTES_MAX + 1 - len(data))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        return f"cannot be read: {reason}"
    if len(data) > IMAGE_BYTES_MAX:
        return f"image not shown: larger than {IMAGE_BYTES_MAX} bytes"
    image = Image(types[0], base64.b64encode(data).decode("ascii"), path)
    problem = refusal_of(image)
    return f"image not shown: {problem}" if problem else image


def refusal_of(image: Image) -> str:
    """Return why no provider would take the image; empty if they may."""
    if len(image.data) > IMAGE_CHARS_MAX:
        return f"larger than {IMAGE_BYTES_MAX} bytes"
    width, height = _pixels(base64.b64decode(image.data[:_PREFIX_CHARS]))
    if max(width, height) > IMAGE_PIXELS_MAX:
        return f"{width}x{height} pixels, which is more than {IMAGE_PIXELS_MAX} in one direction"
    return ""


def _pixels(data: bytes) -> tuple[int, int]:
    """Return width and height as the beginning of an image says them; 0 where it does not."""
    if data.startswith(b"\x89PNG") and len(data) >= 24:
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    if data.startswith(b"GIF8") and len(data) >= 10:
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    if data[8:12] == b"WEBP" and len(data) >= 30:
        return _webp_pixels(data)
    return _jpeg_pixels(data) if data.startswith(b"\xff\xd8") else (0, 0)


def _webp_pixels(data: bytes) -> tuple[int, int]:
    match data[12:16]:
        case b"VP8X":
            width, height = (int.from_bytes(data[at : at + 3], "little") for at in (24, 27))
            return width + 1, height + 1
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case _:
            width, height = (int.from_bytes(data[at : at + 2], "little") for at in (26, 28))
            return width & 0x3FFF, height & 0x3FFF


def _jpeg_pixels(data: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        if data[at + 1] in _JPEG_FRAMES:
            height, width = (int.from_bytes(data[n : n + 2], "big") for n in (at + 5, at + 7))
            return width, height
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return 0, 0
