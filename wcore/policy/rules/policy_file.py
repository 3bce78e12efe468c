"""What a policy file says, as values. `parser` makes them from TOML text."""

from typing import Any

from msgspec import Struct, field

from wcore.errors import ConfigError
from wcore.policy.rules.mcp_tables import ServerTable
from wcore.policy.rules.rule import Level, Rule
from wcore.visible import visible_line
from wcore.vocabulary import Mode, Verdict


class PolicyError(ConfigError):
    """A policy file cannot be honoured as it is."""

    def __init__(self, path: str, line: int, reason: str) -> None:
        super().__init__(f"{path}:{line}: {visible_line(reason, 600)}")
        self.path, self.line, self.reason = path, line, reason


class Limits(Struct, frozen=True):
    """Ceilings; the strictest of all files counts. `grants` is how many may be kept.

    `store_required`: no conversation without a store; only an administrator can say so.
    """

    max_mode: Mode = Mode.FORCE
    grants: int | None = None
    ttl_s: float | None = None
    store_required: bool = False

    def with_(self, other: "Limits") -> "Limits":
        """Return the stricter of each limit."""
        return Limits(
            min(self.max_mode, other.max_mode, key=lambda mode: mode.rank),
            _least(self.grants, other.grants),
            _least(self.ttl_s, other.ttl_s),
            self.store_required or other.store_required,
        )


class RuleTest(Struct, frozen=True):
    """One `[[test]]`: what a call written as `Tool(argument)` must come to."""

    call: str
    expect: Verdict
    source: str
    mode: Mode = Mode.DEFAULT
    agent: str | None = None


class PolicyFile(Struct, frozen=True):
    """One file, checked. `default` comes with its source; `mcp` are its servers.

    `hosts` are those that sandboxes may reach; `None`: it does not say.
    `only_forbids`: nobody vouches for it, and no trust in the folder changes that.
    """

    level: Level
    path: str
    deny: tuple[Rule, ...] = ()
    rules: tuple[Rule, ...] = ()
    default: tuple[Verdict, str] | None = None
    limits: Limits = field(default_factory=Limits)
    tests: tuple[RuleTest, ...] = ()
    mcp: tuple[ServerTable, ...] = ()
    hosts: tuple[str, ...] | None = None
    only_forbids: bool = False


def _least(one: Any, other: Any) -> Any:
    known = [value for value in (one, other) if value is not None]
    return min(known) if known else None
