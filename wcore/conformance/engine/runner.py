"""Runs cases against a command, several at a time, and says what became of each."""

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

import anyio

from wcore.conformance.cases import Case
from wcore.conformance.engine.case_context import CaseContext
from wcore.conformance.engine.command import Command, HookMissingError, Setting
from wcore.conformance.engine.conversation import EngineConversation, MismatchError
from wcore.conformance.engine.invariants import InvariantChecker, Invariants, ViolationError
from wcore.conformance.engine.optional_features import missing_tools
from wcore.conformance.engine.patterns import filled, found
from wcore.conformance.engine.provider import Provider, serving
from wcore.conformance.engine.script_export import TWICE, UNSEEN, Scripted, looks, script_of
from wcore.conformance.engine.steps import play
from wcore.conformance.json_object import JsonObject
from wcore.conformance.outcomes import Outcome, Status
from wcore.conformance.process import Child, temporary_folder

Model: TypeAlias = Provider | Scripted

CASE_S_MAX: Final = 120.0  # no case is a long one; more is a case that hangs
SHOWN_BEFORE: Final = 12  # lines of the transcript before the difference
SCRIPT: Final = "script.jsonl"  # beside the workspace, where no case looks
#: Flags that a host must ask for, and the argument by which it does where `--help` names it.
ASKED_FOR: Final = {"hitl_suspend": "--hitl-suspend"}
SHOWN_AFTER: Final = 3  # lines that had come already
_KEYS: Final = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")


@dataclass(frozen=True)
class CaseRunner:
    """Judges one engine command, with its slack."""

    command: Command
    invariants: Invariants
    provider: str = "openai"

    async def run(self, case: Case) -> Outcome:
        """Run one case in a folder of its own. Cancelling kills the engine."""
        began = time.monotonic()
        run = _Run(self, case)
        try:
            with anyio.fail_after(CASE_S_MAX * self.command.slack):
                outcome = await run.outcome()
        except TimeoutError:
            outcome = Outcome(case, Status.FAIL, "the case did not end", requires=case.requires)
        return replace(outcome, seconds=round(time.monotonic() - began, 3))


