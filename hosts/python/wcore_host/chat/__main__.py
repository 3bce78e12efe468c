"""`wcore-chat`: the full screen where there is one, else (or with `--plain`) lines. Start here."""

import os
import signal
import sys
from contextlib import nullcontext, suppress
from dataclasses import replace
from importlib.util import find_spec
from typing import Final

import anyio
from anyio.abc import TaskStatus
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from wcore_host.decode import Fields
from wcore_host.engine import Engine
from wcore_host.errors import EngineExitedError, EngineStartError
from wcore_host.headless import chat_options
from wcore_host.headless.chat_options import ChatOptions
from wcore_host.headless.job_control import has_shell
from wcore_host.headless.modes import START_MODE, meaning
from wcore_host.plain import slash
from wcore_host.plain.conversation import EXIT_ENGINE, Chat
from wcore_host.plain.inputs import Gone, Item, Line, Signalled, Tick
from wcore_host.plain.keyboard import Keyboard, LineReader
from wcore_host.plain.keys import Key
from wcore_host.plain.screen import Screen
from wcore_host.spawn import close_host, connect
from wcore_host.visible import visible, visible_line

TICK_S: Final = 0.2  # often enough for a countdown in seconds
EXIT_INTERRUPTED: Final = 130

Send = MemoryObjectSendStream[Item]

INTERRUPTED: Final = (
    "A turn was interrupted: of its calls {waits} had not run, {unknown} may have. /continue goes "
    "on with it and asks again, so does your next message; /cancel gives it up."
)


def main() -> int:
    """Chat until the person leaves; the exit code says how it ended."""
    env = close_host()
    chosen = replace(chat_options.read(sys.argv[1:]), env=env)
    if sys.stdin is None or sys.stdout is None:  # closed by whoever started it
        os.write(2, b"wcore-chat: stdin and stdout must be open\n")
        return EXIT_ENGINE
    if not chosen.plain and _can_be_drawn_on() and _has_full_screen():
        from wcore_host.terminal.app import run  # noqa: PLC0415 - a tenth of a second

        return run(chosen)
    return _plain(chosen)


def _can_be_drawn_on() -> bool:
    tty = sys.stdin.isatty() and sys.stdout.isatty()
    return tty and os.environ.get("TERM") not in (None, "", "dumb")


def _has_full_screen() -> bool:
    """Whether the extra is installed; if not, say how to get it."""
    if find_spec("textual") is not None:
        return True
    print("wcore-chat: pip install 'wcore[tui]' adds the full-screen chat; --plain is this one")
    return False


def _plain(chosen: ChatOptions) -> int:
    tty = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    screen = Screen(sys.stdout, tty=tty, colour=tty and not os.environ.get("NO_COLOR"))
    reader = Keyboard(0, 1) if tty else LineReader(0)
    try:
        return anyio.run(_chat, chosen, screen, reader)
    except EngineStartError as error:
        print(f"wcore-chat: the engine does not start: {visible(str(error))}", file=sys.stderr)
        return EXIT_ENGINE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except ExceptionGroup as group:
        unwritten, others = group.split(OSError)
        if unwritten is None or others is not None:
            raise
        print("wcore-chat: what is said cannot be written to stdout", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python fails to flush it at its end
        return EXIT_ENGINE


async def _chat(chosen: ChatOptions, screen: Screen, reader: Keyboard | LineReader) -> int:
    keyboard = isinstance(reader, Keyboard)
    send, receive = anyio.create_memory_object_stream[Item](0)
    with send, receive:
        async with connect(chosen.command, env=chosen.env, attended=True) as engine:
            chat = Chat(engine, screen, keyboard=keyboard, drop_typed=reader.drop_typed)
            async with anyio.create_task_group() as tasks:
                await tasks.start(_hear_signals, send)  # before the terminal is taken
                with reader.taken() if isinstance(reader, Keyboard) else nullcontext():
                    await _greet(engine, chosen, screen)
                    tasks.start_soon(_hear_engine, engine, send)
                    if isinstance(reader, Keyboard):
                        tasks.start_soon(_hear_keys, reader, send)
                        tasks.start_soon(_tick, chat, send)
                    else:
                        tasks.start_soon(_hear_lines, reader, chat, send)
                    await _converse(chat, chosen.prompt, receive)
                tasks.cancel_scope.cancel()
    if chat.exit_code is None or (chat.has_failed and not isinstance(reader, Keyboard)):
        return chat.exit_code or EXIT_ENGINE
    return chat.exit_code


async def _converse(chat: Chat, prompt: str, items: MemoryObjectReceiveStream[Item]) -> None:
    try:
        await chat.begin(prompt)
        while chat.exit_code is None:
            await chat.take(await items.receive())
    except BrokenPipeError:  # nobody reads us any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


async def _greet(engine: Engine, chosen: ChatOptions, screen: Screen) -> None:
    """Say who we talk to and what runs unasked; choose a careful mode if nobody chose one."""
    if not chosen.has_mode and START_MODE in engine.capabilities.modes:
        with suppress(EngineExitedError):  # that is told when the conversation begins
            await engine.set_mode(START_MODE)
            await engine.ping()  # answered in order: now the mode is what it will be
    model = visible_line(engine.capabilities.current_model, 60)
    version = f"engine {visible_line(engine.ready.version, 30)}"
    screen.line(screen.style.dim(version + (f", model {model}" if model else "")))
    mode = engine.capabilities.current_mode
    screen.line(f"Mode {visible_line(mode, 30)}: {meaning(mode)}. /help says more.")
    if left := slash.interrupted(engine):
        waits, unknown = (Fields(left).items(name) for name in ("pending", "unknown"))
        screen.line(INTERRUPTED.format(waits=len(waits), unknown=len(unknown)))


async def _hear_engine(engine: Engine, send: Send) -> None:
    failure = None
    try:
        async for event in engine:
            await send.send(event)
    except EngineExitedError as error:
        failure = error
    await send.send(Gone(failure))


async def _hear_keys(keyboard: Keyboard, send: Send) -> None:
    while True:
        for press in await keyboard.read():
            if press is Key.SUSPEND and has_shell():
                keyboard.suspend()
                await send.send(Key.REDRAW)
            else:
                await send.send(press)
            if press is Key.EOF:
                await anyio.sleep(TICK_S)  # a terminal that is gone says so for ever


async def _hear_lines(reader: LineReader, chat: Chat, send: Send) -> None:
    while True:
        await chat.line_wanted()
        text = await reader.read()
        await send.send(Line(text))
        if text is None:
            return


async def _hear_signals(send: Send, *, task_status: TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        task_status.started()
        async for number in signals:
            known = Key.INTERRUPT if number == signal.SIGINT else Signalled(number)
            await send.send(known)


async def _tick(chat: Chat, send: Send) -> None:
    while True:
        await chat.awake.wait()
        await anyio.sleep(TICK_S)
        await send.send(Tick())


if __name__ == "__main__":
    sys.exit(main())
