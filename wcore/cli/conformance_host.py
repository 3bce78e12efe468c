"""`wcore conformance host`: play an engine that throws everything allowed at a host."""

import codecs
from typing import Final

from wcore.cli.conformance_report import judged, parsed
from wcore.cli.subcommand import Parser, split_command, write
from wcore.conformance import cases
from wcore.conformance.host.runner import PLACE, HostRunner, host_cases
from wcore.conformance.process import absolute
from wcore.errors import UsageError

DESCRIPTION: Final = """\
Run a host once in each scenario, with an engine that does everything the protocol allows: unknown
events, cards at once and cards that close by themselves, long lines, slow starts, crashes. The
host survives, answers every card that stays open, and ends."""
EPILOG: Final = """\
COMMAND starts the host. {engine} in it becomes the path of the program that the host must start
as its engine; arguments that the host adds are ignored. The host sends one message, answers
cards as it likes, and ends when the turn is over and its own stdin has ended.
--input is what a person would type; then stdin ends. The first line is the message; two
scenarios replace the others by what is no answer, or by nothing.

examples:
  wcore conformance host -- wcore-chat --engine {engine}
  wcore conformance host --approves -- hosts/shell/wcore-ask.sh --engine {engine} --allow Bash go
  wcore conformance host --input 'go\\ny\\n' --only 'crash*' -- ./my-host --engine {engine}

exit codes:
  0 the host survives   1 it does not   2 wrong usage
"""
DEFAULT_INPUT: Final = "go\\n"


def run(argv: list[str]) -> int:
    """Check a host; return the exit code.

    Raises:
        UsageError: the command line is wrong.
    """
    ours, words = split_command(argv)
    parser = Parser("wcore conformance host", DESCRIPTION, EPILOG)
    parser.usage = "%(prog)s [options] -- COMMAND ..."
    typing = r"typed into the host (go\n)"
    parser.add_argument("--input", default=DEFAULT_INPUT, metavar="TEXT", help=typing)
    unattended = "the host is told to approve by itself: no person answers"
    parser.add_argument("--approves", action="store_true", help=unattended)
    options = parsed(parser, ours)
    wanted = cases.chosen(host_cases(), options.only)
    if not wanted:
        raise UsageError(f"no scenario fits {' '.join(options.only)}: see --list")
    if options.list:
        for case in wanted:
            write(f"{case.id:20} {case.tier:10} {' '.join(case.requires)}\n    {case.title}\n")
        return 0
    if not any(PLACE in word for word in words):
        raise UsageError("COMMAND must say with {engine} where the engine's program goes")
    command = absolute(words)
    typed = codecs.decode(options.input.encode("latin-1", "backslashreplace"), "unicode_escape")
    runner = HostRunner(command, typed.encode(), options.slack, options.approves)
    return judged(wanted, runner.run, command, options)
