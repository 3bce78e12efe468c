"""Broken engines: lines, turns, commands and how they end."""

import json
import os
import signal
import subprocess
import sys
import time

from conformance.mutant import Faithful, Table


class DropsStreamEnd(Faithful):
    def down(self, event: Table) -> list[Table]:
        return [] if event["type"] == "stream_end" else [event]


class EndsTwice(Faithful):
    def down(self, event: Table) -> list[Table]:
        return [event, event] if event["type"] == "stream_end" else [event]


class CumulativeText(Faithful):
    text = ""

    def down(self, event: Table) -> list[Table]:
        if event["type"] == "text_delta":
            self.text += event["text"]
            return [{**event, "text": self.text}]
        return [event]


class NullFields(Faithful):
    def down(self, event: Table) -> list[Table]:
        return [{**event, "agent": None}] if event["type"] == "text_delta" else [event]


class UsageOfTheTurn(Faithful):
    def down(self, event: Table) -> list[Table]:
        if event["type"] == "stream_end":
            return [{**event, "usage": {"input_tokens": 30 - self.turns(), "output_tokens": 12}}]
        return [event]

    count = 0

    def turns(self) -> int:
        self.count += 10
        return self.count


class LosesDeltas(Faithful):
    count = 0

    def down(self, event: Table) -> list[Table]:
        self.count += event["type"] == "text_delta"
        return [] if event["type"] == "text_delta" and self.count % 100 == 0 else [event]


class LeaksTheKey(Faithful):
    def down(self, event: Table) -> list[Table]:
        if event["type"] == "error":
            key = os.environ["OPENAI_API_KEY"]
            event["error"]["message"] += f" (key {key})"
        return [event]


class ShowsTheKeyThatTheModelSays(Faithful):
    def down(self, event: Table) -> list[Table]:
        if event["type"] == "thinking":
            event["text"] = event["text"].replace("[REDACTED]", os.environ["OPENAI_API_KEY"])
        return [event]


class PrintsABanner(Faithful):
    def started(self) -> None:
        sys.stdout.write("Welcome to the engine!\n")
        sys.stdout.flush()


class PrintsBlankLines(Faithful):
    def down(self, event: Table) -> list[Table]:
        sys.stdout.write("\n")
        sys.stdout.flush()
        return [event]


class ReadyLate(Faithful):
    def started(self) -> None:
        time.sleep(60)  # so long that no judge is late itself


class DropsUnknownArgumentsSilently(Faithful):
    def down(self, event: Table) -> list[Table]:
        is_told = event["type"] == "info" and "has no effect" in event["message"]
        return [] if is_told else [event]


class RefusesUnknownProviders(Faithful):
    def arguments(self, words: list[str]) -> list[str]:
        is_known = "no-such-provider-anywhere" not in words
        return words if is_known else [*words, "--cwd", "/no/such/folder"]


class ReadyTwice(Faithful):
    def down(self, event: Table) -> list[Table]:
        return [event, event] if event["type"] == "ready" else [event]


class UnknownCurrentMode(Faithful):
    def down(self, event: Table) -> list[Table]:
        if event["type"] == "ready":
            event["capabilities"]["current_mode"] = "yolo"
        return [event]


class ShowsItsOwnNames(Faithful):
    def down(self, event: Table) -> list[Table]:
        if event["type"] == "config_changed":
            has = event["capabilities"]
            own = ["default", "read_only", "auto_edit", "force"]
            now = {"yolo": "force"}.get(has["current_mode"], has["current_mode"])
            event["capabilities"] = {**has, "modes": [*own], "current_mode": now}
        return [event]


class AnnouncesSuspenseUnasked(Faithful):
    def down(self, event: Table) -> list[Table]:
        if event["type"] == "ready":
            event["capabilities"]["hitl_suspend"] = True
        return [event]


