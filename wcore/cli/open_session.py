"""The session that the command line asks for: a new one, one with a name, or a stored one."""

from contextlib import suppress
from typing import Final
from uuid import uuid4

from wcore import __version__
from wcore.approval.redaction import Secrets
from wcore.cli.options import Options
from wcore.errors import ConfigError, UsageError, WcoreError
from wcore.persistence.persistence import SessionPersistence
from wcore.persistence.restore import DOUBTED, Left
from wcore.policy.rules.policy_file import Limits
from wcore.session.session import Session
from wcore.store import Kind, Store, StoreLostError, identity
from wcore.store.sessions import LATEST
from wcore.visible import visible_line
from wcore.vocabulary import Json

PATH_CHARS_MAX: Final = 500  # of a folder's name in a sentence


async def open_session(
    options: Options, store: Store, workspace: str, limits: Limits, secrets: Secrets
) -> tuple[SessionPersistence, Left]:
    """Return the way to the session, and what is in it; only a named one touches the store now.

    `secrets` are never written.

    Raises:
        ConfigError: there is none to resume, it is there already or in use, or the store fails.
        UsageError: there is no store to resume it from.
    """
    if options.resume is not None and not store.is_kept:
        raise UsageError("--store none keeps no session that could be resumed")
    session_id = options.resume or options.session_id or str(uuid4())
    try:
        if options.resume == LATEST:
            session_id = await store.latest_session(identity.user_id(options.user_id), workspace)
        persistence = SessionPersistence(store, workspace, session_id, options.user_id, secrets)
        if options.resume is not None:
            return persistence, await persistence.journal.resume()
        if options.session_id is not None:
            with suppress(StoreLostError):  # then it is in memory, and `ready` says so
                await persistence.journal.begin()
        _require_store(persistence, limits)
    except WcoreError as error:
        await store.aclose()
        raise ConfigError(str(error)) from error
    return persistence, Left()


def _require_store(persistence: SessionPersistence, limits: Limits) -> None:
    """Refuse to start in memory where the administrator's policy forbids that.

    Raises:
        ConfigError: it does, and there is no store.
    """
    if limits.store_required and not persistence.is_kept:
        why = persistence.loss or "start without --store none"
        raise ConfigError(f"the administrator's policy requires a store: {why}")


def enter(session: Session, left: Left) -> None:
    """Go on where the session was, and note how."""
    session.interrupted = left.interrupted
    session.notices += _moved(left, session.settings.places.workspace)
    doubted: dict[str, Json] = {DOUBTED: list(left.doubted)} if left.doubted else {}
    session.journal.record(Kind.OPENED, **_opened(session), **doubted)


def _moved(left: Left, workspace: str) -> tuple[str, ...]:
    """Return what to tell the host where a session goes on in another folder than before."""
    before = left.workspace
    if before is None or before == workspace:
        return ()
    text = f"this session was in {visible_line(before, PATH_CHARS_MAX)} before"
    return (f"{text}; what was said there of files may not be so here",)


def _opened(session: Session) -> dict[str, Json]:
    settings, model = session.settings, session.model
    places = settings.places
    return {
        "version": __version__,
        "model": model.name,
        "workspace": places.workspace,
        "home": places.home,
        "own": list(places.own),
        "on_path": list(places.on_path),
        "mode": session.mode_name,
        "max_mode": settings.max_mode.value,
        "prompts": settings.prompts,
        "hitl_suspend": settings.hitl_suspend,
        "approval_ttl_s": settings.approval_ttl_s,
        "max_rounds": settings.max_rounds,
        "max_tokens": settings.max_tokens,
        "max_writes": settings.max_writes,
        "system_prompt": settings.system_prompt,
    }
