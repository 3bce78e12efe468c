"""The session's way to the store: journal, lasting grants, audit; what it restores."""

from wcore.persistence.persistence import KEPT, REFRESHED, REVOKED, SessionPersistence, Told

__all__ = ["KEPT", "SessionPersistence", "REFRESHED", "REVOKED", "Told"]
