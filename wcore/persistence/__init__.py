"""The session's way to the store: journal, lasting grants, audit; what it restores."""
