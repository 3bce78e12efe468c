"""Ctrl+Z: the shell that a person comes back to, if there is one."""

import os


def has_shell() -> bool:
    """Whether a shell holds us as one of its jobs; else nobody would let us go on."""
    return os.getpgrp() != os.getsid(0)
