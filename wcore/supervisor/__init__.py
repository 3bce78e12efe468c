"""The one process that starts and holds all others; see "Processes" in ARCHITECTURE.md.

All modules but `client`, the engine's side, run in the supervisor and its children. They are loaded
before everything else, so they import only the smallest modules of the standard library: what they
load stays in the memory of all of them.
"""
