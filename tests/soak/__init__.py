"""Soak: hostile hosts and hostile models against real engines, seeded. `python -m tests.soak`."""

import sys
from pathlib import Path

if __name__ == "tests.soak":  # run from the root: what tests import must be found from there
    sys.path.insert(0, str(Path(__file__).parent.parent))
