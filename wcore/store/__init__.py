"""Memory on disk: lasting grants, tiers, audit, sessions with their journals.

SQLite in the user's state folder, or PostgreSQL by URL. Nothing of it is opened, and no database
is imported, before it is first used. This package knows nothing of policy, approval or the wire.
`Store` is the way in for the engine; the command line calls the modules directly.
"""

from wcore.store.errors import (
    JournalDamagedError,
    LeaseLostError,
    NoStoreError,
    SessionBusyError,
    SessionError,
    SessionExistsError,
    SessionMissingError,
    StoreError,
    StoreLostError,
)
from wcore.store.location import Location, locate
from wcore.store.session_journal import SessionJournal
from wcore.store.store import Store
from wcore.store.values import (
    AgentPermissionSnapshot,
    AuditDecision,
    AuditSource,
    GrantKey,
    JournalPage,
    JournalRecord,
    Kind,
    LastingGrant,
    LoadedGrants,
    PermissionStatus,
    RawRecord,
    Record,
    SessionRow,
    StatusSource,
    ToolApprovalDecisionEvent,
    ToolPermission,
    Versions,
)

__all__ = [
    "AgentPermissionSnapshot",
    "AuditDecision",
    "AuditSource",
    "GrantKey",
    "JournalDamagedError",
    "JournalPage",
    "JournalRecord",
    "Kind",
    "LastingGrant",
    "LeaseLostError",
    "LoadedGrants",
    "Location",
    "NoStoreError",
    "PermissionStatus",
    "RawRecord",
    "Record",
    "SessionBusyError",
    "SessionError",
    "SessionExistsError",
    "SessionJournal",
    "SessionMissingError",
    "SessionRow",
    "StatusSource",
    "Store",
    "StoreError",
    "StoreLostError",
    "ToolApprovalDecisionEvent",
    "ToolPermission",
    "Versions",
    "locate",
]
