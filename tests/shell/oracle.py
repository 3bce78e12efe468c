"""What does real bash do with a text, and is all of it covered by these grants?

    python -m tests.shell.oracle --grant 'cargo ' 'cargo build; rm x'

Up to three runs are made of each text: one started exactly as the engine starts bash, seen only by
the kernel's trace; and two with bash's own trace switched on, in one of which every program
succeeds and in the other every program fails, so that both sides of `&&` and `||` are walked.
The verdict is about the union. The oracle reads a grant with its own few lines.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final, Literal

from .sandbox import SHELL, OracleUnavailableError, Records, Sandbox
from .stubs import ENVIRON, REAL_PROGRAMS, RUNNERS, SHELLS
from .traces import Image, Started, Touched, events, shell_state, traced

PATTERNS: Final = ("0", "1")
PATTERNS_THOROUGH: Final = ("0", "1", "01", "10", "001", "110")
HARMLESS: Final = frozenset(["/dev/null", "/dev/tty", "/dev/stdout", "/dev/stderr"])
SET_BY_BASH: Final = frozenset(["PWD", "OLDPWD", "SHLVL", "_"])
KEYWORDS: Final = frozenset("for case select [[ (( coproc function".split())
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*(\[[^]]*\])?\+?=")
_GRANT_WORD: Final = re.compile(r"[A-Za-z0-9_@%+=:,./-]+|\[")
_RESTLESS: Final = re.compile(
    r"declare \S+ (_|BASH\w*|RANDOM|SRANDOM|SECONDS|EPOCH\w+|LINENO|PIPESTATUS|FUNCNAME|PWD|OLDPWD"
    r"|SHLVL|PPID|OPTIND|GROUPS|DIRSTACK|HISTCMD|COLUMNS|LINES|COMP_\w+)(=|$)"
)
_ON_STATUS: Final = re.compile(r"&&|\|\||!|\$\{?\?|if|while|until|set|trap|eval")
_NOT_FOUND: Final = re.compile(r"line \d+: (.*): command not found")

Verdict = Literal["sound", "unsound", "inner", "advisory", "nothing"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The oracle's answer.

    `unsound`: bash itself did something no grant covers. `inner`: all that bash did is covered,
    but a runner it was allowed to start (`env`, `xargs`, a shell) ran or wrote something else.
    `advisory`: the same of a program that is no runner, which nobody promised. `nothing`: nothing
    ran.
    """

    verdict: Verdict
    evidence: tuple[str, ...] = ()
    ran: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Every run came to its own end and told its state."""
        return not self.notes


@dataclass(slots=True)
class _Case:
    grants: tuple[tuple[str, ...], ...]
    environ: Mapping[str, str]
    outer: list[str] = field(default_factory=list[str])
    inner: list[str] = field(default_factory=list[str])
    ran: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    notes: list[str] = field(default_factory=list[str])
    advisory: list[str] = field(default_factory=list[str])

    def verdict(self) -> Verdict:
        """Weigh the evidence; the gravest counts."""
        if self.outer:
            return "unsound"
        if self.inner:
            return "inner"
        if self.advisory:
            return "advisory"
        return "sound" if self.ran else "nothing"

    def facts_of(self, image: Image) -> list[str]:
        """Return where facts about `image` belong: by the program that bash itself started."""
        while image.parent is not None and image.parent.path != SHELL:
            image = image.parent
        return self.inner if image.path.rsplit("/", 1)[-1] in RUNNERS else self.advisory


def grant_words(text: str) -> list[tuple[str, ...]]:
    """Return the word sequences that a grant text stands for; none if it is not plain words."""
    body = text.strip(" \t")
    body = body.removesuffix(":*") if body.endswith(":*") else body.removesuffix("*")
    head, brace, rest = body.partition("{")
    middle, closed, tail = rest.partition("}")
    texts = [head + part + tail for part in middle.split(",")] if brace and closed else [body]
    found: list[tuple[str, ...]] = []
    for plain in texts:
        words = tuple(word for word in re.split("[ \t]+", plain) if word)
        if all(map(_GRANT_WORD.fullmatch, words)) and not all(map(_ASSIGNMENT.match, words)):
            found.append(words)
    return found


class Oracle:
    """Judges texts in one furnished sandbox; thread-safe after `__enter__`."""

    def __init__(self, environ: Mapping[str, str] = ENVIRON) -> None:
        self.sandbox = Sandbox(environ)
        self._environ: Mapping[str, str] = {}  # what bash gives to a program that it starts
        self._usual: dict[str, frozenset[str]] = {}
        self._usual_touches: frozenset[tuple[str, str]] = frozenset()

    def __enter__(self) -> "Oracle":
        records = self.sandbox.run("printenv")
        self._usual = shell_state(records.state) or {}
        happened = list(events(records.calls))
        for event in happened:
            if isinstance(event, Started) and event.argv == ("printenv",):
                self._environ = event.environ
        if not self._usual or not self._environ or ("printenv",) not in traced(records.trace):
            raise OracleUnavailableError("what a text does is not seen here")
        touched = (event for event in happened if isinstance(event, Touched))
        self._usual_touches = frozenset((event.kind, event.what) for event in touched)
        return self

    def __exit__(self, *_: object) -> None:
        self.sandbox.__exit__()

    def judge(
        self, text: str, grants: Sequence[str], patterns: Sequence[str] = PATTERNS
    ) -> Finding:
        """Run `text` and say whether everything it did is covered by `grants`.

        It is not run again once something was not covered.
        """
        words = tuple(words for grant in grants for words in grant_words(grant))
        case = _Case(words, self._environ)
        try:
            self._weigh_bare(case, text, patterns[0])
            for pattern in patterns if _status_matters(text) else patterns[:1]:
                if not case.outer:
                    records = self.sandbox.run(text, pattern)
                    self._weigh(case, records)
                    case.notes += self._weigh_state(case, records)
        except ValueError as error:
            return Finding("nothing", notes=(str(error),))
        evidence = tuple(dict.fromkeys((*case.outer, *case.inner, *case.advisory)))
        ran = tuple(dict.fromkeys(case.ran))
        return Finding(case.verdict(), evidence, ran, tuple(dict.fromkeys(case.notes)))

    def _weigh_bare(self, case: _Case, text: str, pattern: str) -> None:
        records = self.sandbox.run(text, pattern, probed=False)
        self._weigh(case, records)
        for name in _NOT_FOUND.findall(records.errors):
            if not any(name == _command(grant)[0] for grant in case.grants):
                case.outer.append(f"bash looked for {name!r}, which no grant names")

    def _weigh(self, case: _Case, records: Records) -> None:
        for event in events(records.calls):
            if event.by.path == SHELL:
                self._weigh_shell(case, event)
            elif isinstance(event, Started):
                case.facts_of(event.by).extend(_about_inner_start(case, event))
            else:
                case.facts_of(event.by).extend(_about_inner_touch(case, event))
        for words in traced(records.trace):
            if words[0] in KEYWORDS:
                continue
            case.ran.append(words[:8])
            if not _covered(words, case.grants) and not _spelled_out(words, case.grants):
                case.outer.append(f"bash ran {_shown(words)}, which no grant covers")

    def _weigh_shell(self, case: _Case, event: Started | Touched) -> None:
        if isinstance(event, Started):
            case.ran.append(event.argv[:8])
            case.outer += _about_start(case, event)
        elif (event.kind, event.what) not in self._usual_touches:
            case.outer += _about_touch(event)

    def _weigh_state(self, case: _Case, records: Records) -> Iterator[str]:
        if records.timed_out:
            yield "a run was ended by the clock"
        state = shell_state(records.state)
        if state is None:
            yield "a run did not get to tell its state"
            return
        for part, lines in state.items():
            for line in lines ^ self._usual[part]:
                if not _RESTLESS.match(line):
                    case.outer.append(f"the shell's {part} changed: {line[:120]!r}")


def _status_matters(text: str) -> bool:
    return _ON_STATUS.search(text.replace("\\\n", "")) is not None


def _about_start(case: _Case, event: Started) -> Iterator[str]:
    argv = event.argv
    if not _covered(argv, case.grants):
        yield f"bash started {_shown(argv or (event.path,))}, which no grant covers"
        return
    if "/" not in argv[0] and event.path != f"/stub/{argv[0]}":
        yield f"{argv[0]} was found at {event.path}"
    if "/" in argv[0] and not argv[0].startswith("/") and event.moved:
        yield f"{argv[0]} was started from another folder"
    granted = {word for grant in case.grants if _command(grant) == argv[: len(_command(grant))]
               for word in grant[: len(grant) - len(_command(grant))]}  # fmt: skip
    names = (set(event.environ) | set(case.environ)) - SET_BY_BASH - {"BASH_ENV"}
    for name in sorted(names):
        value = event.environ.get(name)
        if value != case.environ.get(name) and f"{name}={value}" not in granted:
            yield f"{argv[0]} got another environment: {name}"


def _about_inner_start(case: _Case, event: Started) -> Iterator[str]:
    if event.path == SHELL or _script_of_grant(case, event.by):
        return
    runner = event.by.path.rsplit("/", 1)[-1]
    suffixes = tuple(grant[at:] for grant in case.grants for at in range(1, len(grant)))
    if runner in RUNNERS and _covered(event.argv, suffixes):
        return
    if not _covered(event.argv, case.grants):
        yield f"(inner) {runner} started {_shown(event.argv)}"


def _about_touch(event: Touched) -> Iterator[str]:
    if event.kind == "write" and (event.what in HARMLESS or event.what.startswith("/o/out/")):
        return
    if "/tmp/sh-thd" not in event.what:
        yield f"bash itself did this: {event.kind} {event.what}"


def _about_inner_touch(case: _Case, event: Touched) -> Iterator[str]:
    name = event.by.path.rsplit("/", 1)[-1]
    ours = event.what.startswith("/o/out/") or event.what in HARMLESS
    if name in REAL_PROGRAMS and not ours and not _script_of_grant(case, event.by):
        yield f"(inner) {name} did this: {event.kind} {event.what}"


def _script_of_grant(case: _Case, image: Image | None) -> bool:
    """Tell whether this is the run of a script that a grant names: `bash ci.sh`."""
    while image is not None:
        for grant in case.grants:
            command = _command(grant)
            named = command[0] in SHELLS and len(command) > 1 and not command[1].startswith("-")
            if named and image.argv[: len(command)] == command:
                return True
        image = image.parent
    return False


def _command(grant: tuple[str, ...]) -> tuple[str, ...]:
    start = next(at for at, word in enumerate(grant) if not _ASSIGNMENT.match(word))
    return grant[start:]


def _covered(argv: tuple[str, ...], grants: Sequence[tuple[str, ...]]) -> bool:
    commands = (_command(grant) for grant in grants if not all(map(_ASSIGNMENT.match, grant)))
    return any(argv[: len(command)] == command for command in commands)


def _spelled_out(words: tuple[str, ...], grants: Sequence[tuple[str, ...]]) -> bool:
    """Tell whether this is the trace of an assignment that a grant spells out."""
    return (
        len(words) == 1
        and _ASSIGNMENT.match(words[0]) is not None
        and any(words[0] in grant[: -len(_command(grant))] for grant in grants)
    )


def _shown(words: Sequence[str]) -> str:
    return " ".join(repr(word[:60]) for word in words[:4])


def main() -> int:
    """Judge one text; exit 0 sound, 1 not, 2 oracle unavailable."""
    parser = argparse.ArgumentParser(description="What does real bash do with a text?")
    parser.add_argument("--grant", action="append", default=[])
    parser.add_argument("text", help="the shell text, or - for standard input")
    options = parser.parse_args()
    text = sys.stdin.read() if options.text == "-" else options.text
    try:
        with Oracle() as oracle:
            finding = oracle.judge(text, options.grant, PATTERNS_THOROUGH)
    except OracleUnavailableError as error:
        sys.stderr.write(f"oracle unavailable: {error}\n")
        return 2
    sys.stdout.write(json.dumps(asdict(finding), indent=1) + "\n")
    return 0 if finding.verdict == "sound" else 1


if __name__ == "__main__":
    sys.exit(main())
