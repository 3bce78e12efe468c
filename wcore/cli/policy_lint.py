"""`wcore policy lint`: rules that never decide, and rules that allow more than they seem to."""

import argparse
from collections.abc import Mapping
from typing import Final

from wcore.cli import policy_check
from wcore.cli.subcommand import write, write_json
from wcore.policy.rules.lint import NOTES, lint
from wcore.visible import visible_line

DESCRIPTION: Final = "Name the rules of the policy files that are dead, shadowed or too broad."
EPILOG: Final = (
    "exit codes:\n  0 nothing to mend   1 there is, or a file is broken\n\n"
    "What an allowed prefix does not cover, and that it runs the project's code, is only noted.\n"
)


add_arguments = policy_check.add_place


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Print the findings; return the exit code.

    Raises:
        PolicyError: a file is broken.
    """
    _, policies = policy_check.load(options, environ)
    findings = [finding for file in policies.files.values() for finding in lint(file)]
    wrong = any(finding.kind not in NOTES for finding in findings)
    if options.json:
        told = [{"source": f.source, "kind": f.kind, "text": f.text} for f in findings]
        write_json({"ok": not wrong, "findings": told})
    else:
        for finding in findings:
            write(f"{finding.source}: {finding.kind}: {visible_line(finding.text, 400)}\n")
    return 1 if wrong else 0
