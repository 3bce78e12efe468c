"""What a shell call does to the process that makes it ends with the test."""

import sys

import pytest
from unit.tools import below
from unit.tools.room import Room


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has orphans adopted")
async def test_a_shell_call_adopts_orphans_and_the_next_test_does_not(room: Room) -> None:
    await room.call("Bash", command="true")
    assert below.adopts()
    below.disown()
    assert not below.adopts()
    await room.call("Bash", command="true")
    assert below.adopts(), "a later call of the same process adopts again"
