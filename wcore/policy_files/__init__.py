"""Finds, reads and trusts policy and agent files; what the session holds of them."""

from wcore.policy_files.policy_files import PolicyFiles

__all__ = ["PolicyFiles"]
