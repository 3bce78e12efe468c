"""The limits of the engine: numbers and reasons as they stand beside the constants in the code."""

import inspect
import re
from types import ModuleType
from typing import Final

from wcore import shell_worker, stdio, vocabulary
from wcore.approval import manager
from wcore.engine import engine, mcp_servers
from wcore.engine.commands import approvals, introspection
from wcore.policy import grants
from wcore.policy.shell import analysis, suggestions
from wcore.policy.shell import grants as prefixes
from wcore.protocol import codec, lines, scopes
from wcore.session import settings
from wcore.tools.builtin import ask_user_question
from wcore.tools.fs import files
from wcore.tools.mcp import life
from wcore.tools.process import shell_output
from wcore.turn import batch, denials, execution

ROWS: Final[tuple[tuple[str, ModuleType, str], ...]] = (
    ("a line, both ways, newline included", lines, "LINE_BYTES_MAX"),
    ("an id; a digest", vocabulary, "ID_CHARS_MAX"),
    ("of a malformed line, repeated in the error", codec, "ECHO_BYTES_MAX"),
    ("events waiting for a slow host; then the engine waits", stdio, "QUEUE_BYTES_MAX"),
    ("output of a tool towards host and model", vocabulary, "OUTPUT_BYTES_MAX"),
    ("streamed output of one call", shell_output, "STREAM_BYTES_MAX"),
    ("`preview.text`", vocabulary, "PREVIEW_BYTES_MAX"),
    ("the free part of `description`", vocabulary, "DESCRIPTION_CHARS_MAX"),
    ("a reason of the host; the rest is cut", approvals, "REASON_CHARS_MAX"),
    ("text of a scope", scopes, "SCOPE_TEXT_CHARS_MAX"),
    ("options of a question", ask_user_question, "OPTIONS_MAX"),
    ("suggestions on a card", suggestions, "SUGGESTIONS_MAX"),
    ("calls of one reply; the rest is not run", batch, "CALLS_MAX"),
    ("denials of the same call in a turn; then it ends", denials, "DENIALS_MAX"),
    (
        "content of a file that a digest is of; larger: its size, times and inode",
        files,
        "FILE_BYTES_MAX",
    ),
    ("waiting calls", manager, "PENDING_MAX"),
    ("time to answer (`--approval-ttl`)", manager, "DEFAULT_APPROVAL_TTL"),
    ("between sweeps for expired calls (`--reap-interval`)", manager, "DEFAULT_REAP_INTERVAL"),
    ("silence of a running tool before `tool_running` is repeated", execution, "HEARTBEAT_S"),
    ("grants", grants, "GRANTS_MAX"),
    ("of them folders", grants, "PATH_GRANTS_MAX"),
    ("text of a prefix grant", prefixes, "GRANT_CHARS_MAX"),
    ("shell text analysed", analysis, "TEXT_BYTES_MAX"),
    ("commands in a shell text", analysis, "COMMANDS_MAX"),
    ("CPU time for the analysis", shell_worker, "WORK_S_MAX"),
    ("time for the analysis", shell_worker, "DEADLINE_S"),
    ("replies of the model in one turn (`--max-turns`)", settings, "ROUNDS_MAX"),
    ("messages of a history page", introspection, "HISTORY_LIMIT"),
    ("a turn waits for a new MCP server, once", mcp_servers, "SETTLE_S_MAX"),
    ("an MCP server, to list its tools (`start_timeout_s`)", life, "START_S"),
    ("silence of a call at one (`call_timeout_s`)", life, "CALL_S"),
    ("either of them, if a server sets it", life, "TIMEOUT_S_MAX"),
    ("a server that is there, to list its tools again", life, "LIST_S_MAX"),
    ("a call waits for its server", life, "WAIT_S_MAX"),
    ("pause before a server that failed twice is started again", life, "RETRY_S"),
    ("that pause in the end", life, "RETRY_S_MAX"),
    ("from a signal to the end", engine, "SHUTDOWN_S"),
)


def as_markdown() -> str:
    """Return the table as the specification prints it."""
    rows = [
        f"| {what} | {_amount(name, getattr(module, name))} | {_reason(module, name)} |"
        for what, module, name in ROWS
    ]
    return "\n".join(["| what | at most | because |", "|---|---|---|", *rows]) + "\n"


def _amount(name: str, value: float) -> str:
    if "BYTES" in name:
        unit, size = ("MiB", 1 << 20) if value >= 1 << 20 else ("KiB", 1 << 10)
        return f"{value / size:g} {unit}" if value >= 1 << 10 else f"{value} bytes"
    if isinstance(value, float):
        return f"{value:g} s" if value >= 1 else f"{value * 1000:g} ms"
    return f"{value:,}" + (" characters" if "CHARS" in name else "")


def _reason(module: ModuleType, name: str) -> str:
    found = re.search(rf"^{name}\b[^#\n]*#\s*(.+)$", inspect.getsource(module), re.MULTILINE)
    assert found, f"{module.__name__}.{name} has no reason"
    return found[1]
