"""`wcore policy check`: whether the policy files can be honoured, for scripts."""

import argparse
import sys
from collections.abc import Mapping
from typing import Final

from wcore.cli import environment
from wcore.cli.subcommand import Parser, write, write_json
from wcore.policy.rules.lint import lint
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy_files.policy_files import PolicyFiles
from wcore.visible import visible_line

NOTICE_CHARS_MAX: Final = 8192  # a path has 4096 at most

DESCRIPTION: Final = "Read the policy files as the engine would, and say which ones are in force."
EPILOG: Final = "exit codes:\n  0 they are in order   1 one is broken: file, line, reason\n"


def add_place(parser: Parser) -> None:
    """Add the options that all subcommands about files share."""
    parser.add_argument("--cwd", metavar="DIR", default=".", help="the workspace")
    parser.add_argument("--json", action="store_true", help="one JSON object on one line")


add_arguments = add_place


def load(options: argparse.Namespace, environ: Mapping[str, str]) -> tuple[PolicyFiles, PolicySet]:
    """Return the files of the workspace and what they say.

    Raises:
        UsageError: there is no such folder.
        PolicyError: one of them is broken.
    """
    files = PolicyFiles.of(environment.places(environment.folder(options.cwd), environ))
    return files, in_force(files)


def in_force(files: PolicyFiles) -> PolicySet:
    """Return what the files say; what an engine would tell its host goes to stderr.

    Raises:
        PolicyError: one of them is broken.
    """
    loaded = files.load()
    for notice in loaded.notices:
        sys.stderr.write(f"{visible_line(notice, NOTICE_CHARS_MAX)}\n")
    return loaded.snapshot.policies


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Print the files in force; return 0.

    Raises:
        PolicyError: one of them is broken.
    """
    _, policies = load(options, environ)
    found = [
        {
            "level": level.value,
            "path": file.path,
            "deny": len(file.deny),
            "rules": len(file.rules),
            "tests": len(file.tests),
        }
        for level, file in policies.files.items()
    ]
    unknown = [f for file in policies.files.values() for f in lint(file) if f.kind == "unknown"]
    if options.json:
        warnings = [f"{each.source}: {each.text}" for each in unknown]
        told = {"ok": True, "trusted": policies.trusted, "files": found}
        write_json({**told, "warnings": warnings} if warnings else told)
        return 0
    for each in found:
        counts = f"{each['deny']} deny, {each['rules']} rules, {each['tests']} tests"
        write(f"{each['level']:<8} {each['path']}: {counts}\n")
    for each in unknown:
        write(f"warning: {each.source}: {visible_line(each.text, 400)}\n")
    write("" if found else "there are no policy files\n")
    return 0
