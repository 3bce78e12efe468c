"""One engine a session: who holds it, and whether that engine still lives.

On the same machine the process number and its start time tell; elsewhere only the clock can, so
a lease also ends `LEASE_S` seconds after its last renewal.
"""

import os
import platform
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from wcore.store.database import Row, Value
from wcore.store.encoding import now, seconds_from_now
from wcore.store.identity import machine_id

LEASE_S: Final = 60.0  # how long a crashed engine on another machine blocks its session
RENEW_S: Final = LEASE_S / 4  # three renewals may be lost
LEASE_COLUMNS: Final = "lease_owner, lease_place, lease_pid, lease_started, lease_until"

_START_TIME: Final = 19  # /proc/PID/stat, counted from the field after the command's name


class LeaseHolder(Struct, frozen=True):
    """An engine. `owner` is random: the other fields could come again, this one does not."""

    owner: str
    place: str
    pid: int
    started: int

    @classmethod
    def here(cls) -> "LeaseHolder":
        """Return this engine, under a new owner."""
        pid = os.getpid()
        return cls(secrets.token_hex(16), _place(), pid, start_time(pid) or 0)

    def as_values(self) -> dict[str, Value]:
        """Return the lease columns for a statement; the lease runs from now."""
        return {
            "owner": self.owner,
            "place": self.place,
            "pid": self.pid,
            "started": self.started,
            "until": seconds_from_now(LEASE_S),
        }


def living_holder(lease: Row) -> str | None:
    """Return, for people, who holds a session by its `LEASE_COLUMNS`; `None`: it is free."""
    owner, place, pid, started, until = lease
    if owner is None:
        return None
    if place == _place():
        alive = start_time(int(pid or 0)) == started
        return f"process {pid} on this machine" if alive else None
    if until is None or str(until) <= now():
        return None
    return f"process {pid} elsewhere, until {until} at least"


def _place() -> str:
    """Return what process numbers are relative to: a boot of a machine, a container."""
    boot = namespace = ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        namespace = str(os.stat("/proc/self/ns/pid").st_ino)
    return "/".join((machine_id(), platform.node(), boot, namespace))


def start_time(pid: int) -> int | None:
    """Return when a process began, in the system's own unit; 0 where that is unknown.

    `None`: there is no such process.
    """
    if pid <= 0:
        return None
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None if os.path.exists("/proc/self/stat") else _unknown_or_dead(pid)
    fields = stat.rpartition(b")")[2].split()
    return None if fields[0] in (b"Z", b"X") else int(fields[_START_TIME])


def _unknown_or_dead(pid: int) -> int | None:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        return 0
    return 0
