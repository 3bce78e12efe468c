"""Runs a recorded session again, without effects; `player.py` is the way in."""
