"""Wires the packages together and runs the engine."""

import functools
import json
import logging
import os
from collections.abc import Mapping

import anyio
from msgspec import Struct

from wcore import locked_files
from wcore.approval import manager
from wcore.approval.redaction import Secrets
from wcore.cli import environment, log
from wcore.cli.open_session import enter, open_session
from wcore.cli.options import Options
from wcore.cli.policy_limits import start_mode, ttl_s
from wcore.engine.engine import Engine
from wcore.errors import ConfigError, WcoreError
from wcore.models.factory import ModelEnvironment, model_at_start
from wcore.models.model import Model
from wcore.policy.protected import Places, protection
from wcore.policy_files import named_paths
from wcore.policy_files.policy_files import PolicyFiles
from wcore.policy_files.session_policy import SessionPolicy
from wcore.policy_files.snapshot import Rules
from wcore.prompt import system_prompt
from wcore.session.session import Session
from wcore.session.settings import ROUNDS_MAX, Settings
from wcore.shell_worker import ShellWorker
from wcore.stdio import LineReader, StdoutWriter
from wcore.store import Location, Store, StoreError, locate
from wcore.supervisor.client import Supervisor
from wcore.tools.mcp import is_installed
from wcore.tools.tool import ToolEnvironment
from wcore.vocabulary import Access, Verdict


class CrashedError(WcoreError):
    """A bug of ours ended the engine after it had started."""


class _ProcessParts(Struct, frozen=True):
    """What the process began with: the wire, the environment for children, the supervisor."""

    fds: tuple[int, int]
    inherited: dict[str, str]
    supervisor: Supervisor
    told: tuple[str, ...]  # of the environment, for the host


def run(
    options: Options,
    keys: Mapping[str, str],
    fds: tuple[int, int],
    supervisor: Supervisor,
    secrets: Secrets,
) -> int:
    """Serve on the claimed descriptors; return the exit code. `keys`: of providers, by name.

    `secrets` are told to nobody; what is found out about the store is added to them.

    Raises:
        ConfigError: a policy file, the store or the session stands against it.
        CrashedError: a bug of ours ended the engine; every child is dead.
    """
    drain_log = log.setup(secrets.redact, verbose=options.verbose)
    told = environment.settle_home(os.environ)
    location = _store_location(options)
    for secret in (*location.secrets, *options.family.secrets):
        secrets.add(secret)
    environment.take_store(os.environ)
    inherited = dict(os.environ)
    environment.refuse_plugins(os.environ)
    model_environment = ModelEnvironment(
        base_url=options.base_url,
        keys=keys,
        environ=os.environ,
        folder=options.cwd,
        stall_s=options.stall_timeout_s,
    )
    model = model_at_start(options.provider, options.model, model_environment)
    try:
        parts = _ProcessParts(fds, inherited, supervisor, told)
        return anyio.run(functools.partial(_serve, options, model, location, parts, secrets))
    except ConfigError:
        raise  # said before `ready`: a policy file, or a mode above its ceiling
    except Exception as error:
        logging.getLogger("wcore").exception("engine.crashed")
        raise CrashedError("internal error, see the log on stderr") from error
    finally:
        drain_log()


def _store_location(options: Options) -> Location:
    try:
        location = locate(options.store, os.environ, os.path.realpath(options.cwd))
    except StoreError as error:
        raise ConfigError(str(error)) from error
    locked_files.register(*location.files)
    return location


async def _serve(
    options: Options,
    model: Model,
    location: Location,
    parts: _ProcessParts,
    secrets: Secrets,
) -> int:
    places = environment.places(options.cwd, os.environ, location.files)
    files = PolicyFiles.of(places)
    policies = (loaded := files.load()).snapshot.policies
    mode, ceiling, dropped = start_mode(options.mode, options.max_mode, policies)
    prompt, unused = system_prompt.system_prompt(places.workspace)
    persistence, left = await open_session(
        options, Store(location), places.workspace, policies.limits, secrets
    )
    settings = Settings(
        session_id=persistence.journal.session_id,
        places=places,
        mode=mode,
        mode_name=options.mode_name,
        max_mode=ceiling,
        prompts=options.prompts,
        hitl_suspend=options.hitl_suspend,
        approval_ttl_s=ttl_s(options.approval_ttl_s, policies),
        reap_interval_s=options.reap_interval_s or manager.DEFAULT_REAP_INTERVAL,
        max_rounds=options.max_turns or ROUNDS_MAX,
        max_tokens=options.max_tokens,
        max_writes=options.max_writes,
        has_mcp=is_installed(),
        keep_sessions_days=options.keep_sessions_days,
        system_prompt=options.system_prompt or prompt,
    )
    wire = StdoutWriter(parts.fds[1])
    second_analysis = ShellWorker(parts.supervisor)
    policy = SessionPolicy(files, Rules.of(loaded.snapshot), persistence.tiers)
    session = Session(settings, wire, model, second_analysis, persistence, policy)
    problem = f"no message can be answered: {model.problem}" if model.problem else ""
    found = (*parts.told, *loaded.notices, *dropped, unused, persistence.consequences)
    session.notices = tuple(filter(None, (*found, *options.family.notices, problem)))
    enter(session, left)
    tool_environment = await _held(_place(places, parts, session), session, options.sandbox)
    reader = LineReader(parts.fds[0], _first_lines(options))
    try:
        return await _engine(session, reader, wire, tool_environment).serve()
    finally:
        await second_analysis.close()
        await persistence.close()


async def _held(tools: ToolEnvironment, session: Session, wanted: str) -> ToolEnvironment:
    if wanted == "off":
        return tools
    from wcore.cli import sandbox  # noqa: PLC0415 - for those who asked for it

    return await sandbox.added(tools, session, required=wanted == "required")


def _place(places: Places, parts: _ProcessParts, session: Session) -> ToolEnvironment:
    return ToolEnvironment(
        workspace=places.workspace,
        home=places.home,
        environ=parts.inherited,
        hidden=lambda path: (
            protection(path, Access.READ, places) is not None
            or session.policy.rules.on_reading(path) is not Verdict.ALLOW
        ),
        denied=lambda path: session.policy.rules.on_reading(path) is Verdict.DENY,
        named=named_paths.finder(places),
        supervisor=parts.supervisor,
    )


def _first_lines(options: Options) -> tuple[bytes, ...]:
    """Return what the command line says and a host could have sent."""
    settings = options.family.settings
    return (json.dumps({"type": "set_config", **settings}).encode(),) if settings else ()


def _engine(
    session: Session, reader: LineReader, wire: StdoutWriter, tool_environment: ToolEnvironment
) -> Engine:
    assert tool_environment.supervisor is not None
    warm = functools.partial(_warm, session.model, tool_environment.supervisor)
    return Engine(session, reader, wire, tool_environment, warm=warm)


def _warm(model: Model, supervisor: Supervisor) -> None:
    """Do after `ready`, in a thread, what neither `ready` nor the first turn should wait for."""
    supervisor.adopt_orphans()
    model.warm()
