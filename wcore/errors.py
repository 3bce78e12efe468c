"""What can go wrong, by whose fault it is. Denied and expired are values, not errors.

Every class carries the wire `code` and whether trying again can help; one function
(`wcore.session.session.Session.emit_exception`) turns an error into an event.
"""

from enum import StrEnum
from typing import ClassVar


class Code(StrEnum):
    """Every error code the wire knows, and no other."""

    PROTOCOL = "protocol_error"
    BUSY = "busy"
    REFUSED = "refused"
    NOT_SUPPORTED = "not_supported"
    INIT = "init_failed"
    CONFIG = "config_error"
    AUTH_REQUIRED = "auth_required"
    AUTH_INVALID = "auth_invalid"
    PROVIDER = "provider_error"
    CONTEXT_OVERFLOW = "context_overflow"
    INTERNAL = "internal_error"


class WcoreError(Exception):
    """Base of everything this package raises on purpose."""

    code: ClassVar[Code] = Code.INTERNAL
    retryable: ClassVar[bool] = False


class HostError(WcoreError):
    """The host broke the contract: answered once, nothing changed, the stream goes on."""

    code = Code.PROTOCOL


class ConfigError(WcoreError):
    """The engine cannot start as it was told to."""

    code = Code.INIT


class UsageError(ConfigError):
    """The command line itself is wrong: exit code 2."""


class ProviderError(WcoreError):
    """The model could not answer. The turn ends, the session lives."""

    code = Code.PROVIDER
    retryable = True


class SettingError(ProviderError):
    """A key or a variable of the environment keeps us from asking; says which, never its value."""

    code = Code.CONFIG
    retryable = False


class ToolError(WcoreError):
    """A tool call cannot be prepared or has failed; the text goes back to the model."""


class HostGoneError(WcoreError):
    """The host closed our stdout: nothing can be told to anybody any more."""


class RefusedError(WcoreError):
    """The command cannot be obeyed now; nothing was changed."""

    code = Code.REFUSED


class DuringTurnError(WcoreError):
    """The command has to wait for the end of the turn."""

    code = Code.BUSY
