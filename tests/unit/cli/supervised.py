"""Stands for a supervisor: names itself as one, starts a command below, and reaps its orphans.

`python supervised.py COMMAND…` ends with the exit code of the command.
"""

import ctypes
import os
import sys

PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_NAME, b"wcore-supervise", 0, 0, 0)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
    code = 0
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            sys.exit(code)
        if pid == child:
            code = os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    main()
