"""A yes to one command text: what it covers beyond the text itself. Pure.

The text alone does not say what will happen: `./build.sh` is another command when the script is
another, and `cat ../notes` is when the link leads elsewhere. So the yes is tied to both, as they
were on the card.
"""

import hashlib
from typing import Final

from wcore.policy.facts import Facts
from wcore.vocabulary import Category, PathFact

EXACT_CHARS_MAX: Final = 4096  # a longer text is not read to its end before it is granted
_APART: Final = "in the sandbox the same text may lead to other files: grant a prefix instead"
UNTIED: Final = "untied"  # the ties of a text that names more than can be looked at


def why_not(command: str, facts: Facts) -> str | None:
    """Return why a yes to the very text `command` cannot be kept, or `None`."""
    if facts.category is not Category.EXEC or facts.command is None:
        return f"an exact command means nothing for {facts.tool}"
    if command != facts.command:
        return "it is not the command of this call"
    if len(command) > EXACT_CHARS_MAX:
        return f"the command is longer than {EXACT_CHARS_MAX} characters"
    if facts.ties == UNTIED or any(map(_is_uncounted, facts.paths)):
        return "the command names more files than can be looked at"
    return _APART if is_apart(facts) else None


def is_apart(facts: Facts) -> bool:
    """Whether what the text names may be something else than what was looked at.

    A sandbox has files of its own, in `/tmp` and caches, and links in the workspace lead there.
    """
    return facts.view is not None and facts.view.is_held


def _is_uncounted(path: PathFact) -> bool:
    return path.unknown and path.own and path.protected is None


def ties_of(facts: Facts) -> str | None:
    """Return the digest of what a yes to the text is bound to; `None` if it is the text alone.

    These are the scripts that it runs, and the paths outside the workspace as they resolve.
    """
    outside = sorted({(path.path, path.access.value) for path in facts.paths if not path.inside})
    if facts.ties is None and not outside:
        return None
    parts = [facts.ties or "", *(part for each in outside for part in each)]
    joined = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(joined).hexdigest()
