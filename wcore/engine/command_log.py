"""Commands as the journal keeps them: without what is secret, and without what it has already."""

from typing import TypeAlias

from wcore.protocol import codec, commands
from wcore.protocol.lines import Overlong
from wcore.session.session import Session
from wcore.vocabulary import Json

Line: TypeAlias = bytes | Overlong | commands.AnyCommand | codec.Malformed


def parse_line(line: Line) -> commands.AnyCommand | codec.Malformed | None:
    """Return what the host wants; `None` for an empty line."""
    if isinstance(line, Overlong):
        return codec.Malformed(f"a line is longer than {line.bytes_max} bytes; it was skipped")
    if isinstance(line, bytes):
        return codec.decode(line) if line.strip(b" \t\r") else None
    return line


def log_command(session: Session, command: commands.AnyCommand) -> None:
    """Note a command before it is obeyed."""
    body: dict[str, Json] = command.model_dump(mode="json", exclude_none=True)
    match command:
        case commands.Message():
            body = {"type": command.type, "msg_id": command.msg_id}  # the text is the turn's
        case commands.AddMcpServer():  # its environment and headers are where secrets are
            body = {"type": command.type, "name": command.name, "transport": command.transport}
        case commands.ToolApprove() if not _is_ours(session, command.call_id):
            body.pop("answer", None)  # it is for an MCP server only, or for nobody any more
        case commands.ApprovalResume():  # a live token is never written down
            del body["resume_token"]
            body["call_id"] = call_id = session.approvals.call_of_token(command.resume_token)
            if not _is_ours(session, call_id):
                body.pop("modifications", None)
        case _:
            pass
    session.journal.record_command(**body)


def _is_ours(session: Session, call_id: str | None) -> bool:
    """Whether a call waits that is the model's, and not one that a running tool makes."""
    card = session.cards.get(call_id or "")
    return card is not None and card.tool is session.tools.get(card.prepared.tool)
