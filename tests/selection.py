"""Which tests a day runs, which go first, which are dealt out one by one.

By day, `pytest` tries of each long table in `SAMPLED`, and of each file in `IN_TURN`, a part, which
the commit draws: another one next time. Where what a file in turn is `ABOUT` has changed, in the
working tree or by the last commit, all of its tests run. By night, with `WCORE_NIGHT=1`, it tries
all of them; and so it does with what is named on its command line.

One Python of CI runs all that. What could differ on another one is the language and its library:
regular expressions, recursion, text, databases, processes and signals. So `WCORE_FAST=1` runs the
unit tests but for the tables of the policy, which are our own code alone, and of the conversations
those that start an engine, answer, stop, end and resume it. They need `wcore[test]` only.
"""

import os
import random
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Final

import waiting

IS_FAST: Final = "WCORE_FAST" in os.environ
IS_NIGHT: Final = "WCORE_NIGHT" in os.environ
TESTS: Final = Path(__file__).parent

#: Files, folders, or single tests. What is not here runs on the first Python only.
FAST: Final = (
    "unit/",
    "property/",
    "test_selection.py",
    "spec/test_schema.py",
    "store/test_grants.py",
    "store/test_journal.py",
    "store/test_opening.py",
    "store/test_sessions.py",
    "store/test_tiers.py",
    "e2e/test_modes.py",
    "e2e/test_turns.py",
    "e2e/test_signals.py",
    "e2e/test_wire.py",
    "e2e/test_existing_hosts.py",
    "e2e/test_resume.py::test_continue_asks_again_under_the_old_ids_and_the_model_goes_on",
    "e2e/test_resume.py::test_a_call_that_had_begun_is_never_run_again",
    "e2e/test_agents.py::test_an_agent_works_and_reports",
    "mcp/test_servers.py::test_servers_are_added_until_the_first_message",
    "hosts/test_can_use_tool.py",
    "hosts/test_engine_process.py",
    "conformance/test_coverage.py",
    "conformance/test_this_engine.py",
)

#: Of what is named above: pure tables, the tools of the tests, libraries not in `wcore[test]`.
NOT_FAST: Final = (
    "unit/policy/",
    "unit/test_forked.py",
    "unit/test_second_look.py",
    "unit/test_tables.py",
    "unit/test_waiting.py",
    "unit/models/test_foreign.py",
    "unit/models/test_prices.py",
)

#: Of those, what depends on `re` and on how deep Python may recurse.
FAST_ALL_THE_SAME: Final = (
    "unit/policy/shell/test_matching.py",
    "unit/policy/shell/test_totality.py",
)

#: Of the tables in a file, or of one of them, a day tries one row in so many. Each is a table in
#: which the rows go the same way through our code, and whose cost is more than its share.
SAMPLED: Final = {
    "conformance/test_hosts.py": 4,
    "conformance/test_mutants.py": 4,
    "conformance/test_this_engine.py": 4,  # all of them on the other Python of CI
    "conformance/test_variants.py": 12,
    "crash/test_crashes.py": 4,
    "crash/test_several.py": 2,
    "hosts/test_typescript.py::test_it_survives_everything_an_engine_may_do": 6,
    "mcp/test_restarts.py::"
    "test_a_restart_between_any_two_steps_runs_nothing_that_nobody_approved": 4,
    "shell/test_generated.py": 4,
    "shell/test_labels.py": 8,
    "shell/test_named_paths.py": 4,
    "store/test_own_files.py::test_nothing_slips_in_between_looking_and_opening": 5,
}

#: Of the tests in these files, the first pattern that fits says of how many a day runs one: each is
#: about one thing, and takes long for what is around it, be it a screen, a browser, other people's
#: programs, or a great many calls. The policy imports nothing but what its tests are `ABOUT`.
IN_TURN: Final = {
    "bench/*": 4,
    "e2e/test_many_calls.py": 3,
    "e2e/test_processes.py": 2,
    "hosts/acp/test_official_clients.py": 4,
    "hosts/test_typescript.py": 4,
    "hosts/*": 2,
    "mcp/*": 2,
    "models/*": 2,
    "policy/*": 2,
    "sandbox/*": 2,
    "shell/*": 2,
    "soak/*": 2,
    "store/test_conversation_text.py": 3,
    "store/test_engines.py": 2,
    "store/test_in_memory.py": 2,
    "store/test_own_files.py": 2,
    "unit/cli/test_output.py": 3,
    "unit/policy/*": 2,
    "unit/test_second_look.py": 4,
    "unit/test_shell_worker.py": 2,
    "web/test_page*.py": 3,
    "web/*": 2,
}

#: What the tests in turn are about, beside themselves, by the folder that they are in.
ABOUT: Final = {
    "hosts": ("hosts/",),
    "web": ("hosts/",),
    "mcp": ("wcore/tools/mcp/", "wcore/engine/mcp_servers.py"),
    "models": ("wcore/models/",),
    "policy": ("wcore/policy/", "wcore/policy_files/"),
    "sandbox": ("wcore/sandbox/", "wcore/supervisor/", "wcore/policy/protected.py"),
    "shell": ("wcore/policy/", "wcore/vocabulary.py"),
    "unit/policy": ("wcore/policy/", "wcore/errors.py", "wcore/visible.py", "wcore/vocabulary.py"),
    "unit/cli": ("wcore/cli/",),
    "store": ("wcore/store/", "wcore/persistence/"),
    "e2e": ("wcore/turn/", "wcore/supervisor/"),
}