class RefusesHalfACharacter(Faithful):
    def up(self, command: Table) -> list[Table]:
        try:
            json.dumps(command, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return [{"type": "no JSON"}]
        return [command]


class ReadsTheMarkAsText(Faithful):
    def tell(self, line: bytes) -> None:
        super().tell(b"x" + line if line.startswith(b"\xef\xbb\xbf") else line)


class AnswersTwice(Faithful):
    def down(self, event: Table) -> list[Table]:
        return [event, event] if event["type"] == "pong" else [event]


class IgnoresMalformed(Faithful):
    def down(self, event: Table) -> list[Table]:
        return [] if event["type"] == "error" else [event]


class ErrorWithMsgId(Faithful):
    def down(self, event: Table) -> list[Table]:
        return [{**event, "msg_id": "m1"}] if event["type"] == "error" else [event]


class ErrorsTwice(Faithful):
    def down(self, event: Table) -> list[Table]:
        return [event, event] if event["type"] == "error" else [event]


class DiesOfRubbish(Faithful):
    def up_raw(self, line: bytes) -> None:
        os.killpg(0, signal.SIGKILL)


class DropsTheSecondMessage(Faithful):
    busy = False

    def up(self, command: Table) -> list[Table]:
        if command["type"] == "message":
            if self.busy:
                return []
            self.busy = True
        return [command]

    def down(self, event: Table) -> list[Table]:
        self.busy = self.busy and event["type"] != "stream_end"
        return [event]


class SilentAboutUnknownIds(Faithful):
    def down(self, event: Table) -> list[Table]:
        return [] if event["type"] == "info" else [event]


class AnyModeIsForce(Faithful):
    def up(self, command: Table) -> list[Table]:
        known = ("default", "read_only", "auto_edit", "force")
        if command["type"] == "set_mode" and command["mode"] not in known:
            return [{**command, "mode": "force"}]
        return [command]


class ExitsOnIdleStop(Faithful):
    def up(self, command: Table) -> list[Table]:
        if command["type"] == "stop":
            os.killpg(0, signal.SIGKILL)
        return [command]


class KeepsTheChildAlive(Faithful):
    """Says that the tool was stopped, and lets it run."""

    running: Table | None = None
    stopped = False

    def up(self, command: Table) -> list[Table]:
        if command["type"] == "stop" and self.running:
            ids = {"msg_id": self.running["msg_id"]}
            call = {**ids, "call_id": self.running["call_id"], "reason": "stopped by the user"}
            self.say({"type": "tool_cancelled", **call})
            usage = {"input_tokens": 0, "output_tokens": 0}
            self.say({"type": "stream_end", **ids, "finish_reason": "stop", "usage": usage})
            self.stopped = True
            return []
        return [command]

    def down(self, event: Table) -> list[Table]:
        if event["type"] == "tool_running":
            self.running = event
        return [] if self.stopped else [event]


class LeavesProcessesBehind(Faithful):
    """Says that a call is over while something that it started goes on."""

    def down(self, event: Table) -> list[Table]:
        if event["type"] == "tool_result":
            beat = "for i in $(seq 60); do echo x >>beat.txt; sleep 0.05; done"
            subprocess.Popen(("sh", "-c", beat), stdin=-3, stdout=-3, stderr=-3)  # DEVNULL
        return [event]


class TalksAfterStop(Faithful):
    def down(self, event: Table) -> list[Table]:
        if event["type"] == "stream_end":
            late = {"type": "text_delta", "msg_id": event["msg_id"], "text": "by the way"}
            return [event, late]
        return [event]


class ExitsOnEofTooEarly(Faithful):
    def ended(self) -> None:
        os.killpg(0, signal.SIGKILL)


class HangsOnEof(Faithful):
    def ended(self) -> None:
        pass


class IgnoresSignals(Faithful):
    def started(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


class TrustsTheModeWithoutItsStore(Faithful):
    """Does as if nobody had ever said anything about the tools, and says nothing of it."""

    def arguments(self, words: list[str]) -> list[str]:
        return [word if "no-store" not in word else "none" for word in words]


class FailsWithoutItsStore(Faithful):
    def down(self, event: Table) -> list[Table]:
        if event["type"] != "info" or "in memory" not in event["message"]:
            return [event]
        problem = {"code": "config_error", "message": event["message"], "retryable": False}
        return [{"type": "error", "error": problem}]
