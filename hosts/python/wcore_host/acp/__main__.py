"""The command `wcore-acp`. The SDK is loaded only when the command line makes sense."""

import json
import select
import sys
from dataclasses import replace
from typing import Final

from wcore_host.acp import options
from wcore_host.spawn import close_host

EXIT_USAGE: Final = 2
MISSING: Final = "wcore-acp: the ACP SDK is not installed: pip install 'wcore[acp]'"
BY_HAND: Final = "wcore-acp: an editor starts this program; wcore-chat is the one for a terminal"
GREETING_S: Final = 2.0  # editors ask as soon as we are started; nobody else is kept waiting
GREETING_CHARS_MAX: Final = 64 * 1024  # an `initialize` has a few hundred
INTERNAL_ERROR: Final = -32603


def main() -> int:
    """Serve one editor over stdin and stdout until it closes stdin."""
    env = close_host()
    try:
        chosen = replace(options.read(sys.argv[1:]), env=env)
    except options.UsageError as error:
        return _refuse(f"wcore-acp: {error}")
    if sys.stdin.isatty():
        return _refuse(BY_HAND)
    try:
        import acp  # noqa: F401, PLC0415 # pyright: ignore[reportUnusedImport] - is it there?
    except ModuleNotFoundError as error:
        if error.name != "acp":
            raise
        return _refuse(MISSING)
    from wcore_host.acp.editor_connection import run  # noqa: PLC0415 - half a second, and only if we serve

    return run(chosen)


def _refuse(problem: str) -> int:
    """Say why nothing is served: to the log, and as the answer to the editor's first request."""
    print(problem, file=sys.stderr)  # noqa: T201 - stderr is the person's
    if not sys.stdin.isatty() and select.select([sys.stdin], [], [], GREETING_S)[0]:
        try:
            number = json.loads(sys.stdin.readline(GREETING_CHARS_MAX))["id"]
        except (ValueError, LookupError, TypeError, OSError, RecursionError):
            return EXIT_USAGE
        answer = {"code": INTERNAL_ERROR, "message": problem}
        print(json.dumps({"jsonrpc": "2.0", "id": number, "error": answer}), flush=True)  # noqa: T201
    return EXIT_USAGE


if __name__ == "__main__":
    sys.exit(main())
