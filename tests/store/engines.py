"""Other engines on the same store: real processes that write until they are told or killed.

Run as a program: `engines.py WHAT PATH URL COUNT`. Each finished write is said on stdout.
"""

import os
import subprocess
import sys
from pathlib import Path

from store.samples import USER, decided, record

from wcore.store import audit, grants, journal, sessions
from wcore.store.audit import Entry
from wcore.store.database import Database
from wcore.store.location import Location
from wcore.store.opening import open_database
from wcore.store.values import Kind

TESTS = Path(__file__).parent.parent


def environment() -> dict[str, str]:
    """Return the environment of a child that imports what we import."""
    folders = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}


def start(what: str, location: Location, count: int, name: str = "s") -> subprocess.Popen[str]:
    """Start an engine that writes `count` times and prints a number after each."""
    return subprocess.Popen(
        [
            *(sys.executable, __file__, what, location.path, location.url or ""),
            *(str(count), name),
        ],
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )


def append_audit(database: Database, number: int, name: str) -> None:
    audit.append(database, [Entry.of(decided(f"{name}-{number}"))])


def main() -> None:
    what, path, url, count, name = sys.argv[1:]
    location = Location("store", path, url=url or None)
    database = open_database(location)
    lease = None
    if what == "journal":
        lease = sessions.begin(database, USER, name, "/w")
    for number in range(1, int(count) + 1):
        match what:
            case "audit":
                append_audit(database, number, name)
            case "use":
                grants.count_use(database, name)
            case "journal":
                assert lease is not None
                journal.append(database, lease, [record(Kind.STARTED, n=number)], durable=True)
            case _:
                raise SystemExit(f"unknown work {what}")
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
