"""Which tests go first, which are dealt out one by one, and which `WCORE_FAST=1` runs.

One Python of CI runs everything. What could differ on another one is the language and its library:
regular expressions, recursion, text, databases, processes and signals. So `WCORE_FAST=1` runs the
unit tests but for the tables of the policy, which are our own code alone, and of the conversations
those that start an engine, answer, stop, end and resume it. They need `wcore[test]` only.
"""

import os
from pathlib import Path
from typing import Final

IS_FAST: Final = "WCORE_FAST" in os.environ
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
    "unit/test_second_look.py",
    "unit/test_waiting.py",
    "unit/models/test_foreign.py",
    "unit/models/test_prices.py",
)

#: Of those, what depends on `re` and on how deep Python may recurse.
FAST_ALL_THE_SAME: Final = (
    "unit/policy/shell/test_matching.py",
    "unit/policy/shell/test_totality.py",
)

#: Files of which each test stands by itself, and takes a second or more: dealt out one by one.
#: Every other file stays on one worker, for the sake of what its tests share.
ONE_BY_ONE: Final = (
    "conformance/test_hosts.py",
    "conformance/test_mutants.py",
    "conformance/test_this_engine.py",
    "conformance/test_variants.py",
    "shell/test_generated.py",
    "shell/test_labels.py",
    "test_tidy.py",
)

#: Long files, longest first: one that begins last is waited for by all other workers.
FIRST: Final = (
    "conformance/test_this_engine.py",
    "test_tidy.py",
    "crash/test_crashes.py",
    "conformance/test_variants.py",
    "shell/test_labels.py",
    "conformance/test_mutants.py",
    "shell/test_generated.py",
    "replaying/test_differences.py",
    "hosts/acp/test_answers.py",
    "hosts/acp/test_calls.py",
    "hosts/test_terminal_cards.py",
    "hosts/acp/test_sessions.py",
    "mcp/test_questions.py",
    "mcp/test_servers.py",
    "e2e/test_wire.py",
    "policy/test_import.py",
    "hosts/test_terminal_session.py",
    "e2e/test_resume.py",
    "conformance/test_hosts.py",
    "web/test_page.py",
    "bench/test_bench.py",
    "hosts/acp/test_questions.py",
    "mcp/test_hostile.py",
    "hosts/test_typescript.py",
    "e2e/test_approvals.py",
    "hosts/test_chat_terminal.py",
    "models/test_failures.py",
    "e2e/test_turns.py",
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


def scope(node: str) -> str:
    """Return what stays on one worker with this test: its file, or nothing but itself."""
    file, _, _ = node.partition("::")
    return node if file.partition("tests/")[2] in ONE_BY_ONE else file


def rank(node: str) -> int:
    """Where the file of a test stands among the long ones; all others come after them."""
    file = node.partition("tests/")[2].partition("::")[0]
    return FIRST.index(file) if file in FIRST else len(FIRST)
