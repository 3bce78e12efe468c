"""How this engine was told to run."""

from typing import Final

from msgspec import Struct

from wcore.approval import manager
from wcore.policy.protected import Places
from wcore.vocabulary import Mode

ROUNDS_MAX: Final = 500  # model replies a turn; a runaway loop ends, a long refactoring does not


class Settings(Struct, frozen=True):
    """How this engine was told to run. Times are in seconds."""

    session_id: str
    places: Places
    mode: Mode = Mode.DEFAULT
    mode_name: str = ""  # as the host named it
    max_mode: Mode = Mode.FORCE
    prompts: bool = True
    hitl_suspend: bool = False
    approval_ttl_s: float = manager.DEFAULT_APPROVAL_TTL
    reap_interval_s: float = manager.DEFAULT_REAP_INTERVAL
    max_rounds: int = ROUNDS_MAX
    max_tokens: int | None = None
    max_writes: int | None = None
    system_prompt: str = ""
    has_mcp: bool = False  # whether MCP servers can be added
    is_sandboxed: bool = False  # whether commands run in a sandbox, or not at all
    keep_sessions_days: float = 0.0  # 0: for ever
