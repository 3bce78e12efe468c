"""The command line: `main.py` is the way in; each subcommand has a file of its own."""
