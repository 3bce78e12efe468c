"""What an agent knows of files: the content it was last told, so that it replaces no other unseen.

Only what our tools told it counts. Its knowledge begins with the engine: after a resume no file is
known, and of a file that is not known nothing is demanded.
"""

from typing import Final

from wcore.errors import ToolError
from wcore.file_content import FileContent
from wcore.tools.digests import ABSENT
from wcore.tools.fs.paths import quote_path
from wcore.vocabulary import Prepared

KNOWN_MAX: Final = 4096  # files, with a path and a digest each; the one told of longest ago goes


class KnownFiles:
    """The digest of the content that one agent knows, by the real path of the file."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}

    def learn(self, content: FileContent | None) -> None:
        """Note what the model is told of a file in a result that goes into its history."""
        if content is None or not self._continues(content):
            return
        self._digests.pop(content.path, None)
        self._digests[content.path] = content.digest
        if len(self._digests) > KNOWN_MAX:
            del self._digests[next(iter(self._digests))]

    def wrote(self, content: FileContent | None) -> None:
        """Note what the model itself made of a file: it knows that before it is told.

        What a call of the same reply has read it does not know yet.
        """
        if content is not None and content.made_from is not None:
            self.learn(content)

    def require(self, prepared: Prepared) -> None:
        """Refuse to replace a file as a whole whose content is not the one that is known.

        Raises:
            ToolError: it was changed by somebody else; says what to do.
        """
        now = prepared.replaces
        if now is not None and self._digests.get(now.path, now.digest) != now.digest:
            raise ToolError(
                f"{quote_path(now.path)} was changed since you last read or wrote it: "
                "read it again, then write"
            )

    def _continues(self, content: FileContent) -> bool:
        """Whether nothing stays unknown: a change of a part tells nothing of the other parts."""
        known = self._digests.get(content.path)
        return known is None or content.made_from in (None, ABSENT, known)
