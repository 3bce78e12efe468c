"""One turn: the model speaks, its calls are gated and run, until it stops.

`turn.py` has its rounds. Nothing of it is loaded before `ready`.
"""
