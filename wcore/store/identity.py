"""Who somebody is on disk: ids that are the same today and after a restart.

`user_id` is asserted by whoever starts the engine, not proven; see `protocol-spec/store.md`.
"""

import getpass
import os
import platform
import secrets
import time
import uuid
from collections.abc import Sequence
from hashlib import sha1
from pathlib import Path
from typing import Final

MAIN_AGENT: Final = "main"

_USERS: Final = uuid.UUID("5a0c8c1e-6d0f-5a57-9a3e-0d5f3a1c7e01")
_AGENTS: Final = uuid.UUID("5a0c8c1e-6d0f-5a57-9a3e-0d5f3a1c7e02")
_CHATS: Final = uuid.UUID("5a0c8c1e-6d0f-5a57-9a3e-0d5f3a1c7e03")
_SESSIONS: Final = uuid.UUID("5a0c8c1e-6d0f-5a57-9a3e-0d5f3a1c7e04")
_MACHINE_FILES: Final = ("/etc/machine-id", "/var/lib/dbus/machine-id")


def user_id(given: str | None = None) -> uuid.UUID:
    """Return the UUID that was given, else one of this machine and this user.

    Raises:
        ValueError: `given` is not a UUID.
    """
    if given is not None:
        return uuid.UUID(given)
    return _derived(_USERS, (machine_id(), _login()))


def agent_id(workspace: str, agent: str = MAIN_AGENT) -> uuid.UUID:
    """Return the id of an agent in a workspace; `agent` is its path below main."""
    return _derived(_AGENTS, (workspace, agent))


def chat_id(session_id: str) -> uuid.UUID:
    """Return the id under which the audit knows a session."""
    return _derived(_CHATS, (session_id,))


def session_key(user: uuid.UUID, session_id: str) -> uuid.UUID:
    """Return the key of a session's rows: two users may choose the same session id."""
    return _derived(_SESSIONS, (str(user), session_id))


def machine_id() -> str:
    """Return what tells this machine from others, as well as the system knows it."""
    for name in _MACHINE_FILES:
        try:
            text = Path(name).read_text("ascii").strip()
        except (OSError, ValueError):
            continue
        if text:
            return text
    return platform.node()


def new_id() -> uuid.UUID:
    """Return a UUIDv7: its first 48 bits are milliseconds since 1970, the rest is random."""
    millis = time.time_ns() // 1_000_000
    value = millis << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62
    return uuid.UUID(int=value | secrets.randbits(62))


def _login() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else getpass.getuser()


def _derived(namespace: uuid.UUID, names: Sequence[str]) -> uuid.UUID:
    # As `uuid.uuid5`, for paths too whose bytes are not UTF-8; NUL cannot occur in the parts.
    name = "\0".join(names).encode("utf-8", "surrogatepass")
    digest = sha1(namespace.bytes + name, usedforsecurity=False).digest()
    return uuid.UUID(bytes=digest[:16], version=5)
