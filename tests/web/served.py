"""A real `wcore-web` and what tests say to it: raw requests, so that anything can be forged."""

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self

import waiting

#: The first draws no window around the page: that takes two thirds of the time.
CHROMIUMS: Final = ("chromium-headless-shell", "chromium", "chromium-browser")
CHROMIUM: Final = next(filter(None, map(shutil.which, CHROMIUMS)), "")

Json = dict[str, Any]


class Served:
    """One server process. `flags` are those of `wcore-web`."""

    def __init__(self, workspace: Path, home: Path, flags: tuple[str, ...]) -> None:
        self.workspace = workspace
        self.home = home
        self._flags = flags
        self._token = ""

    def __enter__(self) -> Self:
        self.home.mkdir(exist_ok=True)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "PYTHON"))}
        self.env = {**kept, "HOME": str(self.home)}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "wcore_host.web", *self._flags],
            cwd=self.workspace,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.link = ""
        while line := waiting.line(self.process):
            if found := re.search(r"http://\S+", line):
                self.link = found[0]
                break
        if not self.link:
            raise AssertionError(f"wcore-web did not start: {waiting.finish(self.process).stderr}")
        self.base, _, self.code = self.link.partition("/#code=")
        self.port = int(self.base.rpartition(":")[2])
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End the server as a person would; return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        done = waiting.finish(self.process)
        self.said = done.stderr
        return done.returncode

    # --- requests -----------------------------------------------------------------------------

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=waiting.PATIENCE_S)

    def request(
        self, method: str, path: str, body: bytes | None = None, /, **headers: str
    ) -> tuple[int, bytes, dict[str, str]]:
        """Send one request with exactly these headers (`_` is `-`) and a Host if none is given."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection = self.connect()
        try:
            connection.putrequest(method, path, skip_host="Host" in named)
            for name, value in {"Content-Length": str(len(body or b"")), **named}.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            with _overdue(f"an answer to {method} {path}", ""):
                answer = connection.getresponse()
                said = answer.read()
            return answer.status, said, {k.lower(): v for k, v in answer.getheaders()}
        finally:
            connection.close()

    def post(self, path: str, body: Json, token: str = "", **headers: str) -> tuple[int, Json]:
        """Post as one of our own pages does."""
        given = {"Origin": self.base, **({"X_Wcore_Token": token} if token else {}), **headers}
        status, data, _ = self.request("POST", path, json.dumps(body).encode(), **given)
        return status, json.loads(data)

    def enter(self) -> str:
        """Return a new page token."""
        code = self.new_code()
        status, answer = self.post("/api/enter", {"code": code})
        assert status == 200, answer
        self._token = answer["token"]
        return self._token

    def new_code(self) -> str:
        """Return a code that nobody has used: that of the start link, later others."""
        if not self._token:
            return self.code
        return self.post("/api/link", {}, self._token)[1]["link"].partition("=")[2]

    def new_link(self) -> str:
        """Return a link that opens the page."""
        if not self._token:
            self.enter()
        return f"{self.base}/#code={self.new_code()}"

    @contextmanager
    def events(self, token: str) -> Generator[Iterator[Json]]:
        """Open the event stream; it waits `waiting.PATIENCE_S` for the next event and no longer."""
        connection = self.connect()
        connection.request("GET", "/api/events", headers={"X-Wcore-Token": token})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        seen: list[bytes] = []

        def lines() -> Generator[Json]:
            with _overdue("the next event", seen):
                for line in answer:
                    seen.append(line)
                    if line.startswith(b"data: "):
                        yield json.loads(line[6:])

        try:
            yield lines()
        finally:
            connection.close()


@contextmanager
def _overdue(what: str, seen: object) -> Generator[None]:
    """Have a socket that ran out of patience say what others say."""
    try:
        yield
    except TimeoutError:
        raise waiting.overdue(what, seen) from None


def until(events: Iterator[Json], kind: str, **fields: object) -> Json:
    """Return the next event of this type and with these fields."""
    for event in events:
        if event["type"] == kind and all(event.get(k) == v for k, v in fields.items()):
            return event
    raise AssertionError(f"the stream ended before {kind} {fields}")
