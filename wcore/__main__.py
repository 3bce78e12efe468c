"""The door. `wcore` and `python -m wcore` are the same program."""

from wcore.cli import main

if __name__ == "__main__":
    main()
