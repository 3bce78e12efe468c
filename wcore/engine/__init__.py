"""Serves one host: commands in, events out. Start reading in `engine.py`."""

from wcore.engine.engine import Engine

__all__ = ["Engine"]
