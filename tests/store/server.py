"""A real PostgreSQL server of our own: made in a temporary folder, gone afterwards."""

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

import waiting

_NEVER_ROOT = ("postgres", "nobody")  # the server refuses to run as root


class ServerMissingError(Exception):
    """PostgreSQL or its client is not installed here."""


class Server:
    """Use as a context manager; `new_schema()` returns the URL of an empty store."""

    def __init__(self) -> None:
        self._bin = _programs()
        if find_spec("psycopg") is None:
            raise ServerMissingError("psycopg is not installed: wcore[postgres]")
        self._numbers = itertools.count(1)

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="wcore-pg-"))
        self._user = _unprivileged()
        if self._user is not None:
            shutil.chown(self._folder, self._user)
        data = self._folder / "data"
        initdb = [self._bin / "initdb", "-D", data, "-U", "wcore", "-A", "trust", "-E", "UTF8"]
        self._call(*initdb, "--no-sync", "--locale=C")
        self._log = (self._folder / "log").open("wb")
        self._process = subprocess.Popen(
            [
                *(self._bin / "postgres", "-D", data, "-k", self._folder),
                *("-c", "listen_addresses=", "-c", "wal_writer_delay=10000"),
                *("-c", "autovacuum=off", "-c", "checkpoint_timeout=3600"),
                *("-c", "fsync=off"),  # this data need not outlive the machine
            ],
            cwd=self._folder,
            user=self._user,
            stdout=self._log,
            stderr=self._log,
        )
        self._wait_until_up()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self._log.close()
        shutil.rmtree(self._folder)

    def stop(self) -> None:
        """End the server at once, as its crash would."""
        self._process.send_signal(signal.SIGQUIT)  # nothing in it is worth a checkpoint
        waiting.finish(self._process)

    @property
    def url(self) -> str:
        return f"postgresql://wcore@/postgres?host={self._folder}"

    def new_schema(self) -> str:
        """Make an empty schema and return the URL of a store in it."""
        import psycopg

        name = f"store_{next(self._numbers)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
        return f"{self.url}&options=-csearch_path%3D{name}"

    def _wait_until_up(self) -> None:
        import psycopg

        def is_up() -> bool:
            try:
                psycopg.connect(self.url).close()
            except psycopg.OperationalError:
                assert self._process.poll() is None, "the server ended at its start"
                return False
            return True

        waiting.wait_until(is_up, "a server that is up")

    def _call(self, *command: object) -> None:
        done = waiting.run([str(part) for part in command], cwd=self._folder, user=self._user)
        assert done.returncode == 0, done.stderr


def _programs() -> Path:
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    on_path = shutil.which("initdb")
    if on_path:
        found.append(Path(on_path).resolve().parent)
    if not found:
        raise ServerMissingError("PostgreSQL is not installed (no initdb found)")
    return max(found, key=_version)


def _version(folder: Path) -> int:
    name = folder.parent.name
    return int(name) if name.isdigit() else 0


def _unprivileged() -> str | None:
    if os.getuid() != 0:
        return None
    for name in _NEVER_ROOT:
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise ServerMissingError("PostgreSQL does not run as root, and there is no other user")
