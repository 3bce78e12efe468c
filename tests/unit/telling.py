"""A program that tells what it finds itself to be."""

import json
import os
import resource
import signal
import sys

if __name__ == "__main__":
    parent = os.getppid()
    told = {
        "is our child": parent == int(sys.argv[1]),
        "words": sys.argv,
        "original words": sys.orig_argv,
        "folder": os.getcwd(),
        "environment": sorted(os.environ.items()),
        "leads a session": os.getsid(0) == os.getpid(),
        "leads a group": os.getpgid(0) == os.getpid(),
        "descriptors": [
            (each, os.readlink(f"/proc/self/fd/{each}").partition(":")[0])
            for each in range(100)
            if os.path.exists(f"/proc/self/fd/{each}")
        ],
        "terminals": [os.isatty(each) for each in range(3)],
        "first place of modules": sys.path[0],
        "encodings": [(f.encoding, f.errors) for f in (sys.stdin, sys.stdout, sys.stderr)],
        "signals": [str(signal.getsignal(n)) for n in (2, 13, 15, 17)],
        "mask": [*map(str, signal.pthread_sigmask(signal.SIG_BLOCK, ()))],
        "creates with": os.umask(0),
        "limits": [resource.getrlimit(n) for n in range(10)],
        "heard": sys.stdin.read(),
    }
    if "loaded" in sys.argv:
        told = {"loaded": "bashlex" in sys.modules}
    sys.stdout.write(json.dumps(told))
    sys.stderr.write("to people")
    sys.exit(3)
