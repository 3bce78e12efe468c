"""What the documented command line tells: audit, sessions, policy. One process a question."""

import subprocess
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from tempfile import TemporaryFile
from typing import IO, Final

import anyio
from anyio.abc import Process

from wcore_host.events import Json
from wcore_host.headless.engine_cli import EngineCliError, json_object
from wcore_host.web.options import STORE_FLAGS, USER_FLAGS, WebOptions

ANSWER_S: Final = 60.0  # a million audit rows are verified in less
LINE_BYTES_MAX: Final = 16 * 1024 * 1024  # a record holds at most one line of the protocol
LINES_MAX: Final = 200_000  # read for one picture; then it says that there are more
ERROR_BYTES_MAX: Final = 4096  # of what a failing command says

Row = Mapping[str, Json]


class EngineCli:
    """Runs `wcore audit|sessions|policy … --json` for the store and folder of our engine."""

    def __init__(self, options: WebOptions) -> None:
        self._program = options.engine
        self._store = options.told(STORE_FLAGS)
        self._user = options.told(USER_FLAGS)
        self._place = options.told(("--cwd",))
        self._one = anyio.Lock()  # pages that ask a lot wait for each other, not the machine

    async def audit(self, *, since: str, tool: str, decision: str) -> tuple[list[Row], bool]:
        """Return audit rows, newest first, and whether there are more than were read.

        Raises:
            EngineCliError: the store cannot be read, or a filter makes no sense.
        """
        flags = [f"--{k}={v}" for k, v in (("since", since), ("tool", tool)) if v]
        flags += [f"--decision={decision}"] if decision else []
        return await self._lines(["audit", "list", "--json", *flags, *self._store])

    async def verify(self) -> Row:
        """Return what the chain of hashes says. A chain that is broken is no error."""
        return await self._object(["audit", "verify", "--json", *self._store], ok=(0, 3))

    async def sessions(self) -> list[Row]:
        """Return the stored sessions, the one used last first."""
        found, _ = await self._lines(["sessions", "list", "--json", *self._store, *self._user])
        return found

    async def journal(self, session_id: str) -> tuple[list[Row], bool]:
        """Return a session and its journal, and whether there is more than was read."""
        asked = ["sessions", "export", *self._store, *self._user, "--", session_id]
        return await self._lines(asked)

    async def policy(self) -> Row:
        """Return the policy files in force with all their rules, or what is wrong with them."""
        return await self._object(["policy", "rules", "--json", *self._place], ok=(0,))

    async def grant_for(self, command: str) -> str | None:
        """Return the narrow grant that the policy would suggest for a shell text, if any."""
        asked = ["policy", "explain", "--json", *self._place, "--", command]
        try:
            told = await self._object(asked, ok=(0, 10, 20))
        except EngineCliError:
            return None
        suggestions = told.get("suggestions")
        return str(suggestions[0]) if isinstance(suggestions, list) and suggestions else None

    async def _object(self, words: Sequence[str], ok: Sequence[int]) -> Row:
        rows, _ = await self._lines(words, ok)
        if not rows:
            raise EngineCliError(f"`wcore {' '.join(words[:2])}` said nothing")
        return rows[0]

    async def _lines(
        self, words: Sequence[str], ok: Sequence[int] = (0,)
    ) -> tuple[list[Row], bool]:
        try:
            async with self._one:
                with anyio.fail_after(ANSWER_S):
                    return await _run((*self._program, *words), ok)
        except TimeoutError:
            told = f"`wcore {' '.join(words[:2])}` took more than {ANSWER_S:g} s"
            raise EngineCliError(told) from None


async def _run(command: Sequence[str], ok: Sequence[int]) -> tuple[list[Row], bool]:
    """Return the rows that a command prints, and whether there were more than were read."""
    found: list[Row] = []
    with TemporaryFile() as said:
        async with _running(command, said) as process:
            async for row in _rows(process):
                found.append(row)
                if len(found) >= LINES_MAX:
                    return found, True
            code = await process.wait()
        if code not in ok:
            said.seek(0)
            problem = said.read(ERROR_BYTES_MAX).decode(errors="replace").strip()
            raise EngineCliError(problem or f"the command ended with code {code}")
    return found, False


@asynccontextmanager
async def _running(command: Sequence[str], stderr: IO[bytes]) -> AsyncGenerator[Process]:
    try:
        process = await anyio.open_process(
            list(command), stdin=subprocess.DEVNULL, stderr=stderr, start_new_session=True
        )
    except OSError as error:
        raise EngineCliError(f"cannot start {command[0]}: {error}") from error
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.aclose()


async def _rows(process: Process) -> AsyncIterator[Row]:
    assert process.stdout is not None
    rest = b""
    async for data in process.stdout:
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            if (row := json_object(line)) is not None:
                yield row
        if len(rest) > LINE_BYTES_MAX:
            raise EngineCliError("a record is longer than any that we know")
