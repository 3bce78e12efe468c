"""`wcore policy …`: what the rules say, without running anything."""

from collections.abc import Mapping
from typing import Final

from wcore.cli import (
    policy_check,
    policy_explain,
    policy_import,
    policy_lint,
    policy_rules,
    policy_simulate,
    policy_test,
)
from wcore.cli.subcommand import Parser, obey

COMMANDS: Final = {
    "explain": (policy_explain, "what would happen to a call, and why"),
    "check": (policy_check, "whether the policy files are in order"),
    "rules": (policy_rules, "show every rule, in order, with its place"),
    "test": (policy_test, "run the tests inside the policy files"),
    "lint": (policy_lint, "find rules that never decide or allow too much"),
    "simulate": (policy_simulate, "what another policy would have changed in recorded sessions"),
    "import": (policy_import, "make a policy of another engine's rules"),
}


def run(argv: list[str], environ: Mapping[str, str]) -> int:
    """Run one subcommand; return its exit code.

    Raises:
        UsageError: the command line is wrong.
        ConfigError: a policy file is broken.
    """
    parser = Parser("wcore policy", "What the policy says. Nothing is run, nothing is changed.")
    commands = parser.add_subparsers(metavar="COMMAND")
    for name, (module, text) in COMMANDS.items():
        command = commands.add_parser(
            name, help=text, description=module.DESCRIPTION, epilog=module.EPILOG
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return obey(parser, argv, environ, "one of " + ", ".join(COMMANDS))
