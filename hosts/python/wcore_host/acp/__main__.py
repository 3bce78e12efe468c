"""`wcore-acp`: the door. The SDK is loaded only when the command line makes sense."""

import sys
from typing import Final

from wcore_host.acp import options

EXIT_USAGE: Final = 2
MISSING: Final = "wcore-acp: the ACP SDK is not installed: pip install 'wcore[acp]'"
BY_HAND: Final = "wcore-acp: an editor starts this program; wcore-chat is the one for a terminal"


def main() -> int:
    """Serve one editor over stdin and stdout until it closes stdin."""
    chosen = options.read(sys.argv[1:])
    if sys.stdin.isatty():
        return _refuse(BY_HAND)
    try:
        import acp  # noqa: F401, PLC0415 # pyright: ignore[reportUnusedImport] - is it there?
    except ModuleNotFoundError as error:
        if error.name != "acp":
            raise
        return _refuse(MISSING)
    from wcore_host.acp.serving import run  # noqa: PLC0415 - half a second, and only if we serve

    return run(chosen)


def _refuse(problem: str) -> int:
    print(problem, file=sys.stderr)  # noqa: T201 - stderr is the person's
    return EXIT_USAGE


if __name__ == "__main__":
    sys.exit(main())
