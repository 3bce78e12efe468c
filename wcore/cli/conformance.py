"""`wcore conformance`: check any engine by the cases of the specification, or any host."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from wcore.cli.conformance_report import judged, parsed
from wcore.cli.subcommand import Parser, split_command, write
from wcore.conformance import cases
from wcore.conformance.engine.command import Command
from wcore.conformance.engine.invariants import Invariants
from wcore.conformance.engine.runner import CaseRunner
from wcore.errors import UsageError

DESCRIPTION: Final = """\
Run the cases of protocol-spec/cases against an engine, over pipes, with a scripted model on
loopback. `wcore conformance host` judges a host instead."""
EPILOG: Final = """\
COMMAND may hold these places:
  {base_url} {provider} {model}   the scripted model: Chat Completions (openai) or Anthropic
  {script}                        a file with what the model says, instead of a provider
  {workspace}                     the folder of the case; it is the current folder anyway
  {ttl_s}                         seconds until a question expires
  {flags}                         where further flags of hosts go: --resume ID, --auto-approve, …
Without {base_url} and {script} the arguments of existing hosts are added at the end:
  --json-stream --provider P --model M --base-url URL
A case that needs a place, a flag, a tool or another part which the engine does not have is
NOT_TESTED.

examples:
  wcore conformance                                      this engine
  wcore conformance --only 'approval-*' -- wcore         some cases
  wcore conformance --only WC-APPR-013 -- ./my-engine    all cases of one requirement
  wcore conformance --junit report.xml -- node engine.js --llm {base_url} --ttl {ttl_s}
  wcore conformance -- wcore --model script:{script} {flags}
  wcore conformance --list                               what there is
  wcore conformance host --help                          judge a host

exit codes:
  0 no failure that counts   1 a mandatory case failed, or one of an announced capability
  2 wrong usage
"""
PROVIDERS: Final = ("openai", "anthropic")


def run(argv: list[str], _environ: Mapping[str, str]) -> int:
    """Check an engine or a host; return the exit code.

    Raises:
        UsageError: the command line is wrong.
        CaseError: the case files cannot be used.
    """
    if argv[:1] == ["host"]:
        from wcore.cli import conformance_host  # noqa: PLC0415 - half of the tool is enough

        return conformance_host.run(argv[1:])
    ours, words = split_command(argv)
    parser = Parser("wcore conformance", DESCRIPTION, EPILOG)
    parser.usage = "%(prog)s [options] [-- COMMAND ...]"
    parser.add_argument(
        "--provider", choices=PROVIDERS, default="openai", help="how the model is spoken to"
    )
    parser.add_argument("--cases", type=Path, metavar="DIR", help="other case files")
    options = parsed(parser, ours)
    place = options.cases or cases.folder()
    wanted = cases.chosen(cases.load(place), options.only)
    if not wanted:
        raise UsageError(f"no case fits {' '.join(options.only)}: see wcore conformance --list")
    if options.list:
        for case in wanted:
            write(f"{case.id:38} {case.tier:10} {' '.join(case.requires)}\n    {case.title}\n")
        return 0
    command = Command.of(words, options.slack)
    runner = CaseRunner(command, Invariants.load(place), options.provider)
    return judged(wanted, runner.run, command.words, options)
