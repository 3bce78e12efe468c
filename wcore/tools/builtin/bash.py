"""Bash: one command text in a fresh shell, exactly as it was shown."""

import os
import re
import signal
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Final

import anyio
from anyio import to_thread
from msgspec import Struct
from msgspec.structs import replace
from pydantic import AfterValidator, Field

from wcore.errors import ToolError
from wcore.hosts import one_host
from wcore.supervisor.client import Held, Program
from wcore.tools.arguments import Arguments, parse, schema_of
from wcore.tools.digests import call_digest
from wcore.tools.fs.paths import description_line, quote_path
from wcore.tools.process.child_environment import child_environment, find_bash
from wcore.tools.process.shell_output import ShellOutput
from wcore.tools.tool import RunContext, ToolEnvironment
from wcore.views import ASKED_MAX, NONE, READ_ONLY, WORKSPACE, SandboxView
from wcore.visible import visible
from wcore.vocabulary import (
    PREVIEW_BYTES_MAX,
    Access,
    Args,
    Category,
    Json,
    Named,
    PathFact,
    Pin,
    Prepared,
    Preview,
    Status,
    ToolOutput,
    ToolSpec,
)

if TYPE_CHECKING:  # not loaded where commands run without one
    from wcore.sandbox.confined import Confined
    from wcore.sandbox.sandbox import Sandbox

NAME = "Bash"
NAMES_MAX: Final = 1024  # of files that a text may be about; a longer one is data
_BETWEEN_WORDS: Final = re.compile(r"[\s\"'`\\$(){}<>|&;=:,!@]+")
HOSTS_CHARS_MAX: Final = 40  # of their names in one line, before the command
TIMEOUT_S_DEFAULT: Final = 120
TIMEOUT_S_MAX: Final = 600  # a longer job belongs in the background of a person
GRACE_S: Final = 0.3  # between SIGTERM and SIGKILL, for what is left when the shell has ended
DRAIN_S: Final = 0.2  # for output on its way when the shell has ended
SIGNAL_EXIT: Final = 128  # how shells report a death by signal
_SIGNALS: Final = {each.value: each.name for each in signal.Signals}
_CHANGED: Final = "was not what the command led to when it was shown: something has changed since"
_WHERE: Final = {
    READ_ONLY: "Execute in the read-only sandbox",
    WORKSPACE: "Execute in the sandbox",
    NONE: "Execute outside of the sandbox",
}
HELD_NO_MORE: Final = (
    "[broken off: the wcore process that held this call was killed from outside; "
    "what the call had started has been killed]"
)


class BashArguments(Arguments):
    command: str = Field(min_length=1, description="The text that bash runs.")
    timeout_s: int = Field(
        default=TIMEOUT_S_DEFAULT, ge=1, le=TIMEOUT_S_MAX, description="Seconds it may take."
    )
    description: str = Field(default="", description="What it is for; for people only.")


class SandboxedArguments(BashArguments):
    hosts: list[Annotated[str, AfterValidator(one_host)]] = Field(
        default=[],
        max_length=ASKED_MAX,
        description="Hosts that it must reach, such as pypi.org or localhost.example:8443.",
    )
    outside_sandbox: bool = Field(
        default=False, description="Run it as the user, where it cannot work in the sandbox."
    )


_TEXT: Final = (
    "Run a command with bash in the workspace. Each call is a fresh shell: no `cd`, variable "
    "or background process is carried over. There is no input. Long output loses its middle."
)
_HELD: Final = (
    " It runs in a sandbox: outside of the workspace it can write nothing, and within it not what "
    "git, editors and shells start; secrets are hidden, and few hosts are reached. A person is "
    "asked about `hosts` and `outside_sandbox`: use them for what has failed without."
)


@cache
def _spec(arguments: type[BashArguments]) -> ToolSpec:
    text = _TEXT if arguments is BashArguments else _TEXT + _HELD
    return ToolSpec(NAME, Category.EXEC, text, schema_of(arguments))


class _Plan(Struct, frozen=True):
    argv: tuple[str, ...]
    timeout_s: int


