"""Soak: hostile hosts and models against real engines, for as long as told.

    python -m tests.soak --minutes 10
    python -m tests.soak --host --model --seed 812 --rounds 1      play one round again

Every round has its own seed (the first is `--seed`, then one more each). What is chosen comes from
it alone; which point of a turn a command meets also depends on the machine. Without `--host` and
`--model` the rounds take turns: one of them hostile, the other, both.
Exit 1: a promise was broken; what replays it is printed.
"""

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from typing import Final

import anyio

from soak.lasting import last
from soak.playing import Played, round_of

ROUNDS: Final = 12  # unless told how many or how long
LASTING_EVERY: Final = 50  # rounds; then one long session
LASTING_TURNS: Final = 500
SIDES: Final = ((True, False), (False, True), (True, True))
TOLD_CHARS: Final = 6000  # of a finding; the seed has the rest


def main() -> int:
    """Play rounds; say what was found."""
    given = _read()
    seed = int(given.seed)
    until = time.monotonic() + given.minutes * 60
    rounds = given.rounds or (10**9 if given.minutes else ROUNDS)
    figures: Counter[str] = Counter()
    sys.stdout.write(f"--seed {seed}\n")
    for number in range(rounds):
        if given.minutes and time.monotonic() > until:
            break
        chosen = (given.host, given.model)
        if number % LASTING_EVERY == LASTING_EVERY - 1:
            figures += _long(seed + number)
            continue
        figures += _one(seed + number, *(chosen if any(chosen) else SIDES[number % len(SIDES)]))
        sys.stdout.flush()
    sys.stdout.write(", ".join(f"{count} {what}" for what, count in figures.items()) + "\n")
    return 1 if figures["findings"] else 0


def _one(seed: int, host: bool, model: bool) -> Counter[str]:
    async def play() -> Played:
        return await round_of(seed, host=host, model=model)

    try:
        played = anyio.run(play)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        sides = " ".join(flag for flag, on in (("--host", host), ("--model", model)) if on)
        told = "".join(traceback.format_exception(error))[-TOLD_CHARS:]
        sys.stdout.write(f"FOUND: {sides} --seed {seed} --rounds 1\n{told}\n")
        return Counter(rounds=1, findings=1)
    said = played.said
    return Counter(
        rounds=1,
        commands=len(said.commands),
        malformed=said.malformed,
        events=len(played.heard),
        goodbyes_cut_short=played.cut_short,
    )


def _long(seed: int) -> Counter[str]:
    try:
        grown = anyio.run(last, seed, LASTING_TURNS)
    except Exception as error:  # noqa: BLE001 - as above
        told = "".join(traceback.format_exception(error))[-TOLD_CHARS:]
        sys.stdout.write(f"FOUND: a session of {LASTING_TURNS} turns, seed {seed}\n{told}\n")
        return Counter(findings=1)
    sys.stdout.write(f"{LASTING_TURNS} turns in one session: {grown} bytes more\n")
    return Counter({"long sessions": 1})


def _read() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--host", action="store_true", help="a hostile host")
    parser.add_argument("--model", action="store_true", help="a hostile model")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of round one")
    parser.add_argument("--minutes", type=float, default=0, help="begin no round after this")
    parser.add_argument("--rounds", type=int, default=0, help=f"at most ({ROUNDS})")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
