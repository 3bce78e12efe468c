"""What the policy files let an engine start with."""

from wcore.approval import manager
from wcore.errors import UsageError
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level
from wcore.vocabulary import Mode


def ttl_s(asked: float | None, policies: PolicySet) -> float:
    """Return how many seconds a question waits: as asked for, or less where a file says so."""
    chosen = asked or manager.DEFAULT_APPROVAL_TTL
    return min(chosen, policies.limits.ttl_s or chosen)


def start_mode(mode: Mode, flag: Mode, policies: PolicySet) -> tuple[Mode, Mode, tuple[str, ...]]:
    """Return mode and ceiling to start with, and what the host must be told.

    Raises:
        UsageError: the mode is above a ceiling that the administrator or the user set.
    """
    ceiling = flag
    for level, file in policies.files.items():
        limit = file.limits.max_mode
        if level is not Level.PROJECT and not file.only_forbids and mode.rank > limit.rank:
            raise UsageError(f"mode {mode} is above the ceiling {limit} of {file.path}")
        ceiling = min(ceiling, limit, key=lambda each: each.rank)
    if mode.rank <= ceiling.rank:
        return mode, ceiling, ()
    return ceiling, ceiling, (f"the project's policy allows no more than mode {ceiling}",)