class Bash(Struct, frozen=True):
    """Runs one command. The gate judges its text; this only runs it."""

    environment: ToolEnvironment
    program: str | None

    @classmethod
    def at(cls, environment: ToolEnvironment) -> "Bash":
        """Make the tool with the bash of this machine, if there is one."""
        return cls(environment, find_bash(environment.environ, environment.workspace))

    @property
    def spec(self) -> ToolSpec:
        """What the model is shown."""
        return _spec(self._arguments)

    @property
    def _arguments(self) -> type[BashArguments]:
        return SandboxedArguments if self.environment.sandbox else BashArguments

    @property
    def pin(self) -> Pin | None:
        """What a yes without a call is bound to."""
        return self.environment.sandbox.view().pin if self.environment.sandbox else None

    def target_paths(self, args: Args) -> frozenset[str]:
        """Return what may be names of files, without their folders: `cd` makes those uncertain."""
        text = args.get("command")
        words = _BETWEEN_WORDS.split(text, NAMES_MAX) if isinstance(text, str) else ()
        return frozenset(word.rpartition("/")[2] for word in words) - {"", ".", ".."}

    async def prepare(self, args: Args) -> Prepared:
        """Check the text and lay it out."""
        given, args = parse(NAME, self._arguments, args)
        command = given.command
        if not command.strip() or "\0" in command:
            raise ToolError("`command` is blank or contains a NUL character")
        text = visible(command)
        if len(text.encode()) > PREVIEW_BYTES_MAX:  # nobody approves what was not shown
            limit = f"{PREVIEW_BYTES_MAX} bytes as a card shows it"
            raise ToolError(f"`command` is longer than {limit}; write a script and run that")
        if self.program is None:
            raise ToolError("bash was not found on this machine; the Bash tool needs it")
        sandbox = _asked(self.environment.sandbox, given)
        depends = {"sandbox": " ".join((sandbox.view, *sandbox.hosts))} if sandbox else None
        return Prepared(
            tool=NAME,
            category=Category.EXEC,
            args=args,
            description=description_line(f"{_where(sandbox)}: {command}"),
            digest=call_digest(NAME, args, self.environment.workspace, depends=depends),
            command=command,
            preview=Preview("command", text),
            plan=_Plan(
                (self.program, "--noprofile", "--norc", "-c", "--", command), given.timeout_s
            ),
            look=partial(self._look, command) if self.environment.named else None,
            sandbox=sandbox,
            pin=sandbox.pin if sandbox else None,
        )

    def _look(self, command: str) -> Named:
        assert self.environment.named is not None
        return self.environment.named(command, child_environment(self.environment.environ))

    async def _hold_to(self, prepared: Prepared, live: RunContext) -> None:
        """Make sure that a command still leads to nothing that would have been judged otherwise.

        Raises:
            ToolError: one is protected, outside the workspace, or denied by now; or the command
                would run in a folder that is no plain one any more.
        """
        shown = prepared.named or ()
        known = {(os.path.dirname(fact.path), fact.access) for fact in shown if _matters(fact)}
        now = await to_thread.run_sync(prepared.looked_up)
        for folder in set(prepared.folders) - set(now.folders):
            raise ToolError(f"{quote_path(folder)} {_CHANGED}; nothing was done")
        for fact in now.named or ():
            # Beside what was shown more may fit a pattern, and processes come and go in /proc.
            beside = (os.path.dirname(fact.path), fact.access) in known
            passes = fact.access is Access.READ and fact.path.startswith("/proc/")
            if _matters(fact) and fact not in shown and not (beside or passes):
                path = quote_path(fact.path) if fact.path else "a path"
                raise ToolError(f"{path} {_CHANGED}; nothing was done")
        if now != prepared and (denial := live.denial(now)):
            raise ToolError(f"a file {_CHANGED}, and is denied now: {denial}")

    async def run(self, prepared: Prepared, live: RunContext) -> ToolOutput:
        """Run it. All that it started is dead when this leaves, but what runs as another user.

        Raises:
            ToolError: it cannot be started, or would no longer do what was shown.
        """
        plan = prepared.plan
        assert isinstance(plan, _Plan)
        await self._hold_to(prepared, live)
        environ, view = child_environment(self.environment.environ), prepared.sandbox
        pipe, theirs = os.pipe()
        os.set_blocking(pipe, False)
        output = ShellOutput(pipe, live)
        workspace, streams = self.environment.workspace, (None, theirs, theirs)
        program = Program(plan.argv, workspace, environ, streams, limit_s=plan.timeout_s)
        with os.fdopen(pipe, "rb", 0), os.fdopen(theirs, "wb", 0) as writing:
            async with self._around(program, view) as inner:
                held = await self._started(inner.program if inner else program, output, live)
                writing.close()
                done = await _attended(held, output, plan.timeout_s, live, inner)
            if view and not view.is_held:
                return replace(done, metadata={**done.metadata, "sandbox": {"view": view.view}})
            return inner.finished(done) if inner else done

    def _around(
        self, program: Program, view: SandboxView | None
    ) -> "AbstractAsyncContextManager[Confined | None]":
        if view is None or not view.is_held:
            return nullcontext()
        assert self.environment.sandbox is not None
        return self.environment.sandbox.around(program, view)

    async def _started(self, program: Program, output: ShellOutput, live: RunContext) -> Held:
        try:
            return await self.environment.start(program)
        except anyio.get_cancelled_exc_class():  # it may have begun before we heard of it
            with anyio.CancelScope(shield=True):
                await output.rest()
            live.leave(_lines(output.text()[0]))
            raise
        except OSError as error:
            problem = f"{quote_path(error.filename or program.argv[0])}: {error.strerror}"
            raise ToolError(f"bash could not be started: {problem}") from error


