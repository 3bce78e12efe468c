"""A small host, and hosts that are wrong in one way. `python hosts.py NAME ENGINE`."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

Table = dict[str, Any]
SCREEN_CHARS = 200
END_S = 3


def visible(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


class Good:
    """Starts the engine, sends one message, answers every card, ends with it."""

    stderr: int | None = subprocess.DEVNULL

    def __init__(self, engine: str) -> None:
        self.finished = False
        self.engine = subprocess.Popen(
            [engine, "--json-stream"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
        )

    def say(self, **command: object) -> None:
        assert self.engine.stdin
        with suppress(BrokenPipeError):
            self.engine.stdin.write(json.dumps(command).encode() + b"\n")
            self.engine.stdin.flush()

    def lines(self) -> Iterator[str]:
        assert self.engine.stdout
        for line in self.engine.stdout:
            yield line.decode(errors="replace")

    def show(self, text: str) -> None:
        sys.stdout.write(visible(text))
        sys.stdout.flush()

    def run(self) -> int:
        for line in self.lines():
            try:
                event = json.loads(line)
                kind = event["type"]
            except (ValueError, TypeError, KeyError):
                continue
            self.hear(kind, event)
            if self.finished:
                break
        assert self.engine.stdin
        with suppress(BrokenPipeError):
            self.engine.stdin.close()
        return self.ended(self.wait())

    def wait(self) -> int:
        try:
            return self.engine.wait(END_S)
        except subprocess.TimeoutExpired:
            self.engine.terminate()
            return self.engine.wait()

    def ended(self, code: int) -> int:
        return 0 if self.finished else code or 1

    def hear(self, kind: str, event: Table) -> None:
        if kind == "ready":
            self.ready()
        elif kind == "text_delta":
            self.show(event["text"])
        elif kind == "tool_request":
            self.card(event)
        elif kind == "error":
            self.error(event)
        elif kind == "info":
            self.info(event)
        elif kind == "stream_end":
            self.finished = True

    def ready(self) -> None:
        self.say(type="message", msg_id="m1", content="go")

    def card(self, event: Table) -> None:
        self.show(event["tool"]["description"])
        self.say(type="tool_deny", call_id=event["call_id"])

    def error(self, event: Table) -> None:
        self.show(event["error"]["message"])

    def info(self, event: Table) -> None:
        self.show(event["message"])


class KeepsNewsToItself(Good):
    def info(self, event: Table) -> None:
        pass


class NeverAnswers(Good):
    def card(self, event: Table) -> None:
        pass


class AnswersAnotherCard(Good):
    def card(self, event: Table) -> None:
        self.say(type="tool_approve", call_id=event["call_id"] + "x")


class HasOneCardOnly(Good):
    """Shows the newest card and forgets the one before."""

    is_first = True

    def card(self, event: Table) -> None:
        if not self.is_first:
            super().card(event)
        self.is_first = False


class DiesOfTheUnknown(Good):
    def hear(self, kind: str, event: Table) -> None:
        known = "ready stream_start stream_end text_delta tool_request tool_result tool_running"
        if kind not in f"{known} tool_cancelled call_settled error info thinking".split():
            os.kill(os.getpid(), signal.SIGABRT)
        super().hear(kind, event)


class EndsOnError(Good):
    def error(self, event: Table) -> None:
        self.finished = True


class ShortLines(Good):
    def lines(self) -> Iterator[str]:
        assert self.engine.stdout
        while line := self.engine.stdout.readline(65536):
            yield line.decode(errors="replace")
            if not line.endswith(b"\n"):
                os.kill(os.getpid(), signal.SIGABRT)


class DecodesPieces(Good):
    def lines(self) -> Iterator[str]:
        assert self.engine.stdout
        rest = ""
        while data := os.read(self.engine.stdout.fileno(), 65536):
            *lines, rest = (rest + data.decode(errors="replace")).split("\n")
            yield from lines


class NeverReadsTheLog(Good):
    stderr = subprocess.PIPE


class WaitsForADeadEngine(Good):
    def ended(self, code: int) -> int:
        if not self.finished:
            time.sleep(600)
        return 0


class HidesTheCrash(Good):
    def ended(self, code: int) -> int:
        return 0


class SendsRubbish(Good):
    def ready(self) -> None:
        assert self.engine.stdin
        self.engine.stdin.write(b"hello engine\n")
        super().ready()


class UsesWhatIsNotThere(Good):
    def ready(self) -> None:
        self.say(type="list_grants")
        super().ready()


class AnswersClosedCards(Good):
    def card(self, event: Table) -> None:
        if event["call_id"] == "last":
            threading.Timer(3, super().card, (event,)).start()
        else:
            threading.Timer(2, super().card, (event,)).start()


class ShowsEscapes(Good):
    def show(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


class KeepsTheReasonToItself(Good):
    def error(self, event: Table) -> None:
        pass


class Impatient(Good):
    def lines(self) -> Iterator[str]:
        threading.Timer(3, self.give_up).start()
        yield from super().lines()

    def give_up(self) -> None:
        if not self.started:
            self.engine.kill()

    started = False

    def ready(self) -> None:
        self.started = True
        super().ready()


class LeavesEarly(Good):
    def hear(self, kind: str, event: Table) -> None:
        super().hear(kind, event)
        self.finished = self.finished or kind == "stream_start"


class RepeatsTheMsgId(Good):
    def hear(self, kind: str, event: Table) -> None:
        if kind == "stream_end":
            self.ready()
        super().hear(kind, event)


class EditsWithoutTheDigest(Good):
    def card(self, event: Table) -> None:
        self.say(type="tool_approve", call_id=event["call_id"], args={"command": "echo other"})


class JoinsTheLabels(Good):
    def card(self, event: Table) -> None:
        options = event["tool"]["args"].get("options", [])
        answer = ", ".join(option["label"] for option in options)
        self.say(type="tool_approve", call_id=event["call_id"], answer=answer)


class Asks(Good):
    """Reads what is typed, and understands `n`."""

    def card(self, event: Table) -> None:
        self.show(event["tool"]["description"][:SCREEN_CHARS])
        word = {"tool_approve": "y", "tool_deny": "n"}
        typed = self.typed()
        kind = next((kind for kind in word if word[kind] == typed), self.otherwise(typed))
        self.say(type=kind, call_id=event["call_id"])

    def ready(self) -> None:
        self.typed()
        super().ready()

    def typed(self) -> str:
        return sys.stdin.readline().strip()

    def otherwise(self, typed: str) -> str:
        return "tool_deny"


class ApprovesWhatItDoesNotUnderstand(Asks):
    def otherwise(self, typed: str) -> str:
        return "tool_approve" if typed else "tool_deny"


class TakesTheEndForAYes(Asks):
    def otherwise(self, typed: str) -> str:
        return "tool_deny" if typed else "tool_approve"


class ApprovesUnseen(Asks):
    """Cuts what is long, without a word, and takes the yes for all of it."""


class ApprovesSilently(Good):
    def card(self, event: Table) -> None:
        self.say(type="tool_approve", call_id=event["call_id"])


class KillsTheEngine(Good):
    """Gives it no time to end by itself, nor tells it to."""

    def hear(self, kind: str, event: Table) -> None:
        super().hear(kind, event)
        if self.finished:
            assert self.engine.stdin
            self.engine.stdin.close()
            time.sleep(1)
            self.engine.kill()


class LeavesTheEngineBehind(Good):
    """Does not wait for the engine's end, nor bring it about."""

    def wait(self) -> int:
        return 0


class SignalsFirst(Good):
    def hear(self, kind: str, event: Table) -> None:
        super().hear(kind, event)
        if self.finished:
            self.engine.terminate()
            self.engine.wait()


def all_below(kind: type[Good]) -> Iterator[type[Good]]:
    yield kind
    for one in kind.__subclasses__():
        yield from all_below(one)


HOSTS = {kind.__name__: kind for kind in all_below(Good)}
BROKEN = set(HOSTS) - {"Good", "Asks"}

if __name__ == "__main__":
    host = HOSTS[sys.argv[1]](sys.argv[2])
    result = host.run()
    sys.stdout.flush()
    os._exit(result)
