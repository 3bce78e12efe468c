"""What an approval is bound to: one hash over everything that was shown."""

import hashlib
from collections.abc import Mapping
from typing import Final

from wcore.tools.arguments import canonical
from wcore.tools.fs.paths import relative
from wcore.vocabulary import Args, PathAccess

ABSENT: Final = "absent"  # the content digest of a file that does not exist


def content_digest(data: bytes) -> str:
    """Return the hex SHA-256 of a file's content."""
    return hashlib.sha256(data).hexdigest()


def call_digest(
    tool: str,
    args: Args,
    workspace: str,
    accesses: tuple[PathAccess, ...] = (),
    contents: Mapping[str, str] | None = None,
    depends: Mapping[str, str] | None = None,
) -> str:
    """Bind tool, arguments, real paths and the content of the files that will change.

    Paths inside the workspace count relative to it, so that the same call in the same tree has
    the same digest wherever the tree is; whoever acts upon a recorded digest asks for the
    workspace beside it. `contents` has the digest of each file that will change, by its real
    path; `depends` what else the call rests on, by a name: definitions, the view of its sandbox.
    """
    found = {relative(workspace, path): digest for path, digest in (contents or {}).items()}
    facts = {
        "tool": tool,
        "args": args,
        "touches": [[relative(workspace, touch.path), touch.access] for touch in accesses],
        "contents": found,
        "depends": dict(depends or {}),
    }
    return "v2:" + hashlib.sha256(canonical(facts).encode()).hexdigest()
