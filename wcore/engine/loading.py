"""Loads what acts, late: nothing that `ready` says depends on it.

`load` is called in a thread right after `ready`, while the host's first line is on its way; only
commands that act wait for it.
"""


def load():
    """Return `wcore.engine.acting`; the first time this takes some 50 ms."""
    from wcore.engine import acting  # noqa: PLC0415 - see above

    return acting
