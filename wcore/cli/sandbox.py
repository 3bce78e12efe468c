"""`wcore sandbox`: try a command in the sandbox of a workspace, and prove what it holds."""

import signal
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import anyio
from msgspec.structs import replace

from wcore import user_folders
from wcore.cli import EXIT_CONFIG, EXIT_INTERRUPTED, environment, policy_check
from wcore.cli.subcommand import Parser, split_command, write, write_json
from wcore.errors import ConfigError, UsageError
from wcore.hosts import agreed
from wcore.policy import protected
from wcore.policy.protected import Places
from wcore.policy.rules.rule import Level
from wcore.policy_files.policy_files import PolicyFiles
from wcore.policy_files.repositories import names_no_program, refused_changes
from wcore.policy_files.snapshot import PolicySnapshot, Rules
from wcore.sandbox import escapes, masks, scratch
from wcore.sandbox.confined import Confined
from wcore.sandbox.masks import SandboxError
from wcore.sandbox.network import Start
from wcore.sandbox.sandbox import Agreement, Sandbox, candidates
from wcore.sandbox.workspace import Workspace, homes_of, programs
from wcore.supervisor import process
from wcore.supervisor.client import Held, Program, Supervisor
from wcore.tools.process.child_environment import child_environment, find_bash
from wcore.tools.tool import ToolEnvironment
from wcore.views import READ_ONLY, WORKSPACE
from wcore.vocabulary import Mode, Verdict

if TYPE_CHECKING:  # known already where there is one
    from wcore.session.session import Session

GRACE_S: Final = 0.3  # between SIGTERM and SIGKILL, for what a command leaves behind
NAME_PARTS_MAX: Final = 4  # of a name in the tables: `.local/share/opencode/auth.json`
ENDS_MAX: Final = 32_768  # of paths whose meaning is remembered: a few megabytes
_OURS: Final = (".config/wcore", ".local/state/wcore")  # in the homes of others
_EXEC: Final = 'exec "$@"'  # finds a program as people expect it, and says if there is none
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

DESCRIPTION: Final = """\
What the kernel lets a command of this workspace reach: the workspace can be written, the rest of
the machine read; secrets, wcore's own files and other users' homes are hidden; of the network there
are the hosts that the policy names (`[sandbox] hosts`), or none.
`run` lets you try a command in it, `check` tries to get out of it."""
EPILOG: Final = """\
examples:
  wcore sandbox run -- npm test
  wcore sandbox run --host pypi.org --host files.pythonhosted.org -- pip download six
  wcore sandbox run --view read_only -- bash -c 'rm -r build'
  wcore sandbox check
  wcore sandbox check --json

exit codes:
  run: those of the command; 1 if it could not be run
  check: 0 everything is held   1 something is not, or there is no sandbox here
"""


def run(argv: list[str], environ: Mapping[str, str]) -> int:
    """Run a command in a sandbox, or check it; return the exit code.

    Raises:
        UsageError: the command line is wrong.
        ConfigError: there is no bash.
        SandboxError: there is no sandbox here.
    """
    ours, command = split_command(argv)
    options = _read(ours)
    if options.what == "run" and not command:
        raise UsageError("missing command: give it behind `--`")
    supervisor = Supervisor(*process.fork(lambda _: None))  # reads no shell texts
    try:
        if options.what == "run":
            return anyio.run(_run, options, command, environ, supervisor)
        return anyio.run(_check, options, environ, supervisor)
    finally:
        supervisor.close()


def _read(argv: list[str]) -> Namespace:
    parser = Parser("wcore sandbox", DESCRIPTION, EPILOG)
    parser.add_argument("what", choices=("run", "check"))
    parser.add_argument("--cwd", metavar="DIR", help="the workspace; default: the current folder")
    parser.add_argument("--view", choices=(READ_ONLY, WORKSPACE), default=WORKSPACE)
    host = "may be reached, besides those of the policy: `pypi.org`, `*.example.org`; repeatable"
    parser.add_argument("--host", action="append", default=[], type=_host, help=host)
    parser.add_argument("--json", action="store_true", help="of check: JSON on one line")
    return parser.parse_args(argv)


