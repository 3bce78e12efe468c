"""Sessions held with real engines, for replays to be tried on."""

import json
import sys
from pathlib import Path
from typing import Any

import waiting
from talking import Conversation

from wcore.store import JournalRecord, SessionRow, identity, journal, sessions
from wcore.store.database import opened
from wcore.store.location import locate


async def replayed(host: Conversation, session_id: str = "") -> tuple[int, dict[str, Any]]:
    """Replay a conversation by the command; return its exit code and what it says."""
    chosen = session_id or next(e["session_id"] for e in host.heard if e["type"] == "ready")
    done = await waiting.run_process(
        [sys.executable, "-m", "wcore", "sessions", "replay", chosen, "--json"],
        env={"HOME": str(host.workspace.parent / "home"), "PATH": "/usr/bin:/bin"},
        cwd=host.workspace,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    told: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, told


async def is_identical(host: Conversation, session_id: str = "") -> dict[str, Any]:
    """Assert that a replay finds no difference; return what it tells."""
    code, told = await replayed(host, session_id)
    assert told["identical"] is True, told
    assert code == 0
    return told


def stored(home: Path, session_id: str) -> tuple[SessionRow, list[JournalRecord]]:
    """Return a session as it is stored."""
    with opened(locate(None, {"HOME": str(home)})) as database:
        row = sessions.find(database, identity.user_id(), session_id)
        return row, list(journal.read_all(database, identity.user_id(), session_id))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
