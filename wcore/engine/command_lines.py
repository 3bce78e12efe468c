"""Lines of the host as commands: `b'{"type": "ping"}'` becomes `commands.Ping()`. Pure."""

from typing import TypeAlias

from wcore.protocol import codec, commands
from wcore.protocol.lines import Overlong

Line: TypeAlias = bytes | Overlong | commands.AnyCommand | codec.Malformed


def parse_line(line: Line) -> commands.AnyCommand | codec.Malformed | None:
    """Return what the host wants; `None` for an empty line."""
    if isinstance(line, Overlong):
        return codec.Malformed(f"a line is longer than {line.bytes_max} bytes; it was skipped")
    if isinstance(line, bytes):
        return codec.decode(line) if line.strip(b" \t\r") else None
    return line
