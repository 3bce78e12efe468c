"""`wcore policy test`: the `[[test]]` tables of the policy files, each one a call and a verdict."""

import argparse
from collections.abc import Mapping
from typing import Final

from wcore.cli import hypothetical_call, policy_check
from wcore.cli.subcommand import write, write_json
from wcore.errors import UsageError
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.grants import MAIN_AGENT, GrantBook
from wcore.policy.protected import Places
from wcore.policy.rules.policy_file import RuleTest
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import split
from wcore.visible import visible_line

DESCRIPTION: Final = """\
Decide every call that the policy files name in `[[test]]` tables, and compare:

  [[test]]
  call = "Bash(git push --force)"   # or "Write(src/main.rs)", "mcp__github__merge"
  expect = "ask"                    # allow, ask or deny
  mode = "auto_edit"                # default: default"""
EPILOG: Final = "exit codes:\n  0 all as expected   1 some are not, or a file is broken\n"


add_arguments = policy_check.add_place


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Print what is not as expected; return the exit code.

    Raises:
        PolicyError: a file is broken.
    """
    files, policies = policy_check.load(options, environ)
    tests = [test for file in policies.files.values() for test in file.tests]
    wrong = [told for test in tests if (told := _judged(test, policies, files.places))]
    if options.json:
        write_json({"ok": not wrong, "tests": len(tests), "wrong": wrong})
    else:
        for told in wrong:
            write(f"{told['source']}: {visible_line(told['call'], 200)}: {told['problem']}\n")
        write(f"{len(tests)} tests, {len(wrong)} not as expected\n")
    return 1 if wrong else 0


def _judged(test: RuleTest, policies: PolicySet, places: Places) -> dict[str, str]:
    """Return what is wrong, or nothing."""
    told = {"source": test.source, "call": test.call}
    tool, argument = split(test.call)
    args = {} if argument is None else {hypothetical_call.main_argument(tool): argument}
    try:
        facts = hypothetical_call.facts_of(tool, args, places)
    except UsageError as error:
        return {**told, "problem": str(error)}
    agent = test.agent or MAIN_AGENT
    context = DecisionContext(test.mode, GrantBook(), frozenset({tool}), policies, agent=agent)
    decision = decide(facts, context)
    if decision.verdict is test.expect:
        return {}
    why = decision.why
    where = f" ({why.source})" if why.source else ""
    return {
        **told,
        "problem": f"expected {test.expect}, is {decision.verdict}: {why.detail}{where}",
    }
