"""Killing what is below us, also what a look at the tree does not find."""

import os
import subprocess

import waiting

from wcore.supervisor import process_tree

LEAVES_ONE = "(sleep 1000 &); echo up; exec sleep 1000"


def test_who_has_left_the_tree_but_not_its_process_group_is_killed() -> None:
    """As one does that is born while we look: a fork bomb always has some of those."""
    with subprocess.Popen(
        ["sh", "-c", LEAVES_ONE], stdout=subprocess.PIPE, start_new_session=True
    ) as child:
        assert waiting.line(child) == "up\n"
        process_tree.kill_all([child.pid], 0)
        done = waiting.finish(child)  # the end of file: nobody holds the pipe
        assert done.stdout == ""


def test_our_own_process_group_is_spared() -> None:
    with subprocess.Popen(["sleep", "1000"]) as child:
        assert os.getpgid(child.pid) == os.getpgrp()
        process_tree.kill_all([child.pid], 0)
        assert waiting.finish(child).returncode < 0
