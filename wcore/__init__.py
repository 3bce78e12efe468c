"""wcore: an agent engine that a host runs as a child process. Way in: `engine/engine.py`."""

__version__ = "0.1.0"