def _asked(sandbox: "Sandbox | None", given: BashArguments) -> SandboxView | None:
    """Return what a call is to run in, as it asks for it."""
    if sandbox is None or not isinstance(given, SandboxedArguments):
        return None
    return SandboxView(NONE) if given.outside_sandbox else sandbox.view(asked=given.hosts)


def _where(view: SandboxView | None) -> str:
    if view is None:
        return "Execute"
    where = _WHERE[view.view]
    named, count = ", ".join(view.proposed), len(view.proposed)
    hosts = named if len(named) <= HOSTS_CHARS_MAX else f"{count} hosts" if count > 1 else "a host"
    return f"{where}, reaching {hosts}" if count else where


def _matters(fact: PathFact) -> bool:
    """Whether a person is asked about a path whatever was granted."""
    return bool(fact.protected or fact.own) or not fact.inside


async def _attended(
    held: Held, output: ShellOutput, timeout_s: int, live: RunContext, inner: "Confined | None"
) -> ToolOutput:
    late = anyio.CancelScope()
    left = 0

    async def watch() -> None:
        nonlocal late, left
        with anyio.move_on_after(timeout_s) as late:
            await (inner.exited(held) if inner else held.exited())
        if not late.cancelled_caught:
            with anyio.move_on_after(DRAIN_S):
                await output.ended.wait()
        left = await held.end(GRACE_S)
        output.close()

    over = False
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            await output.pump()
        over = True
    except ExceptionGroup as group:
        raise group.exceptions[0] from None
    finally:
        if not over:
            with anyio.CancelScope(shield=True):
                left = await held.end(0)
                await output.rest()
            live.leave(f"{_lines(output.text()[0])}{_going_on(left)}")
        held.close()
    # Our own clock does not tell: we may have been stopped. Without a status the holder was killed.
    timed_out = held.was_ended if held.status is not None else late.cancelled_caught
    timed_out = timed_out and not (inner and inner.problem)  # then it was not held any more
    status = held.status if inner is None or timed_out else inner.status(output.text()[0])
    done = _result(output, status, timeout_s if timed_out else None, left)
    ended = held.left_behind - left
    return done if timed_out or ended <= 0 else _with_the_ended(done, ended)


def _result(
    output: ShellOutput, status: int | None, timed_out_s: int | None, left: int
) -> ToolOutput:
    """Lay out what is known; `left` counts the processes that could not be ended."""
    text, truncated = output.text()
    failed = status != 0 or timed_out_s is not None
    metadata: dict[str, Json] = {}
    last = HELD_NO_MORE
    if status is not None:
        code = status if status >= 0 else SIGNAL_EXIT - status
        metadata["exit_code"] = code
        last = f"[exit code {code}]" if code else ""
    if status is not None and status < 0:
        metadata["signal"] = _SIGNALS.get(-status, f"signal {-status}")
        last = f"[ended by {metadata['signal']}]"
    if timed_out_s is not None:
        metadata["timed_out"] = True
        last = f"[timed out after {timed_out_s} s: ended with everything it had started]"
    if truncated:
        metadata["truncated"] = True
    last += _going_on(left)
    if not text and not last:
        last = "[no output]"
    status_word = Status.ERROR if failed else Status.SUCCESS
    return ToolOutput(status_word, f"{_lines(text)}{last}" if last else text, metadata=metadata)


def _going_on(left: int) -> str:
    what = f"[{left} processes go on: they run as another user, whom wcore may not end]"
    return what if left else ""


def _lines(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _with_the_ended(done: ToolOutput, count: int) -> ToolOutput:
    """Tell of processes that would have gone on: who started a server must know that it is gone."""
    what = "1 process that was" if count == 1 else f"{count} processes that were"
    told = f"[{what} still running when the command ended: ended too]"
    return replace(done, output=_lines(done.output) + told)
