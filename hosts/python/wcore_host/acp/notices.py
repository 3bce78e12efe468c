"""What people are told about an engine that does not start, or was cut off. Pure."""

from typing import Final

from wcore_host.errors import EngineExitedError, EngineStartError

CONTINUE: Final = "/continue"
INTERRUPTED: Final = (
    "The last turn was interrupted. Your next message goes on with it, "
    f"{CONTINUE} goes on without one; calls that had not started ask again."
)
_EXIT_USAGE: Final = 2  # of an engine whose flags are wrong
_ENGINES_WORDS: Final = "Engine failed to start: "
_FLAGS: Final = "The flags are those of wcore-acp in the editor's settings."


def not_started(error: EngineStartError | EngineExitedError) -> str:
    """Return why there is no engine; who reads it sees an editor, and neither engine nor flags."""
    where = f" {_FLAGS}" if error.exit_code == _EXIT_USAGE else ""
    return f"wcore does not start: {str(error).removeprefix(_ENGINES_WORDS)}{where}"
