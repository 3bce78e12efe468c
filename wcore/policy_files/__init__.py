"""Finds, reads and trusts policy and agent files; what the session holds of them."""
