"""`wcore-web`: a conversation in a browser on this machine. Start here."""

import logging
import os
import signal
import socket
import sys
import webbrowser
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final

import anyio

from wcore_host.errors import EngineStartError
from wcore_host.headless.workspace import WorkspaceFiles
from wcore_host.spawn import close_host
from wcore_host.visible import visible
from wcore_host.web import options
from wcore_host.web.access_codes import CODE_LIFE_S, AccessCodes
from wcore_host.web.options import WebOptions

if TYPE_CHECKING:
    import uvicorn
    from anyio.abc import TaskGroup
    from starlette.types import ASGIApp

ADDRESS: Final = "127.0.0.1"
EXIT_OK: Final = 0
EXIT_ENGINE: Final = 1
EXIT_NO_SERVER: Final = 1
BACKLOG_MAX: Final = 128  # connections that wait to be accepted
CONNECTIONS_MAX: Final = 256  # sixteen tabs, each with a few requests under way
CLOSE_S: Final = 2  # for answers under way when the server stops
ENTER_BYTES: Final = 4096  # whatever was typed before Enter


def main() -> int:
    """Serve until Ctrl-C; the exit code says how it ended."""
    env = close_host()
    chosen = replace(options.read(sys.argv[1:]), env=env)
    try:
        import starlette  # noqa: F401, PLC0415 # pyright: ignore[reportUnusedImport]
        import uvicorn  # noqa: F401, PLC0415 # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        needed = "pip install 'wcore[web]', or in a clone pip install '.[web]'"
        print(f"wcore-web needs more: {needed} ({error})", file=sys.stderr)
        return EXIT_NO_SERVER
    try:
        with _listening(chosen.port) as listener:
            return anyio.run(_serve, chosen, listener)
    except EngineStartError as error:
        print(f"wcore-web: the engine does not start: {visible(str(error))}", file=sys.stderr)
        return EXIT_ENGINE
    except OSError as error:
        where = f"{ADDRESS}:{chosen.port}"
        print(f"wcore-web: cannot listen on {where}: {error.strerror}", file=sys.stderr)
        return EXIT_NO_SERVER


async def _serve(chosen: WebOptions, listener: socket.socket) -> int:
    from wcore_host.web.conversation import Conversation  # noqa: PLC0415
    from wcore_host.web.engine_cli import EngineCli  # noqa: PLC0415
    from wcore_host.web.event_log import EventLog  # noqa: PLC0415 - only with the extra `web`
    from wcore_host.web.routes import Server  # noqa: PLC0415

    port = listener.getsockname()[1]
    codes, event_log = AccessCodes(), EventLog()
    talk = Conversation(chosen, event_log)
    files = WorkspaceFiles(chosen.folder)
    server = _server(Server(codes, event_log, talk, EngineCli(chosen), files).app(port))
    failure: EngineStartError | None = None
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        async with anyio.create_task_group() as tasks:
            ready = anyio.Event()

            async def keep_engine() -> None:
                nonlocal failure
                try:
                    await talk.run(ready)
                except EngineStartError as error:
                    failure = error
                    tasks.cancel_scope.cancel()

            async def leave_on_signal() -> None:
                async for _number in signals:
                    event_log.close_all()
                    await talk.leave()
                    server.should_exit = True
                    return

            tasks.start_soon(keep_engine)
            tasks.start_soon(leave_on_signal)
            await ready.wait()
            _offer_links(Links(codes, port), chosen, tasks)
            await server.serve(sockets=[listener])
            tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return EXIT_OK


def _server(app: "ASGIApp") -> "uvicorn.Server":
    import uvicorn  # noqa: PLC0415 - only with the extra `web`

    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,  # what goes wrong reaches stderr through logging's last resort
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nobody stands between a browser of this machine and us
        limit_concurrency=CONNECTIONS_MAX,
        timeout_graceful_shutdown=CLOSE_S,
    )
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    server = uvicorn.Server(config)
    # Our own handlers end the engine first; after uvicorn's a SIGTERM would leave it behind.
    setattr(server, "capture_signals", nullcontext)  # noqa: B010 - it is declared as a method
    return server


def _is_news(record: logging.LogRecord) -> bool:
    """Whether it must be told: that a page which did not read was cut off need not."""
    return "without completing response" not in record.getMessage()


@contextmanager
def _listening(port: int) -> Generator[socket.socket]:
    """Listen on loopback, and nowhere else."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((ADDRESS, port))
        listener.listen(BACKLOG_MAX)
        yield listener


class Links:
    """Start links: printed, and opened where wanted. Never an argument of any process."""

    def __init__(self, codes: AccessCodes, port: int) -> None:
        self._codes = codes
        self._port = port

    def tell(self) -> None:
        """Print a new link."""
        print(f"Open this link within {CODE_LIFE_S:g} seconds:\n\n    {self._link()}\n", flush=True)

    async def tell_on_enter(self) -> None:
        """Print another link whenever Enter is pressed in our terminal."""
        while True:
            await anyio.wait_readable(0)
            if not os.read(0, ENTER_BYTES):
                return
            self.tell()

    async def open(self) -> None:
        """Open a new link in the browser, by way of a file that only this user can read."""
        with private_page(self._link()) as address:
            opened = await anyio.to_thread.run_sync(webbrowser.open, address)
            if not opened:
                print("no browser could be opened; use the link", file=sys.stderr)
            await anyio.sleep(CODE_LIFE_S)

    def _link(self) -> str:
        return f"http://{ADDRESS}:{self._port}/#code={self._codes.code()}"


@contextmanager
def private_page(link: str) -> Generator[str]:
    """Keep a file that leads to `link` and that only this user can read; yield its address."""
    folder = Path(mkdtemp(prefix="wcore-web-"))
    file = folder / "open.html"
    try:
        file.touch(mode=0o600)
        file.write_text(f'<meta http-equiv="refresh" content="0;url={link}"><title>wcore</title>')
        yield file.as_uri()
    finally:
        with suppress(OSError):
            file.unlink()
            folder.rmdir()


def _offer_links(links: Links, chosen: WebOptions, tasks: "TaskGroup") -> None:
    links.tell()
    if chosen.opens:
        tasks.start_soon(links.open)
    if sys.stdin.isatty():
        print("Enter prints another link, Ctrl-C ends everything.", flush=True)
        tasks.start_soon(links.tell_on_enter)


if __name__ == "__main__":
    sys.exit(main())
