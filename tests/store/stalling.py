"""A way to the database server that can fall silent: what is sent then is never passed on."""

import socket
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import waiting

PORT_FILE = ".s.PGSQL.5432"


class StallingProxy:
    """Passes connections on until a client says `at`; from then on all of them hang.

    Use as a context manager; `url` leads through it.
    """

    def __init__(self, folder: Path, server_url: str, at: bytes) -> None:
        self._target = server_url.partition("host=")[2].partition("&")[0]
        self.url = server_url.replace(self._target, str(folder))
        self._at = at
        self._stalls = threading.Event()
        self._open: list[socket.socket] = []
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(folder / PORT_FILE))
        self._door.listen()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._door.close()
        self._cut()  # closing alone ends no connection that a thread of ours reads: what hung
        for each in self._open:  # would keep the server's locks until the server gives it up
            each.close()

    def wait_until_it_hangs(self) -> None:
        waiting.wait_until(self._stalls.is_set, f"{self._at!r} on its way to the server")

    def recover(self) -> None:
        """Pass on what comes from now on; the connections that hung are cut."""
        self._at = b"\0 nobody says this \0"
        self._stalls.clear()
        self._cut()

    def _cut(self) -> None:
        for each in self._open:
            with suppress(OSError):  # closed by the other side
                each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(f"{self._target}/{PORT_FILE}")
            self._open += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(
                    target=self._pass_on, args=(source, sink, source is client), daemon=True
                ).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, is_client: bool) -> None:
        before = b""  # the end of what was passed on: what is waited for can come in two pieces
        try:
            while data := source.recv(65_536):
                if is_client and self._at in before + data:
                    self._stalls.set()
                before = (before + data)[-64:]
                if self._stalls.is_set():
                    return  # both ends stay open: nobody hears anything
                sink.sendall(data)
        except OSError:
            return
        if not self._stalls.is_set():
            sink.close()
