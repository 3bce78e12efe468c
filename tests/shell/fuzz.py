"""Differential fuzzing: texts are made and decided, and what is approved is run in real bash.

    python -m tests.shell.fuzz --minutes 10 --jobs 2
    python -m tests.shell.fuzz --seed 7 --count 20000 --execute 1000
    python -m tests.shell.fuzz --minutes 10 --env hostile --locale zh_CN.GBK

With the same seed and count the same texts are made and decided. `--env hostile` and `--locale`
set what an unkind parent would; the engine's own cleaning is applied to it before bash starts.
Exit 1: something approved was not sound. Exit 2: the oracle is unavailable.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Final

from wcore.tools.process.child_environment import child_environment

from .gate import decide
from .grammar import Made, Maker
from .oracle import Oracle
from .sandbox import OracleUnavailableError
from .stubs import ENVIRON
from .trial import Figures, try_out

HOSTILE: Final = {
    "PATH": ":.:/stub:evil::relative/bin:",
    "BASH_ENV": "/home/u/ws/lib.sh",
    "ENV": "/home/u/ws/lib.sh",
    "SHELLOPTS": "allexport:noglob:xtrace",
    "BASHOPTS": "extglob:expand_aliases:globasciiranges:nullglob:dotglob",
    "PS4": "$(touch by-trace)",
    "IFS": "ak;/",
    "CDPATH": "/tmp:evil",
    "GLOBIGNORE": "*",
    "EXECIGNORE": "*make*",
    "POSIXLY_CORRECT": "1",
    "POSIX_PEDANTIC": "1",
    "BASH_COMPAT": "3.2",
    "BASH_XTRACEFD": "2",
    "BASH_FUNC_make%%": "() { touch by-function; }",
    "BASH_FUNC_echo%%": "() { touch by-function; }",
    "BASH_LOADABLES_PATH": "/home/u/ws",
    "PROMPT_COMMAND": "touch by-prompt",
    "HISTFILE": "/home/u/ws/history",
    "TMOUT": "1",
    "FUNCNEST": "1",
    "OPTERR": "0",
    "COLUMNS": "1",
    "LC_ALL": "tr_TR.UTF-8",
    "LANG": "zh_CN.GB18030",
    "LANGUAGE": "zh",
    "LOCPATH": "/home/u/ws",
}


def environ_of(name: str, locale: str | None) -> Mapping[str, str]:
    """Return the variables that bash gets when the engine was started with these."""
    given = {**ENVIRON, **HOSTILE} if name == "hostile" else dict(ENVIRON)
    if locale is not None:
        given |= {"LC_ALL": locale, "LANG": locale}
    return child_environment(given)


def approvals(maker: Maker, figures: Figures, count: int | None) -> Iterator[Made]:
    """Make and decide `count` texts, or without end; yield each approved one, once."""
    seen: set[Made] = set()
    while count is None or figures.decided < count:
        made = maker.make()
        figures.decided += 1
        if decide(made.text, made.grants):
            figures.approved += 1
            if made not in seen:
                seen.add(made)
                yield made


def fuzz(oracle: Oracle, seed: int, count: int, *, jobs: int, execute_max: int) -> Figures:
    """Decide `count` texts, then execute what was approved, in seeded order, up to a number."""
    figures = Figures()
    begun = time.monotonic()
    approved = list(approvals(Maker(seed), figures, count))
    random.Random(seed).shuffle(approved)
    figures.seconds = time.monotonic() - begun
    try_out(oracle, approved[:execute_max], figures, jobs=jobs)
    return figures


def main() -> int:
    """Fuzz for a count of texts or for minutes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=None, help="default: a new one, printed")
    parser.add_argument("--count", type=int, default=20_000, help="texts to decide")
    parser.add_argument("--execute", type=int, default=1000, help="approvals to execute")
    parser.add_argument("--minutes", type=float, help="decide and execute as long as this")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--env", choices=("plain", "hostile"), default="plain")
    parser.add_argument("--locale", help="LC_ALL and LANG of the engine's parent")
    options = parser.parse_args()
    seed = random.randrange(2**32) if options.seed is None else options.seed
    sys.stdout.write(f"seed {seed}\n")
    sys.stdout.flush()
    try:
        with Oracle(environ_of(options.env, options.locale)) as oracle:
            if options.minutes is None:
                most = options.execute
                figures = fuzz(oracle, seed, options.count, jobs=options.jobs, execute_max=most)
            else:
                figures = Figures()
                made = approvals(Maker(seed), figures, None)
                seconds = 60 * options.minutes
                try_out(oracle, made, figures, jobs=options.jobs, seconds_max=seconds)
    except OracleUnavailableError as error:
        sys.stderr.write(f"oracle unavailable: {error}\n")
        return 2
    sys.stdout.write(figures.line() + "\n")
    return 1 if figures.failures else 0


if __name__ == "__main__":
    sys.exit(main())
