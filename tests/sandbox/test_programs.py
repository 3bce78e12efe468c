"""Programs with more descriptors, and those that run behind a boundary: held by the supervisor."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import waiting
from msgspec.structs import replace
from sandbox.trying import SHELL, bubblewraps
from supervising import Supervised, supervised

from wcore.sandbox import confined
from wcore.sandbox.masks import Masks
from wcore.sandbox.mounts import Place
from wcore.sandbox.network import opened
from wcore.supervisor.client import Program
from wcore.views import SandboxView

ENVIRON = {"PATH": os.defpath}


@pytest.fixture
async def supervisor() -> AsyncIterator[Supervised]:
    with supervised() as each, waiting.patience():
        yield each


def given(text: bytes) -> int:
    """Return a descriptor to read a text from."""
    descriptor = os.memfd_create("text")
    os.write(descriptor, text)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


async def test_more_descriptors_stand_behind_the_first_three(
    supervisor: Supervised, tmp_path: Path
) -> None:
    """In any order: what comes into the place of another must not have overwritten it."""
    texts = [b"a", b"b", b"c", b"d"]
    held = [given(text) for text in texts]
    script = "cat <&3 >out; cat <&4 >>out; cat <&5 >>out; cat <&6 >>out; [ -e /proc/self/fd/7 ]"
    program = Program(
        (SHELL, "-c", script), str(tmp_path), ENVIRON, (None, None, None), more=held[::-1]
    )
    running = await supervisor.start(program)
    for descriptor in held:
        os.close(descriptor)
    assert await running.exited() == 1
    running.close()
    assert (tmp_path / "out").read_bytes() == b"dcba"


async def test_a_program_is_started_in_the_namespaces_that_it_is_to_join(
    supervisor: Supervised, tmp_path: Path
) -> None:
    network = await opened(supervisor.start, bubblewraps()[0])
    script = "readlink /proc/self/ns/net >out; ls /proc/self/fd | wc -l >>out"
    program = Program((SHELL, "-c", script), str(tmp_path), ENVIRON, (None, None, None))
    running = await supervisor.start(replace(program, joins=network.namespaces))
    assert await running.exited() == 0
    running.close()
    name, count = (tmp_path / "out").read_text().split()
    inode = os.fstat(network.namespaces[-1]).st_ino
    assert (name, count) == (f"net:[{inode}]", "4")
    network.close()
    assert os.readlink("/proc/self/ns/net") != name


async def test_what_cannot_be_joined_is_an_error(supervisor: Supervised, tmp_path: Path) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    program = Program((SHELL, "-c", "touch out"), str(tmp_path), ENVIRON, (None, None, None))
    with pytest.raises(OSError, match="a namespace"):
        await supervisor.start(replace(program, joins=(null,)))
    os.close(null)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("script", "count"), [("true", 0), ("sleep 1000 & sleep 1000 & true", 2)])
async def test_what_is_left_within_is_counted_without_the_boundary(
    supervisor: Supervised, tmp_path: Path, script: str, count: int
) -> None:
    folder = str(tmp_path)
    program = Program((SHELL, "-c", script), folder, ENVIRON, (None, None, None))
    with confined.confined(
        bubblewraps()[0], program, SandboxView("workspace"), (Place(folder), Masks())
    ) as inner:
        held = await supervisor.start(inner.program)
        assert await held.exited() == 0
        assert await held.end(0.3) == 0
        held.close()
        assert held.left_behind == count
        assert inner.exit_code() == 0
    assert supervisor.programs() == []
