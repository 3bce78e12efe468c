"""Mutation: every approved text of the corpus is damaged by one byte, and decided again.

    python -m tests.shell.mutate                        a seeded sample
    python -m tests.shell.mutate --exhaustive --jobs 2  every insertion, deletion and replacement

What is still approved is run in real bash and must be sound. The sample decides evenly over the
texts, and executes one mutant for each kind of token that was damaged, then others in turn.
Exit 1: something approved was not sound. Exit 2: the oracle is unavailable.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from .corpus import Case, read_cases
from .gate import decide
from .grammar import Made
from .oracle import Oracle
from .sandbox import OracleUnavailableError
from .trial import Figures, try_out

BYTES_MAX: Final = 200  # longer texts repeat themselves
ALPHABET: Final = bytes(range(1, 256))
SAMPLED_ALPHABET: Final = b" \t\n\r\0\\'\"`$(){}[]<>|&;#~*?!=%^+-.,:/_@a1Z\x7f\x80\xa0\xc2\xff"
KINDS: Final = (
    (" \t", "blank"), ("\n", "newline"), ("'", "single quote"), ('"', "double quote"),
    ("\\", "backslash"), ("$", "dollar"), ("`", "backtick"), ("|", "pipe"), ("&", "ampersand"),
    (";", "semicolon"), ("<>", "redirection"), ("#", "comment"), ("~", "tilde"), ("{}", "brace"),
    ("[]*?", "pattern"), ("()", "parenthesis"), ("=", "equals"), ("!%^+-.,:/_@", "sign"),
    ("0123456789", "digit"),
)  # fmt: skip
Mutant = tuple[Made, str]


def originals() -> list[Made]:
    """Return the texts of the corpus that are to be covered and that our gate covers."""
    return [Made(case.text, case.grants) for case in read_cases() if _wanted(case)]


def _wanted(case: Case) -> bool:
    return case.covered and len(case.text.encode()) <= BYTES_MAX and decide(case.text, case.grants)


def kind_of(text: bytes, at: int) -> str:
    """Name the kind of token at a byte, for choosing one of each kind."""
    char = text[at : at + 1].decode("latin-1")
    if not char:
        return "end"
    found = next((name for chars, name in KINDS if char in chars), None)
    return found or ("letter" if char.isascii() else "beyond ASCII")


def mutants(made: Made, alphabet: bytes = ALPHABET) -> Iterator[Mutant]:
    """Yield each text that differs by one byte, with the operation and the kind of token hit."""
    raw = made.text.encode("utf-8", "surrogateescape")
    for at in range(len(raw) + 1):
        kind = kind_of(raw, at)
        before, here, after = raw[:at], raw[at : at + 1], raw[at + 1 :]
        if here:
            yield _mutant(before + after, made, f"delete {kind}")
        for byte in alphabet:
            new = bytes([byte])
            yield _mutant(before + new + here + after, made, f"insert at {kind}")
            if here and new != here:
                yield _mutant(before + new + after, made, f"replace {kind}")


def _mutant(raw: bytes, made: Made, kind: str) -> Mutant:
    return Made(raw.decode("utf-8", "surrogateescape"), made.grants), kind


def sample(seed: int, count: int) -> list[Mutant]:
    """Return `count` mutants, drawn evenly over the texts of the corpus."""
    chooser = random.Random(seed)
    texts = originals()
    per_text = -(-count // len(texts))
    drawn: list[Mutant] = []
    for made in texts:
        every = list(mutants(made, SAMPLED_ALPHABET))
        drawn += chooser.sample(every, min(len(every), 2 * per_text))
    chooser.shuffle(drawn)
    return drawn[:count]


def decided(chosen: Sequence[Mutant], figures: Figures) -> list[Made]:
    """Decide mutants; return what is approved, one of every kind first, then round again."""
    by_kind: dict[str, list[Made]] = {}
    seen: set[Made] = set()
    for made, kind in chosen:
        figures.decided += 1
        if decide(made.text, made.grants):
            figures.approved += 1
            if made not in seen:
                seen.add(made)
                by_kind.setdefault(kind, []).append(made)
    rounds = zip_longest(*by_kind.values())
    return [made for entries in rounds for made in entries if made is not None]


def mutate(oracle: Oracle, seed: int, count: int, *, jobs: int, execute_max: int) -> Figures:
    """Decide a sample of `count` mutants and execute what is approved, up to a number."""
    figures = Figures()
    begun = time.monotonic()
    approved = decided(sample(seed, count), figures)
    figures.seconds = time.monotonic() - begun
    try_out(oracle, approved[:execute_max], figures, jobs=jobs)
    return figures


def exhaust(oracle: Oracle, *, jobs: int, minutes_max: float, execute_each: int) -> Figures:
    """Decide every mutant of every text; execute the first and then each n-th approved one."""
    figures = Figures()
    seen: set[Made] = set()

    def approved() -> Iterator[Made]:
        for original in originals():
            for made, _ in mutants(original):
                figures.decided += 1
                if made in seen or not decide(made.text, made.grants):
                    continue
                seen.add(made)
                figures.approved += 1
                if figures.approved % execute_each == 0:
                    yield made

    try_out(oracle, approved(), figures, jobs=jobs, seconds_max=60 * minutes_max)
    return figures


def main() -> int:
    """Mutate a sample, or everything."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20_000, help="mutants to decide")
    parser.add_argument("--execute", type=int, default=1000, help="approvals to execute")
    parser.add_argument("--exhaustive", action="store_true")
    parser.add_argument("--minutes", type=float, default=24 * 60, help="limit of --exhaustive")
    parser.add_argument("--each", type=int, default=1, help="execute each n-th approved mutant")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    try:
        with Oracle() as oracle:
            figures = (
                exhaust(oracle, jobs=options.jobs, minutes_max=options.minutes,
                        execute_each=options.each)
                if options.exhaustive
                else mutate(oracle, options.seed, options.count, jobs=options.jobs,
                            execute_max=options.execute)
            )  # fmt: skip
    except OracleUnavailableError as error:
        sys.stderr.write(f"oracle unavailable: {error}\n")
        return 2
    sys.stdout.write(figures.line() + "\n")
    return 1 if figures.failures else 0


if __name__ == "__main__":
    sys.exit(main())
