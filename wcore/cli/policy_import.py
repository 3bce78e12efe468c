"""`wcore policy import`: a policy of ours from the rules of another engine."""

import argparse
import os
import sys
from collections.abc import Mapping
from typing import Final

from wcore.cli import environment, jsonc
from wcore.cli.consent import add_yes, refuse_inside_call, require
from wcore.cli.subcommand import Parser, write, write_json
from wcore.errors import ConfigError
from wcore.policy.importers import OBJECTS, TEXTS, Difference, Draft, ForeignError, as_toml
from wcore.policy.rules.parser import FILE_BYTES_MAX, parse
from wcore.policy.rules.policy_file import PolicyError
from wcore.policy.rules.rule import Level, ParseContext
from wcore.visible import visible_line

EXIT_LOOSER: Final = 10
SOURCE_BYTES_MAX: Final = 1024 * 1024  # settings that people write are a hundredth of that

DESCRIPTION: Final = """\
Make a policy of another engine's rules. Nothing that asks or is denied there is allowed by it; what
cannot be said exactly is said more strictly, or left out so that it asks. The report on stderr,
also in the file's first lines, names every such rule. What the other engine allows without any
rule is not carried over."""
EPILOG: Final = """\
formats:
  claude    `permissions` of a settings.json of Claude Code
  codex     prefix_rule(...) of a .rules file of Codex; parsed, never run
  gemini    [[rule]] of a policy .toml of Gemini CLI
  opencode  `permission` of an opencode.json

examples:
  wcore policy import claude ~/.claude/settings.json
  wcore policy import codex default.rules --output ~/.config/wcore/policy.toml

A file is written when a person agrees in a terminal, or with --yes; never inside a tool call.

exit codes:
  0 made, nothing is looser   10 made, but a restriction could not be carried over: see the report
  1 the file is not understood, the output exists, or it was refused   2 wrong usage
"""


def add_arguments(parser: Parser) -> None:
    """Add the options of this subcommand."""
    add = parser.add_argument
    add("format", metavar="FORMAT", choices=sorted([*OBJECTS, *TEXTS]), help="see below")
    add("file", metavar="FILE", help="`-` reads stdin")
    add("--output", metavar="FILE", help="write here, not to stdout; an existing file stays")
    add("--overwrite", action="store_true", help="replace the output file if it exists")
    add_yes(parser)
    add("--json", action="store_true", help="policy and report as one JSON object on one line")


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Print or write the policy, report what differs; return the exit code.

    Raises:
        ConfigError: the file is not understood, or the output cannot be written.
        NotAgreedError: a file would be written, and nobody who may has agreed.
    """
    if options.output is not None:
        refuse_inside_call()
    text = _read(options.file)
    context = ParseContext(environment.places(environment.folder(None), environ), {})
    draft = _drafted(options.format, text, options.file, context)
    made = as_toml(draft, f"{options.file} ({options.format})")
    try:
        parse(made, options.output or "the policy", Level.USER, context)
    except PolicyError as error:
        raise ForeignError(
            f"{options.file}: no policy can be made of it: {error.reason}"
        ) from error
    if options.output is not None:
        require(f"write the policy to {options.output}?", yes=options.yes, as_json=options.json)
        _write_file(options.output, made, overwrite=options.overwrite)
    if options.json:
        report = [{"kind": n.kind, "rule": n.said, "text": n.text} for n in draft.notes]
        write_json({"policy": made, "report": report, "further": draft.notes_left})
    else:
        _tell(draft)
        if options.output is None:
            write(made)
    return EXIT_LOOSER if any(note.kind is Difference.LOOSER for note in draft.notes) else 0


def _drafted(name: str, text: str, path: str, context: ParseContext) -> Draft:
    try:
        if name in TEXTS:
            return TEXTS[name](text, context)
        return OBJECTS[name](jsonc.loads(text, path), context)
    except ForeignError as error:
        raise ForeignError(f"{path}: {visible_line(str(error), 600)}") from error


def _read(path: str) -> str:
    try:
        if path == "-":
            data = sys.stdin.buffer.read(SOURCE_BYTES_MAX + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(SOURCE_BYTES_MAX + 1)
        if len(data) > SOURCE_BYTES_MAX:
            raise ConfigError(f"{path}: longer than {SOURCE_BYTES_MAX} bytes")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8") from error


def _write_file(path: str, text: str, *, overwrite: bool) -> None:
    """Write beside and rename: a policy is never there in half."""
    if len(text.encode()) > FILE_BYTES_MAX:
        raise ConfigError(f"{path}: the policy would be longer than {FILE_BYTES_MAX} bytes")
    beside = f"{path}.{os.getpid()}.new"
    try:
        os.makedirs(os.path.dirname(path) or os.curdir, mode=0o700, exist_ok=True)
        fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                file.write(text)
            if overwrite:
                os.replace(beside, path)
            else:
                os.link(beside, path)
        finally:
            if os.path.lexists(beside):
                os.unlink(beside)
    except FileExistsError as error:
        raise ConfigError(f"{path} exists; add --overwrite to replace it") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error


def _tell(draft: Draft) -> None:
    for note in draft.notes:
        sys.stderr.write(f"{note}\n")
    if draft.notes_left:
        sys.stderr.write(f"and {draft.notes_left} more\n")
