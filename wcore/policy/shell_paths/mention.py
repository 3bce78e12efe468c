"""A path that a shell text names, as far as the text alone tells."""

from msgspec import Struct

from wcore.policy.shell_paths.programs import Role
from wcore.policy.shell_paths.sweeps import Sweep
from wcore.policy.shell_paths.values import Value


class Source(Struct, frozen=True):
    """What a program puts into a place, or as that place: an absolute path, as far as known.

    `deep`: a folder comes with all that it holds.
    """

    value: Value
    deep: bool
    into: bool
    onto: bool


class Mention(Struct, frozen=True):
    """A path that a text names. `value` is absolute, as far as it is known.

    `opened`: by the shell itself. `is_part`: only a piece of a word, which may be no path.
    `adrift`: relative to a folder that nobody knows. `tree`: all that lies below is written too.
    `put`: what comes to lie there. `spelled`: within a word that is no path as a whole.
    """

    value: Value
    role: Role
    source: str
    opened: bool = False
    is_part: bool = False
    sweep: Sweep | None = None  # all below it is removed or changed
    adrift: bool = False
    tree: bool = False
    put: Source | None = None
    spelled: bool = False


class MentionScan(Struct, frozen=True):
    """All that a text names. `lost`: some of it was not understood."""

    mentions: tuple[Mention, ...]
    lost: bool
