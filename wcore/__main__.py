"""The command `wcore`, and `python -m wcore`: the same program."""

from typing import NoReturn

from wcore.hardening import close_to_others


def main() -> NoReturn:
    """Close this process to others before anything else is loaded, then run the command line."""
    close_to_others()
    from wcore.cli import main as cli  # noqa: PLC0415 - takes much longer to load than other programs need

    cli.main()


if __name__ == "__main__":
    main()
