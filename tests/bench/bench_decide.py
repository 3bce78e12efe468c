"""How long one decision takes: `python tests/bench/bench_decide.py`. The budget is 50 µs."""

import statistics
import time
from collections.abc import Iterable

from wcore.policy import shell
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import Facts, PathFact
from wcore.policy.grants import Grant, GrantBook
from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.vocabulary import Access, Always, AlwaysPath, AlwaysPrefix, Category, Mode, Scope

RULES = 1_000
GRANTS = 1_000
ROUNDS = 2_000
BUDGET_US = 50.0
SCENE = ParseContext(Places("/ws", "/home/me"), {})
PATTERNS = {
    "paths in many folders": "Write(src/part{}/**)",
    "paths anywhere": "Write(**/*.x{})",
    "other tools": "mcp__server{}__*",
    "commands": "Bash(tool{} *)",
}


def policies(kind: str, count: int = RULES) -> PolicySet:
    rule = '[[rule]]\nmatch = "{}"\ndo = "{}"\n'
    rules = (
        rule.format(PATTERNS[kind].format(n), ("allow", "ask", "deny")[n % 3]) for n in range(count)
    )
    return PolicySet([parse("".join(rules), "/p.toml", Level.USER, SCENE)])


def grants() -> GrantBook:
    book = GrantBook()
    for n in range(GRANTS):
        text = f"tool{n} run"
        prefix = shell.parse_grant(text) if n % 3 == 0 else None
        scopes: tuple[Scope, ...] = (AlwaysPrefix(text), Always(), AlwaysPath(f"/data/{n}"))
        kept = scopes[n % 3] if n < 192 or n % 3 != 2 else Always()
        parsed = prefix if isinstance(prefix, shell.PrefixGrant) else None
        tool = "Bash" if parsed else f"tool{n}"
        book.add(Grant(f"g{n}", tool, kept, "2026-01-01T00:00:00Z", "c", prefix=parsed))
    return book


def calls() -> Iterable[tuple[str, Facts]]:
    inside = PathFact("/ws/src/part999/deep/down/file.py", Access.WRITE, inside=True)
    outside = PathFact("/data/5000/file.py", Access.READ, inside=False)
    yield "Write, inside", Facts("Write", Category.EDIT, (inside,))
    yield "Read, outside", Facts("Read", Category.INFO, (outside,))
    yield "an MCP tool", Facts("mcp__other__x", Category.MCP)
    yield "Bash", Facts("Bash", Category.EXEC, (), shell.analyse("cargo build && cargo test"))


def main() -> None:
    book = grants()
    offered = frozenset({"Write", "Read", "mcp__other__x", "Bash"})
    for kind in PATTERNS:
        context = DecisionContext(Mode.READ_ONLY, book, offered, policies(kind))
        for name, facts in calls():
            decide(facts, context)
            times: list[float] = []
            for _ in range(ROUNDS if name != "Bash" else 20):
                start = time.perf_counter()
                decide(facts, context)
                times.append((time.perf_counter() - start) * 1e6)
            median = statistics.median(times)
            note = "" if name == "Bash" or median <= BUDGET_US else "  over the budget"
            print(f"{kind:24}{name:16}{median:9.1f} µs{note}")


if __name__ == "__main__":
    main()
