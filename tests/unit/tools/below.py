"""The processes that a test has started; what ran before, such as a database, is left out."""

import psutil

_before: set[int] = set()


def remember() -> None:
    """Note what runs below this process now. Called before each test."""
    _before.clear()
    _before.update(child.pid for child in psutil.Process().children(recursive=True))


def started() -> list[psutil.Process]:
    """Return what has come since, also what has ended but was not waited for."""
    found = psutil.Process().children(recursive=True)
    return [child for child in found if child.pid not in _before and not _of_before(child)]


def living() -> list[int]:
    """Return what has come since and still runs."""
    return [child.pid for child in started() if _is_alive(child)]


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _of_before(process: psutil.Process) -> bool:
    try:
        return any(parent.pid in _before for parent in process.parents())
    except psutil.NoSuchProcess:
        return False
