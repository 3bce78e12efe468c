"""The command line: `main.py` is the way in; each subcommand has a file of its own.

Exit codes: 0 the host closed stdin, 1 the engine could not start, 2 wrong usage, 128+n ended by
signal n (141: the host closed stdout).
"""

EXIT_CONFIG = 1
EXIT_USAGE = 2
EXIT_CLOSED = 141  # nobody reads our stdout
EXIT_INTERRUPTED = 130  # Ctrl-C before the engine could say goodbye itself
