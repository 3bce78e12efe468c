"""What can go wrong between a host and its engine, named by what happened."""

from collections.abc import Sequence

STDERR_LINES_SHOWN = 8  # enough for the last frames of a traceback


class HostLibraryError(Exception):
    """Base of everything this library raises."""


class EngineStartError(HostLibraryError):
    """The engine did not get as far as `ready`: not found, refused to start, died, too slow."""

    def __init__(self, problem: str, *, exit_code: int | None = None) -> None:
        super().__init__(problem)
        self.exit_code = exit_code


class EngineExitedError(HostLibraryError):
    """The engine is gone although nobody asked it to go.

    `exit_code` is negative for a signal (`-9` = killed), `None` if it closed its output but
    would not die; `stderr` holds the last lines it logged.
    """

    def __init__(self, exit_code: int | None, stderr: Sequence[str]) -> None:
        self.exit_code = exit_code
        self.stderr = tuple(stderr)
        super().__init__(self._told())

    def _told(self) -> str:
        if self.exit_code is None:
            how = "closed its output without exiting"
        elif self.exit_code < 0:
            how = f"was ended by signal {-self.exit_code}"
        else:
            how = f"exited with code {self.exit_code}"
        tail = "".join(f"\n  {line}" for line in self.stderr[-STDERR_LINES_SHOWN:])
        return f"the engine {how}" + (f"; it last said:{tail}" if tail else "")


class CommandFailedError(HostLibraryError):
    """The engine answered a command with `ok: false`; `code` is one of the protocol's codes."""

    def __init__(self, command: str, code: str, message: str) -> None:
        super().__init__(f"{command}: {message} ({code})")
        self.command = command
        self.code = code
        self.message = message


class CommandTooLongError(HostLibraryError):
    """The command would not fit into one line of the protocol."""


class TurnRefusedError(HostLibraryError):
    """The engine did not begin the turn; `code` says why (`busy`, `config_error`, `refused`)."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
