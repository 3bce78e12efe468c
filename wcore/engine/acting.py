"""What acts: turns, tools, servers. See `loading` for when it is imported."""

from wcore.engine.servers import Servers
from wcore.tools.builtin.catalog import builtin_tools
from wcore.turn.turn import Turn

__all__ = ["Servers", "Turn", "builtin_tools"]