class _Run:
    """One case being judged."""

    def __init__(self, runner: CaseRunner, case: Case) -> None:
        self._runner = runner
        self._case = case
        self._talks: list[EngineConversation] = []
        self._asked: list[JsonObject] = []
        self._secret = f"sk-conformance-{secrets.token_hex(12)}"

    async def outcome(self) -> Outcome:
        case = self._case
        if self._runner.command.is_scripted and looks(case.steps):
            return Outcome(case, Status.NOT_TESTED, UNSEEN)
        met = await self._played()
        if not isinstance(met, ViolationError) and (lacks := self._lacks()):
            met = HookMissingError(lacks)
        match met:
            case None:
                return Outcome(case, Status.PASS)
            case HookMissingError() as error:
                return Outcome(case, Status.NOT_TESTED, str(error))
            case _SkippedError() as error:
                return Outcome(case, Status.SKIP, str(error))
            case ViolationError() as error:
                requires = self._runner.invariants.requires[error.rule]
                return self._failed(str(error), requires, error.rule)
            case MismatchError() as error:
                return self._failed(str(error), case.requires, "")
            case error:
                reason = f"the engine cannot be run: {error}"
                return Outcome(case, Status.FAIL, reason, requires=case.requires)

    def _lacks(self) -> str:
        """Say which part that the case is about this engine has left out, as it may."""
        if tools := missing_tools(self._case, self._asked):
            return f"the engine does not offer {', '.join(tools)}"
        other = self._case.provider not in (None, self._runner.provider)
        if other and self._talks and self._talks[-1].watch.refused:
            return f"the engine does not start with provider {self._case.provider}"
        return ""

    def _failed(self, reason: str, requires: tuple[str, ...], rule: str) -> Outcome:
        lines: list[tuple[str, str]] = []
        log = ""
        if self._talks:
            talk = self._talks[-1]
            lines = [*talk.transcript[-SHOWN_BEFORE:], ("!", reason)]
            lines += [("…", line) for line in talk.look_ahead()[:SHOWN_AFTER]]
            log = talk.child.log_tail()
        return Outcome(self._case, Status.FAIL, reason, rule, requires, tuple(lines), log)

    async def _played(self) -> Exception | None:
        """Play the case; return what went wrong. Inside, so that no task group wraps it."""
        case = self._case
        async with AsyncExitStack() as stack:
            folder = Path(stack.enter_context(temporary_folder()))
            workspace, home = folder / "workspace", folder / "home"
            _furnish(workspace, case.files)
            _furnish(home, case.home)
            known = self._known(folder)
            script = [tuple(filled(list(reply), known)) for reply in case.model]
            provider = await self._model(stack, folder, script)
            context = CaseContext(
                workspace=workspace,
                provider=provider,
                start=lambda flags: self._start(stack, folder, provider, tuple(flags)),
                run=lambda flags, within_s: self._run(folder, provider, tuple(flags), within_s),
                needs=self._runner.command.need,
                known=known,
            )
            try:
                if not case.manual:
                    await self._begin(context)
                await play(context, list(case.steps))
                for talk in context.talks:
                    if talk.child.exit_code is None:
                        await talk.finish()
            except (HookMissingError, _SkippedError, ViolationError, MismatchError) as error:
                return error
            except OSError as error:
                return error
        return None

    async def _model(
        self, stack: AsyncExitStack, folder: Path, script: list[tuple[JsonObject, ...]]
    ) -> Model:
        """Let the model say what the case scripts: a server, or a file."""
        if self._runner.command.is_scripted:
            (folder / SCRIPT).write_text(script_of(script))
            return Scripted()
        provider = await stack.enter_async_context(serving(script))
        self._asked = provider.asked
        return provider

    def _known(self, folder: Path) -> JsonObject:
        """Return what `{…}` in a case stands for from the start."""
        return {
            "workspace": str(folder / "workspace"),
            "home": str(folder / "home"),
            "secret": self._secret,
            "python": sys.executable,
            "nl": "\n",
        }

    async def _begin(self, context: CaseContext) -> None:
        """Start the engine, hear `ready`, see whether the case is about this engine at all."""
        case = self._case
        context.talk = await context.start(list(case.flags))
        context.talks.append(context.talk)
        (ready,) = await context.talk.hear([{"hear": "ready"}], None)
        context.known["ready"] = ready
        if case.capability is not None and not _advertises(ready, case.capability):
            raise _SkippedError(f"the engine does not announce {case.capability}")
        if case.without is not None and _advertises(ready, case.without):
            raise _SkippedError(f"the engine announces {case.without}")

    async def _start(
        self, stack: AsyncExitStack, folder: Path, provider: Model, flags: tuple[str, ...]
    ) -> EngineConversation:
        if self._talks and self._runner.command.is_scripted:
            raise HookMissingError(TWICE)
        argv = self._argv(folder, provider, flags)
        child = await Child.started(
            argv, folder / "workspace", self._environ(folder), folder / "log"
        )
        stack.push_async_callback(child.close)
        watch = InvariantChecker(self._secret, self._runner.invariants.shapes)
        talk = EngineConversation(child, watch, self._runner.command.slack, self._case.never)
        self._talks.append(talk)
        return talk

    async def _run(
        self, folder: Path, provider: Model, flags: tuple[str, ...], within_s: float
    ) -> tuple[int, bytes]:
        with anyio.move_on_after(within_s * self._runner.command.slack):
            done = await anyio.run_process(
                self._argv(folder, provider, flags),
                cwd=folder / "workspace",
                env=self._environ(folder),
                stdin=subprocess.DEVNULL,
                check=False,
            )
            return done.returncode, done.stdout
        raise MismatchError("it does not end in time")

    def _argv(self, folder: Path, provider: Model, flags: tuple[str, ...]) -> list[str]:
        asks = ASKED_FOR.get(self._case.capability or "")
        if asks is not None and asks in self._runner.command.help_text:
            flags = (*flags, asks)
        setting = Setting(
            base_url=provider.url,
            script=str(folder / SCRIPT),
            provider=self._case.provider or self._runner.provider,
            workspace=str(folder / "workspace"),
            ttl_s=self._case.ttl_s,
            flags=flags,
        )
        return self._runner.command.argv(setting)

    def _environ(self, folder: Path) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.endswith(("_API_KEY", "_BASE_URL", "_PROXY", "_proxy"))
            and not name.startswith(("XDG_", "WCORE_"))
        }
        keys = dict.fromkeys(_KEYS, self._secret)
        return {**kept, **keys, "HOME": str(folder / "home")}


class _SkippedError(Exception):
    """The case is about something that this engine does not announce."""


def _advertises(ready: JsonObject, capability: str) -> bool:
    """`hitl_suspend`: the flag is true. `modes:read_only`: the list has it."""
    name, _, member = capability.partition(":")
    value = found(ready, f"capabilities.{name}")
    if member:
        return isinstance(value, list) and member in value
    return value is True


def _furnish(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
