"""What can go wrong with the memory on disk. Every message names the store and the remedy."""

from wcore.errors import Code, WcoreError
from wcore.supervisor.ancestry import INSIDE_CALL


class StoreError(WcoreError):
    """The store cannot be opened, read or written: whoever needs it must not go on."""

    code = Code.CONFIG

    def __init__(self, store: str, problem: str, remedy: str) -> None:
        super().__init__(f"the store {store} {problem}; {remedy}")
        self.store = store


class StoreLostError(StoreError):
    """The store cannot be opened or written, and waiting does not help: nothing can be kept."""


class NoStoreError(StoreLostError):
    """There is no store: it was lost before, or the engine was started without one."""

    code = Code.REFUSED

    def __init__(self) -> None:
        super().__init__("", "", "")
        self.args = ("no_store: this conversation is in memory only",)


class InsideCallError(StoreError):
    """A tool call has started this engine, which therefore keeps nothing that outlives it."""

    code = Code.REFUSED

    def __init__(self) -> None:
        super().__init__("", "", "")
        self.args = (INSIDE_CALL,)


class StoreGoneError(StoreLostError):
    """The store was deleted or replaced while it was open: nothing can be kept any more."""

    def __init__(self, store: str) -> None:
        super().__init__(
            store,
            "was deleted or replaced while this engine used it",
            "start a new session",
        )


class StoreLockedError(StoreError):
    """Another program holds a lock for longer than anybody should."""

    def __init__(self, store: str) -> None:
        super().__init__(
            store, "is locked by another program", "end that one, or wait for it, and try again"
        )


class StoreSilentError(StoreError):
    """The store does not answer; what was asked of it does not count, or cannot be known."""

    def __init__(self, store: str, after_s: float | None = None) -> None:
        since = "" if after_s is None else f" within {after_s:g} s"
        super().__init__(store, f"does not answer{since}", "look after its disk or its server")


class StoreDeadError(StoreSilentError, StoreLostError):
    """The store has been silent for as long as anybody waits for it."""


class SessionError(WcoreError):
    """A session cannot be begun, resumed or written."""

    code = Code.INIT


class SessionMissingError(SessionError):
    """There is no such session; a host then starts it with `--session-id`."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"there is no stored session {session_id!r}; see: wcore sessions list")
        self.session_id = session_id


class SessionExistsError(SessionError):
    """A new session was to have the id of a stored one."""

    def __init__(self, session_id: str) -> None:
        super().__init__(
            f"the session {session_id!r} exists already; continue it with --resume {session_id}"
        )
        self.session_id = session_id


class SessionBusyError(SessionError):
    """Another engine works on this session."""

    def __init__(self, session_id: str, holder: str) -> None:
        super().__init__(
            f"the session {session_id!r} is in use by another engine ({holder}); "
            "end that one first, or start another session"
        )
        self.session_id = session_id


class LeaseLostError(SessionError):
    """Another engine has taken the session over: nothing of this one counts any more."""

    code = Code.INTERNAL

    def __init__(self, session_id: str) -> None:
        super().__init__(f"the session {session_id!r} was taken over by another engine")
        self.session_id = session_id


class JournalDamagedError(SessionError):
    """A record before the last one cannot be read: what followed it cannot be trusted."""

    def __init__(self, session_id: str, seq: int) -> None:
        super().__init__(
            f"the journal of session {session_id!r} is damaged at record {seq}; "
            "start a new session, or restore the store from a backup"
        )
        self.session_id = session_id
        self.seq = seq
