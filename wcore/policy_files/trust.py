"""Which folders a person trusts, and in which state: kept with the user's state, never in them.

A record that leads into the folder itself counts for nothing: whoever made the folder may have
written it.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Generator
from datetime import UTC, datetime
from typing import Any, Final, cast

from wcore.errors import Code, WcoreError
from wcore.supervisor.ancestry import INSIDE_CALL, is_inside_call
from wcore.user_folders import lies_in

TRUST_NAME: Final = "trust.json"
TRUST_BYTES_MAX: Final = 4 * 1024 * 1024  # some ten thousand folders


class TrustError(WcoreError):
    """The record of trusted folders cannot be read or written."""

    code = Code.CONFIG


class InsideCallError(TrustError):
    """A tool call has started this process, which therefore trusts nothing for others."""

    code = Code.REFUSED


class TrustBook:
    """The record: real path of a folder, digest of what wcore reads in it. Blocking I/O."""

    def __init__(self, state_folder: str) -> None:
        self._folder = state_folder
        self.path = os.path.join(state_folder, TRUST_NAME)

    def digest_of(self, folder: str) -> str | None:
        """Return the digest under which `folder` is trusted.

        Raises:
            TrustError: the record cannot be read, or not be believed; then nothing is trusted.
        """
        if os.path.exists(self.path):
            self.require_outside(folder)
        record = self._read().get(folder)
        digest = _object(record).get("digest")
        return digest if isinstance(digest, str) else None

    def trust(self, folder: str, digest: str) -> None:
        """Trust `folder` as long as its files have this digest.

        Raises:
            TrustError: it cannot be written down, or would be in the folder itself.
            InsideCallError: a tool call has started this process.
        """
        if is_inside_call():
            raise InsideCallError(INSIDE_CALL)
        self.require_outside(folder)
        moment = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        with self._changing() as folders:
            folders[folder] = {"digest": digest, "trusted_at": moment}

    def revoke(self, folder: str) -> bool:
        """Trust `folder` no longer; false when it was not trusted.

        Raises:
            TrustError: it cannot be written down.
        """
        if lies_in(self.path, folder):
            return False  # nothing there counts
        with self._changing() as folders:
            return folders.pop(folder, None) is not None

    def require_outside(self, folder: str) -> None:
        """Refuse a record that lies in `folder`, the one that it speaks of.

        Raises:
            TrustError: it does.
        """
        if lies_in(self.path, folder):
            raise TrustError(
                f"{self.path} would lie in the workspace, where whoever made that can write it: "
                "set XDG_STATE_HOME to a folder outside of it"
            )

    def _read(self) -> dict[str, Any]:
        try:
            with open(self.path, "rb") as file:
                data = file.read(TRUST_BYTES_MAX + 1)
            value = _object(json.loads(data)) if data else {}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise TrustError(
                f"{self.path} cannot be read ({error}): repair or remove it"
            ) from error
        folders: object = value.get("folders", None if data else {})
        if not isinstance(folders, dict):
            raise TrustError(f"{self.path} is no record of trusted folders: repair or remove it")
        return _object(cast("object", folders))

    @contextlib.contextmanager
    def _changing(self) -> Generator[dict[str, Any], None, None]:
        """Change the record as a whole, one writer at a time."""
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                folders = self._read()
                yield folders
                self._write(folders)
            finally:
                os.close(lock)
        except OSError as error:
            raise TrustError(f"{self.path} cannot be written: {error.strerror}") from error

    def _write(self, folders: dict[str, Any]) -> None:
        data = json.dumps({"version": 1, "folders": folders}, indent=1).encode()
        fresh = f"{self.path}.new"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(fresh)
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(fd)
        os.replace(fresh, self.path)


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