#: Files of which each test stands by itself, and takes a second or more: dealt out one by one.
#: Every other file stays on one worker, for the sake of what its tests share.
ONE_BY_ONE: Final = (
    "conformance/test_hosts.py",
    "conformance/test_mutants.py",
    "conformance/test_this_engine.py",
    "conformance/test_variants.py",
    "shell/test_generated.py",
    "shell/test_labels.py",
    "shell/test_named_paths.py",
)

#: Long files, longest first: one that begins last is waited for by all other workers.
FIRST: Final = (
    "store/test_silence.py",  # waits nearly all of its time
    "hosts/test_terminal_cards.py",
    "hosts/test_typescript.py",
    "e2e/test_processes.py",
    "crash/test_crashes.py",
    "conformance/test_this_engine.py",
    "shell/test_generated.py",
    "shell/test_labels.py",
    "conformance/test_mutants.py",
    "conformance/test_variants.py",
    "hosts/acp/test_answers.py",
    "hosts/acp/test_calls.py",
    "hosts/test_terminal_session.py",
    "hosts/acp/test_sessions.py",
    "hosts/test_terminal_editing.py",
    "mcp/test_restarts.py",
    "mcp/test_questions.py",
    "e2e/test_turns.py",
    "e2e/test_resume.py",
    "unit/test_shell_worker.py",
    "e2e/test_wire.py",
    "web/test_page_access.py",
    "models/test_failures.py",
    "policy/test_managed.py",
    "conformance/test_hosts.py",
    "shell/test_named_paths.py",
    "shell/test_rules_that_deny.py",
    "mcp/test_hostile.py",
    "e2e/test_approvals.py",
    "e2e/test_scopes.py",
    "e2e/test_signals.py",
    "mcp/test_servers.py",
    "web/test_page.py",
    "web/test_page_attacks.py",
    "web/test_page_change.py",
    "web/test_page_settings.py",
    "web/test_page_sessions.py",
    "web/test_page_many.py",
    "bench/test_bench.py",
    "unit/policy/shell/test_coverage.py",
    "unit/test_waiting.py",
    "unit/policies/test_named_paths.py",
    "hosts/acp/test_questions.py",
    "hosts/test_chat_terminal.py",
    "spec/test_official_tools.py",
    "spec/test_transcripts.py",
    "policy/test_import.py",
)


def is_chosen(node: str) -> bool:
    """Whether a test runs; `node` is its id, from `tests/` on."""
    name = node.partition("tests/")[2].partition("[")[0]
    return not IS_FAST or _is_fast(name)


def is_read(place: Path) -> bool:
    """Whether a file or folder below `tests/` is looked into: what it imports may be missing."""
    if not IS_FAST or place == TESTS or not place.is_relative_to(TESTS):
        return True
    name = place.relative_to(TESTS).as_posix()
    if place.is_dir():
        return any(one.startswith(f"{name}/") or f"{name}/".startswith(one) for one in FAST)
    return (
        place.name == "conftest.py"
        or _is_fast(name)
        or any(one.startswith(f"{name}::") for one in FAST)
    )


def _is_fast(name: str) -> bool:
    if _is_in(FAST_ALL_THE_SAME, name):
        return True
    return _is_in(FAST, name) and not _is_in(NOT_FAST, name)


def _is_in(chosen: tuple[str, ...], name: str) -> bool:
    file = name.partition("::")[0]
    return any(name.startswith(one) if one.endswith("/") else one in (name, file) for one in chosen)


def of_a_day(nodes: Iterable[str]) -> set[str]:
    """Return what is run of these tests by day: those whose turn it is, of each table its share."""
    tables: dict[str, list[str]] = defaultdict(list)
    for node in filter(_has_its_turn, nodes):
        tables[node.partition("[")[0]].append(node)
    chosen: set[str] = set()
    for table, rows in tables.items():
        name = table.partition("tests/")[2]
        one_in = SAMPLED.get(name) or SAMPLED.get(name.partition("::")[0], 1)
        draw = random.Random(f"{commit()} {name}")
        chosen.update(draw.sample(rows, -(-len(rows) // one_in)))
    return chosen


def _has_its_turn(node: str) -> bool:
    file = node.partition("tests/")[2].partition("::")[0]
    one_in = _one_in(file)
    if one_in == 1 or random.Random(f"{commit()} {node}").randrange(one_in) == 0:
        return True
    about = [
        place for folder, places in ABOUT.items() if file.startswith(folder) for place in places
    ]
    return any(path.startswith((f"tests/{file}", *about)) for path in changed())


@cache
def _one_in(file: str) -> int:
    return next((many for files, many in IN_TURN.items() if fnmatch(file, files)), 1)


@cache
def changed() -> tuple[str, ...]:
    """Return the files that differ from those before the last commit."""
    with suppress(OSError):
        told = waiting.run(["git", "diff", "--name-only", "HEAD^"], cwd=TESTS).stdout
        return tuple(told.splitlines())
    return ()


@cache
def commit() -> str:
    """Return what is checked out: it draws the share. Nothing where that cannot be told."""
    with suppress(OSError):
        return waiting.run(["git", "rev-parse", "HEAD"], cwd=TESTS).stdout.strip()
    return ""


def scope(node: str) -> str:
    """Return what stays on one worker with this test: its file, or nothing but itself."""
    file, _, _ = node.partition("::")
    return node if file.partition("tests/")[2] in ONE_BY_ONE else file


def rank(node: str) -> int:
    """Where the file of a test stands among the long ones; all others come after them."""
    file = node.partition("tests/")[2].partition("::")[0]
    return FIRST.index(file) if file in FIRST else len(FIRST)
