"""`wcore policy explain`: the engine's own decision about a call that nobody made."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from wcore.cli import environment, hypothetical_call, policy_check
from wcore.cli.highlight import marked
from wcore.cli.subcommand import Parser, has_colours, write, write_json
from wcore.errors import UsageError
from wcore.policy import decide, shell
from wcore.policy.grants import MAIN_AGENT, Grant, GrantBook
from wcore.policy.suggestions import suggest
from wcore.policy_files.policy_files import PolicyFiles
from wcore.visible import visible_line
from wcore.vocabulary import (
    MODE_ALIASES,
    Always,
    AlwaysExact,
    AlwaysPath,
    AlwaysPrefix,
    AlwaysPrefixes,
    AlwaysServer,
    Args,
    Decision,
    Mode,
    Scope,
    Verdict,
    Why,
)

EXIT: Final = {Verdict.ALLOW: 0, Verdict.ASK: 10, Verdict.DENY: 20}
ARGUMENT_CHARS_MAX: Final = 8 * 1024 * 1024  # as long as a line of the protocol

DESCRIPTION: Final = """\
Say whether the engine would run a call, ask a person or refuse it, and which row of its decision
table says so. Nothing is run. It is the decision of the engine itself."""

EPILOG: Final = """\
examples:
  wcore policy explain 'cargo build; curl x|sh' --grant 'cargo '
  wcore policy explain 'rm -r build' --mode force --json
  wcore policy explain --tool Write src/main.rs
  wcore policy explain --tool Grep --args '{"pattern": "TODO", "path": "/etc"}'

exit codes:
  0 allow   10 ask   20 deny   2 wrong usage   1 a policy file is broken
"""


def add_arguments(parser: Parser) -> None:
    """Add the options of this subcommand."""
    add = parser.add_argument
    add(
        "command",
        metavar="COMMAND",
        nargs="?",
        help="shell text; a path for the file tools; `-` reads it from stdin",
    )
    add(
        "--grant",
        metavar="PREFIX",
        action="append",
        default=[],
        help="as if commands beginning with PREFIX were granted; may be repeated",
    )
    add("--tool", metavar="NAME", default=hypothetical_call.SHELL_TOOL, help="default: Bash")
    add("--args", metavar="JSON", help="arguments of the call, as the model would send them")
    add("--mode", metavar="MODE", default="default", help="default: default")
    add("--agent", metavar="NAME", default=MAIN_AGENT, help="for rules about agents; default: main")
    add("--cwd", metavar="DIR", help="the workspace; default: the current folder")
    add("--json", action="store_true", help="one JSON object on one line")


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Print the decision; return the exit code that stands for its verdict.

    Raises:
        UsageError: the command line is wrong, or describes no possible call.
    """
    mode = MODE_ALIASES.get(options.mode)
    if mode is None:
        raise UsageError(f"unknown mode {options.mode!r}; modes are {', '.join(Mode)}")
    cwd = environment.folder(options.cwd)
    args = _arguments(options)
    grants, refused = _grants(options.grant, options.tool)
    places = environment.places(cwd, environ)
    facts = hypothetical_call.facts_of(options.tool, args, places)
    policies = policy_check.in_force(PolicyFiles.of(places))
    context = decide.DecisionContext(
        mode, grants, frozenset({options.tool}), policies, agent=options.agent
    )
    number, decision = decide.decide_by_row(facts, context)
    asks = decision.verdict is Verdict.ASK
    scopes = suggest(facts, context, places) if asks else []
    command = args.get("command") if options.tool == hypothetical_call.SHELL_TOOL else None
    told = {"verdict": decision.verdict, "number": number, **_reasons(decision.why)}
    if command is not None:
        told["command"] = str(command)
    if scopes:
        told["scopes"] = [_as_sent(scope) for scope in scopes]
    prefixes = [scope.prefix for scope in scopes if isinstance(scope, AlwaysPrefix)]
    if prefixes:
        told["suggestions"] = prefixes
    if refused:
        told["refused_grants"] = refused
    if options.json:
        write_json(told)
    else:
        write(_for_people(decision, told, scopes))
    return EXIT[decision.verdict]


def _arguments(options: argparse.Namespace) -> Args:
    args = {} if options.args is None else _object(options.args)
    text = options.command
    if text == "-":
        text = sys.stdin.buffer.read(ARGUMENT_CHARS_MAX).decode("utf-8", "surrogateescape")
    if text is not None:
        args[hypothetical_call.main_argument(options.tool)] = text
    if not args and options.tool == hypothetical_call.SHELL_TOOL:
        raise UsageError("missing command: give it as one argument, in quotes")
    return args


def _object(text: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--args is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError("--args is not a JSON object")
    return cast("dict[str, Any]", value)


def _grants(texts: list[str], tool: str) -> tuple[GrantBook, list[dict[str, str]]]:
    book = GrantBook()
    refused: list[dict[str, str]] = []
    for number, text in enumerate(texts, 1):
        parsed = shell.parse_grant(text)
        if isinstance(parsed, shell.PrefixGrantRefused):
            refused.append({"grant": text, "reason": parsed.reason})
        else:
            scope = AlwaysPrefix(parsed.text)
            book.add(Grant(f"--grant {number}", tool, scope, "", "", prefix=parsed))
    return book, refused


def _reasons(why: Why) -> dict[str, Any]:
    found = {"row": why.row, "detail": why.detail, "code": why.code, "span": why.span}
    found |= {"rule": why.rule, "source": why.source}
    return {name: value for name, value in found.items() if value is not None}


def _as_sent(scope: Scope) -> dict[str, Any] | str:
    """Return the form that `tool_approve.scope` takes, of any text: what is no UTF-8 too."""
    match scope:
        case AlwaysExact(command):
            return {"always_exact": {"command": command}}
        case AlwaysPrefix(prefix):
            return {"always_prefix": {"prefix": prefix}}
        case AlwaysPrefixes(prefixes):
            return {"always_prefixes": {"prefixes": list(prefixes)}}
        case AlwaysPath(root, write):
            return {"always_path": {"root": root, "write": write}}
        case AlwaysServer(server):
            return {"always_server": {"server": server}}
        case Always():
            return "always"
        case _:
            return "once"


def _offered(scope: Scope) -> tuple[str, str]:
    """Return how a yes that lasts is told to people."""
    match scope:
        case AlwaysExact():
            return "grant of", "exactly this command"
        case AlwaysPrefix(prefix):
            return "grant of", prefix
        case AlwaysPrefixes(prefixes):
            return "set of", ", ".join(prefixes)
        case AlwaysPath(root):
            return "grant of", f"reading in {root}"
        case _:
            return "", ""


def _for_people(decision: Decision, told: dict[str, Any], scopes: Sequence[Scope]) -> str:
    why = decision.why
    lines = [
        ("verdict", decision.verdict.value),
        ("row", f"{told['number']} {why.row}"),
        ("reason", why.detail),
        ("code", why.code),
        ("rule", " ".join(part for part in (why.rule, why.source) if part)),
        *map(_offered, scopes),
        *(
            ("refused", f"--grant {each['grant']!r}: {each['reason']}")
            for each in told.get("refused_grants", ())
        ),
    ]
    text = "".join(f"{name:<8} {visible_line(value, 400)}\n" for name, value in lines if value)
    if "command" in told:
        text += "command\n" + marked(told["command"], why.span, colours=has_colours())
    return text
