"""The configuration of the workspace's repository while a program runs: a copy that git can write.

Git writes `.git/config` by renaming a new file over it, which no mount point allows. So in the
sandbox that name is a link, mounted there, and git follows it to a copy in a folder of its own.
Afterwards the engine puts back what has changed, if none of it decides what other programs do.
"""

import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from wcore.sandbox import scratch
from wcore.sandbox.masks import Masks
from wcore.sandbox.mounts import GIT_COPY, GitConfig, Place
from wcore.sandbox.repository import CONFIG_BYTES_MAX, beginning_of
from wcore.visible import visible_line

LINKS_MOUNTED: Final = (5, 12)  # the first Linux that mounts links with the flags of bubblewrap


def copied(place: Place, masks: Masks, folder: str) -> GitConfig | None:
    """Copy the configuration to `folder`, where programs may write it; `None`: it stays fixed.

    Raises:
        OSError: the copy cannot be made.
    """
    names = [f"{each}/config" for each in (f"{place.workspace}/.git", *place.repository)]
    real = next((path for path in names if path in masks.kept), None)
    content = beginning_of(real, CONFIG_BYTES_MAX + 1) if real else None
    release = tuple(int(part) for part in os.uname().release.split(".")[:2])
    if not real or content is None or len(content) > CONFIG_BYTES_MAX or release < LINKS_MOUNTED:
        return None
    scratch.remove(folder)
    os.makedirs(folder, 0o700)
    with open(f"{folder}/config", "xb") as file:
        file.write(content)
    with suppress(FileExistsError):
        os.symlink(f"{GIT_COPY}/config", f"{folder}.link")
    return GitConfig(real, folder, content)


def put_back(copy: GitConfig, refused: Callable[[bytes, bytes], Sequence[str]]) -> str:
    """Write down what a program has changed; return why not, if it is not. The copy goes."""
    try:
        after = _read(f"{copy.folder}/config")
        if after == copy.before:
            return ""
        wrong = ", ".join(map(visible_line, refused(copy.before, after))) or _written(copy, after)
    except FileExistsError:
        wrong = "somebody else is writing it, or has left the file config.lock"
    except OSError as error:
        wrong = error.strerror or "it could not be read"
    except ValueError:
        wrong = "it is too long, or not as git writes it"
    finally:
        scratch.remove(copy.folder)
    told = f"what was written to {visible_line(copy.real)} was not kept"
    return f"{told}: {wrong}" if wrong else ""


def _read(path: str) -> bytes:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        content = file.read(CONFIG_BYTES_MAX + 1)
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode) or len(content) > CONFIG_BYTES_MAX:
            raise ValueError("no file, or too long")
    return content


def _written(copy: GitConfig, content: bytes) -> str:
    """Replace the configuration as git does; return why it could not be, or nothing."""
    lock, was = f"{copy.real}.lock", os.stat(copy.real)
    with open(lock, "xb") as file:
        if beginning_of(copy.real, CONFIG_BYTES_MAX + 1) != copy.before:
            os.unlink(lock)
            return "somebody else has changed it meanwhile"
        try:
            file.write(content)
            os.fchown(file.fileno(), was.st_uid, was.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(was.st_mode))
            file.flush()
            os.rename(lock, copy.real)
        except OSError:
            os.unlink(lock)
            raise
    return ""
