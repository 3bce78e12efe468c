"""A path that a shell text names, as far as the text alone tells."""

from msgspec import Struct

from wcore.policy.shell.paths.roles import Role
from wcore.policy.shell.paths.sweeps import Sweep


class Mention(Struct, frozen=True):
    """A path that a text names. `value` is absolute, as far as it is known.

    `opened`: by the shell itself. `is_part`: only a piece of a word, which may be no path.
    `adrift`: relative to a folder that nobody knows. `sweep`, `tree`: all that lies below it is
    removed or changed, or comes along; `filled`: with such folders. `spelled`: within a word that
    is no path as a whole. `into`: what it is put into, or becomes. `private`: some of it came from
    the environment.
    """

    value: str
    role: Role
    source: str
    opened: bool = False
    is_part: bool = False
    adrift: bool = False
    sweep: Sweep | None = None
    tree: bool = False
    filled: bool = False
    spelled: bool = False
    into: str = ""
    private: bool = False


class MentionScan(Struct, frozen=True):
    """All that a text names. `lost`: some of it was not understood."""

    mentions: tuple[Mention, ...]
    lost: bool
