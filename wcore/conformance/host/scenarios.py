"""All scenarios in which a host is tried: what happens, and which requirements it is about.

Run by the host under judgement, as its engine, with the arguments SCENARIO REPORT SLACK.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from wcore.conformance.host import approval_scenarios as cards
from wcore.conformance.host import fault_scenarios as strain
from wcore.conformance.host.fake_engine import Engine, Scenario, When

SCENARIOS: Final[Mapping[str, Scenario]] = {
    "plain": Scenario(
        "One card, answered", ("WC-HOST-001", "WC-WIRE-002", "WC-CMD-012"), cards.plain
    ),
    "baseline": Scenario(
        "An engine without any flag: nothing optional is sent", ("WC-VERS-002",), cards.baseline
    ),
    "unknown": Scenario(
        "Unknown events, fields, flags, values and scopes",
        ("WC-VERS-001", "WC-VERS-003", "WC-HOST-010"),
        cards.unknown,
    ),
    "parallel": Scenario("Three cards at once", ("WC-HOST-001",), cards.parallel),
    "late-settle": Scenario(
        "A card that expires while it is shown", ("WC-HOST-002", "WC-HOST-009"), cards.late_settle
    ),
    "settled-elsewhere": Scenario(
        "A card that somebody else approved", ("WC-HOST-002",), cards.settled_elsewhere
    ),
    "race": Scenario(
        "Fifty cards that are over at once", ("WC-HOST-002", "WC-HOST-009"), cards.race
    ),
    "suspended": Scenario("A question that also suspends", ("WC-HOST-001",), cards.suspended),
    "multi-select": Scenario(
        "A question that takes several answers", ("WC-QUES-004",), cards.multi_select
    ),
    "not-understood": Scenario(
        "A card, and what is typed is no answer to it",
        ("WC-HOST-003",),
        cards.without_a_yes,
        when=When.ASKS,
        answers="%! perhaps ?\n",
    ),
    "input-ends": Scenario(
        "A card, and nobody is there any more",
        ("WC-HOST-003",),
        cards.without_a_yes,
        when=When.ASKS,
        answers="",
    ),
    "long-command": Scenario(
        "A card too long for a screen",
        ("WC-HOST-004",),
        cards.long_command,
        when=When.ASKS,
        approves_only=(cards.THE_END, "…", "...", "truncated", "more lines"),
    ),
    "approves-by-itself": Scenario(
        "A card that no person answers",
        ("WC-HOST-008",),
        cards.unattended,
        advisory=True,
        when=When.APPROVES,
        shows=cards.BY_ITSELF,
    ),
    "error-in-turn": Scenario(
        "An error does not end the turn", ("WC-HOST-007",), cards.error_in_turn
    ),
    "information": Scenario(
        "News while a card is open",
        ("WC-HOST-006",),
        cards.information,
        advisory=True,
        shows=cards.NEWS,
    ),
    "slow-start": Scenario(
        "ready after six seconds", ("WC-HOST-009", "WC-HAND-014"), strain.slow_start
    ),
    "long-line": Scenario("A line of nearly 8 MiB", ("WC-WIRE-020",), strain.long_line),
    "split-characters": Scenario(
        "A line byte by byte", ("WC-WIRE-020",), strain.split_characters, shows="grüße ∑ 🙂"
    ),
    "flood": Scenario("Thirty megabytes at once", ("WC-WIRE-021",), strain.flood),
    "talkative-log": Scenario("A megabyte of log", ("WC-WIRE-021",), strain.talkative_log),
    "terminal-tricks": Scenario(
        "Escape sequences in text and card",
        ("WC-HOST-005",),
        strain.terminal_tricks,
        hides=strain.ESCAPE,
    ),
    "noise": Scenario("Lines that are no events", ("WC-HOST-009",), strain.noise, advisory=True),
    "lingers": Scenario(
        "The end of its input does not end the engine",
        ("WC-EOF-008",),
        strain.lingers,
        advisory=True,
        told=True,
    ),
    "crash": Scenario(
        "The engine ends in the turn", ("WC-EOF-007", "WC-HOST-009"), strain.crash, crashes=True
    ),
    "crash-at-a-card": Scenario(
        "The engine ends at a card",
        ("WC-EOF-007", "WC-HOST-009"),
        strain.crash_at_a_card,
        crashes=True,
    ),
    "refuses-to-start": Scenario(
        "The engine says why it does not start",
        ("WC-HAND-015",),
        strain.refuses_to_start,
        crashes=True,
        shows=strain.REFUSAL,
    ),
    "never-starts": Scenario(
        "The engine ends silently", ("WC-HAND-015",), strain.never_starts, crashes=True
    ),
}


def main() -> None:
    """Play the scenario that the command line names; what the host adds is ignored."""
    engine = Engine(Path(sys.argv[2]), float(sys.argv[3]))
    engine.note("started", json.dumps(sys.argv[4:]))
    SCENARIOS[sys.argv[1]].play(engine)


if __name__ == "__main__":
    main()
