"""What an approval is bound to: one hash over everything that was shown."""

import hashlib
from collections.abc import Mapping
from typing import Final

from wcore.tools.arguments import canonical
from wcore.vocabulary import Args, Touch

ABSENT: Final = "absent"  # the content digest of a file that does not exist


def content_digest(data: bytes) -> str:
    """Return the hex SHA-256 of a file's content."""
    return hashlib.sha256(data).hexdigest()


def call_digest(
    tool: str,
    args: Args,
    cwd: str,
    touches: tuple[Touch, ...] = (),
    contents: Mapping[str, str] | None = None,
) -> str:
    """Bind tool, arguments, folder, real paths and the content of the files that will change."""
    facts = {
        "tool": tool,
        "args": args,
        "cwd": cwd,
        "touches": [[touch.path, touch.access] for touch in touches],
        "contents": dict(contents or {}),
    }
    return "sha256:" + hashlib.sha256(canonical(facts).encode()).hexdigest()
