"""The gate under test, reduced to one question."""

from collections.abc import Sequence

from wcore.policy.shell import PrefixGrant, covers, parse_grant


def decide(text: str, grants: Sequence[str]) -> bool:
    """Tell whether our gate lets `text` run because of these grant texts."""
    parsed = (parse_grant(grant) for grant in grants)
    return covers(text, [grant for grant in parsed if isinstance(grant, PrefixGrant)]).covered
