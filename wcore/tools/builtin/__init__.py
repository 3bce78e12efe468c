"""The built-in tools, one file a tool; `catalog.py` makes them all."""