def _host(text: str) -> str:
    try:
        agreed(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
    return text


def workspace_of(
    places: Places,
    is_denied: Callable[[str], bool],
    environ: Mapping[str, str],
    shell: str,
    denied: Callable[[], Iterable[str]] = tuple,
) -> Workspace:
    """Return a workspace, with what the tables and rules of the policy say of its files."""
    rules = masks.Rules(is_secret, is_kept, is_denied, names_no_program, denied, refused_changes)
    found = programs(environ, shell, *candidates(environ, places.workspace))
    homes = homes_of(found)
    known = [path for home in (places.home, *homes) for path in protected.secret_places(home)]
    known += [f"{home}/{ours}" for home in homes for ours in _OURS]
    return Workspace(places.workspace, places.home, places.own, known, found, rules, homes)


def is_secret(path: str) -> bool:
    return _why(_end(path))[0]


def is_kept(path: str) -> bool:
    return _why(_end(path))[1]


def _end(path: str) -> str:
    """Return the last parts of a path, as many as the longest name of the tables has."""
    return "/" + "/".join(path.rsplit("/", NAME_PARTS_MAX)[1:])


@lru_cache(ENDS_MAX)
def _why(end: str) -> tuple[bool, bool]:
    return protected.is_secret(end), protected.runs_unasked(end)


def sandbox_of(
    places: Places,
    rules: Callable[[], Rules],
    environ: Mapping[str, str],
    start: Start,
    agreement: Agreement,
) -> Sandbox:
    """Return the sandbox of a workspace, by the rules in force; `environ` is that of children.

    Raises:
        ConfigError: there is no bash.
    """
    shell = find_bash(environ, places.workspace)
    if shell is None:
        raise ConfigError("bash was not found on this machine")

    def is_denied(path: str) -> bool:
        return rules().on_reading(path) is Verdict.DENY

    workspace = workspace_of(places, is_denied, environ, shell, lambda: _denied_places(rules()))
    state = user_folders.state_folder(environ)
    own = scratch.folder_of(f"{state}/sandbox", places.workspace)
    workspace, to = replace(workspace, scratch=own), f"{state}/quarantine"
    return Sandbox(workspace, start, environ, shell, to, agreement)


def _denied_places(rules: Rules) -> Iterator[str]:
    """Yield the files and folders, outside of the workspace too, that rules name to deny them."""
    files = [file for each in rules.both for file in each.policies.files.values()]
    for rule in (rule for file in files for rule in (*file.deny, *file.rules)):
        for target in rule.targets if rule.verdict is Verdict.DENY else ():
            if target.paths and target.paths.is_absolute:
                keys = target.paths.keys
                yield from (folder for folder, ending in keys if ending in ("", folder))


def are_fixed(rules: Rules) -> bool:
    """Whether the administrator says which hosts are reached."""
    files = [each.policies.files.get(Level.MANAGED) for each in rules.both]
    return any(file is not None and file.hosts is not None for file in files)


async def added(tools: ToolEnvironment, session: "Session", *, required: bool) -> ToolEnvironment:
    """Return where tools work, with the sandbox in which commands run; the session is told of it.

    Where none works here, commands run without one, unless it is `required`.

    Raises:
        ConfigError: it is, and there is no bash.
    """

    def rules() -> Rules:
        return session.policy.rules

    def usual() -> str:
        return READ_ONLY if session.approvals.mode is Mode.PLAN else WORKSPACE

    agreement = Agreement(
        lambda: (*rules().hosts(), *session.agreed_hosts), lambda: are_fixed(rules()), usual
    )
    environ, places = child_environment(tools.environ), session.settings.places
    try:
        sandbox = sandbox_of(places, rules, environ, tools.start, agreement)
        if not required:
            await sandbox.begin()
    except (ConfigError, SandboxError) as error:
        if required:
            raise
        session.notices = (*session.notices, f"commands run without a sandbox: {error}")
        return tools
    session.settings = replace(session.settings, is_sandboxed=True)
    return replace(tools, sandbox=sandbox)


async def _run(
    options: Namespace, command: list[str], environ: Mapping[str, str], supervisor: Supervisor
) -> int:
    sandbox = _of(options, environ, supervisor)
    argv = (sandbox.shell, "--noprofile", "--norc", "-c", _EXEC, sandbox.shell, *command)
    program = Program(argv, "/", child_environment(environ), (0, 1, 2), GRACE_S)
    with anyio.open_signal_receiver(*_SIGNALS) as signals:  # first: none may pass by what is left
        async with sandbox.around(program, sandbox.view(options.view)) as inner:
            is_stopped = await _ended(inner, await supervisor.start(inner.program), signals)
            code = inner.exit_code()
    sandbox.close()
    for line in inner.told():
        sys.stderr.write(f"wcore sandbox: {line}\n")
    if is_stopped:
        return EXIT_INTERRUPTED
    if inner.problem:
        return EXIT_CONFIG
    if code is None:
        raise SandboxError("bubblewrap failed: the command was not run")
    return code


async def _ended(inner: Confined, held: Held, signals: AsyncIterator[signal.Signals]) -> bool:
    """Wait for the end of a program, or for a signal that ends it; whether it was one."""
    async with anyio.create_task_group() as tasks:

        async def listen() -> None:
            await anext(signals)
            tasks.cancel_scope.cancel()

        tasks.start_soon(listen)
        await inner.exited(held)
        tasks.cancel_scope.cancel()
    is_stopped = held.status is None and not inner.problem
    with anyio.CancelScope(shield=True):
        await held.end(GRACE_S)
    held.close()
    return is_stopped


async def _check(options: Namespace, environ: Mapping[str, str], supervisor: Supervisor) -> int:
    sandbox = _of(options, environ, supervisor)
    (bwrap, network), shell = await sandbox.begin(), sandbox.shell

    def workspace_in(planted: escapes.Planted) -> Workspace:
        places = Places(planted.workspace, planted.home, (planted.own,))
        return workspace_of(places, escapes.is_denied, planted.environ, shell)

    start, joins = supervisor.start, network.namespaces
    found = await escapes.check(start, bwrap, shell, workspace_in, joins)
    sandbox.close()
    if options.json:
        write_json([{"name": e.name, "held": e.held, "said": e.said} for e in found])
    for each in found if not options.json else ():
        word = "held" if each.held else "NOT HELD"
        write(f"{word:<9} {each.name}\n" + (f"          {each.said}\n" if not each.held else ""))
    return 0 if all(each.held for each in found) else 1


def _of(options: Namespace, environ: Mapping[str, str], supervisor: Supervisor) -> Sandbox:
    places = environment.places(environment.folder(options.cwd), environ)
    policies = policy_check.in_force(PolicyFiles.of(places))
    rules = Rules.of(PolicySnapshot(policies))
    env = child_environment(environ)
    agreement = Agreement(lambda: (*rules.hosts(), *options.host))
    return sandbox_of(places, lambda: rules, env, supervisor.start, agreement)
