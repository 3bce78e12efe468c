"""A path that a shell text names, as far as the text alone tells."""

from msgspec import Struct

from wcore.policy.shell_paths.programs import Role
from wcore.policy.shell_paths.sweeping import Sweep
from wcore.policy.shell_paths.values import Value


class Mention(Struct, frozen=True):
    """A path that a text names. `value` is absolute, as far as it is known.

    `opened`: by the shell itself. `is_part`: only a piece of a word, which may be no path.
    `adrift`: relative to a folder that nobody knows.
    """

    value: Value
    role: Role
    source: str
    opened: bool = False
    is_part: bool = False
    sweep: Sweep | None = None  # all below it is removed or changed
    adrift: bool = False


class Reading(Struct, frozen=True):
    """All that a text names. `lost`: some of it was not understood."""

    mentions: tuple[Mention, ...]
    lost: bool
