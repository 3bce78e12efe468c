"""What no replay can follow: found before anything is played."""

from collections.abc import Sequence

from wcore.errors import UsageError
from wcore.persistence.journal import UNWRITTEN
from wcore.persistence.records import REPLAY_FORM, as_list
from wcore.store import JournalRecord, Kind

MCP_COMMANDS = ("add_mcp_server", "remove_mcp_server")


class UnreplayableError(UsageError):
    """The recording lacks what a replay needs, or has what none can follow."""


def refuse(records: Sequence[JournalRecord]) -> None:
    """Refuse a recording that cannot be replayed.

    Raises:
        UnreplayableError: says why.
    """
    if not records:
        raise UnreplayableError("nothing of the session was recorded")
    if records[0].kind is not Kind.OPENED:
        raise UnreplayableError("the recording does not begin with the start of an engine")
    pieces: JournalRecord | None = None
    has_servers = False
    for record in records:
        if record.kind is Kind.OPENED:
            has_servers = record.body.get("servers") is True
        why = _why_not(record, has_servers=has_servers)
        if record.kind is Kind.CHUNK and "pieces" in record.body:
            pieces = record
        elif record.kind is Kind.REPLIED and pieces is not None and _is_cut(pieces, record):
            why = "a secret was taken out of what the model said"
        if why:
            raise UnreplayableError(f"record {record.seq}: {why}")


def _why_not(record: JournalRecord, *, has_servers: bool) -> str | None:
    body = record.body
    match record.kind:
        case Kind.OPENED if body.get("replay") != REPLAY_FORM:
            return "recorded by another version of wcore, cannot be replayed"
        case Kind.COMMANDED if body.get("type") in MCP_COMMANDS and not has_servers:
            return "the session had MCP servers, which an older wcore did not record"
        case Kind.FOUND if body.get("mcp"):
            return "the policy named MCP servers, which a replay does not cover"
        case Kind.FOUND if body.get("what") == UNWRITTEN:
            return "the store could not be written: what happened then is not known"
        case _:
            return None


def _is_cut(pieces: JournalRecord, reply: JournalRecord) -> bool:
    if pieces.body.get("below") != reply.body.get("below"):
        return False
    sizes = {"text": 0, "thinking": 0}
    for piece in as_list(pieces.body.get("pieces")):
        match as_list(piece):
            case ["text", int(size)]:
                sizes["text"] += size
            case ["thinking", int(size), _]:
                sizes["thinking"] += size
            case _:
                pass
    return any(len(str(reply.body.get(kind, ""))) != size for kind, size in sizes.items())
