"""The command line of the engine. Little but argparse is loaded here: `--version` must be quick."""

import argparse
import uuid
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from wcore import __version__
from wcore.cli import environment, family
from wcore.cli.subcommand import Parser
from wcore.errors import UsageError
from wcore.vocabulary import ID_CHARS_MAX, MODE_ALIASES, Mode

KEEP_SESSIONS: Final = "WCORE_KEEP_SESSIONS"
KEEP_DAYS: Final = 90  # a quarter: long enough to come back to something
TTL_S_MAX: Final = 7 * 24 * 3600.0  # a card that waits longer is forgotten by everybody

DESCRIPTION: Final = """\
An agent engine that a host runs as a child process. Commands come in as JSON lines on stdin,
events go out as JSON lines on stdout, the log goes to stderr. No tool touches the machine
before a rule or a person has said yes."""

EPILOG: Final = """\
try it:
  printf '%s\\n' '{{"type":"message","msg_id":"m1","content":"run git log --oneline -3"}}' \\
    | wcore --force
  wcore-chat                     a conversation in this terminal

models:
  --model offline                the built-in stand-in; needs no key and no network (default)
  --model script:FILE            replay model replies from FILE
  --provider anthropic --model NAME
                                 key in ANTHROPIC_API_KEY; openai, mistral, groq, openrouter,
                                 deepseek, gemini, xai and others alike; google, bedrock and
                                 openai-responses need the extra wcore[models]
  --provider ollama --model NAME no key; likewise vllm, lmstudio and llamacpp
  --provider openai --base-url URL --model NAME
                                 any server that speaks Chat Completions; loopback needs no key
  A key in the environment does not choose a model: the default is always offline.

arguments of hosts of the protocol family (`ready` is followed by what has no effect):
  {family}

rules: yours are in ~/.config/wcore/policy.toml, a folder's own in .wcore/policy.toml

other commands (each has its own --help):
  wcore policy explain COMMAND   why a command would run, ask or be denied
  wcore audit list | verify      recorded decisions; check that none was changed
  wcore sessions list | show     stored conversations
  wcore trust DIR                let a folder's own policy file allow things
  wcore conformance -- COMMAND   test an engine with the specification's cases

exit codes:
  0 stdin was closed   1 could not start   2 wrong usage   128+n ended by signal n
"""


class Options(Struct, frozen=True):
    """What the command line asked for, checked. Paths are as given, times in seconds."""

    provider: str | None
    model: str | None
    base_url: str | None
    stall_timeout_s: float | None
    keys_fd: int | None
    mode: Mode
    mode_name: str
    max_mode: Mode
    session_id: str | None
    resume: str | None
    cwd: str
    prompts: bool
    hitl_suspend: bool
    approval_ttl_s: float | None
    reap_interval_s: float | None
    max_tokens: int | None
    max_turns: int | None
    max_writes: int | None
    sandbox: str
    system_prompt: str | None
    store: str | None
    user_id: str | None
    keep_sessions_days: float
    verbose: bool
    family: family.Taken


_FIELDS: Final = frozenset(Options.__struct_fields__)


def read(argv: list[str], environ: Mapping[str, str]) -> Options:
    """Return the options in `argv`.

    Raises:
        UsageError: the command line is wrong.
        ConfigError: it asks for something this version cannot do.
        SystemExit: after `--help` or `--version`.
    """
    options = _parser().parse_args(family.in_our_words(argv))
    if options.resume is not None and options.session_id is not None:
        raise UsageError("--resume and --session-id exclude each other")
    max_mode = MODE_ALIASES[options.max_mode]
    mode_name = Mode.FORCE.value if options.force else options.mode
    mode = MODE_ALIASES[mode_name]
    if mode.rank > max_mode.rank:
        raise UsageError(f"mode {mode} is above the ceiling {max_mode}")
    given = {name: value for name, value in vars(options).items() if name in _FIELDS}
    checked: dict[str, Any] = {
        "mode": mode,
        "mode_name": mode_name,
        "max_mode": max_mode,
        "cwd": environment.folder(options.cwd),
        "prompts": options.prompts != "none",
        "hitl_suspend": bool(options.hitl_suspend),
        "approval_ttl_s": options.approval_ttl,
        "reap_interval_s": options.reap_interval,
        "keep_sessions_days": _kept_days(options.keep_sessions, environ),
        "verbose": options.verbose or "WCORE_DEBUG" in environ,
        "family": family.taken(options),
    }
    return Options(**{**given, **checked})


def _parser() -> argparse.ArgumentParser:
    names = " ".join(option.name for option in family.FAMILY)
    parser = Parser("wcore", DESCRIPTION, EPILOG.format(family=names))
    parser.add_argument("--version", action="version", version=f"wcore {__version__}")
    _add_model_options(parser)
    _add_approval_options(parser)
    _add_session_options(parser)
    family.add_to(parser)
    return parser


def _add_model_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("model").add_argument
    add("--provider", metavar="NAME", help="model provider; default: derived from --model")
    add("--model", metavar="NAME", help="the provider's name for the model")
    add("--base-url", metavar="URL", help="use another server; /v1 at the end is optional")
    stall = "abort a request after S seconds without data (120)"
    add("--stall-timeout", dest="stall_timeout_s", type=_seconds, metavar="S", help=stall)
    keys = "read provider keys from descriptor N, a JSON object of names and keys"
    add("--keys-fd", type=_descriptor, metavar="N", help=keys)
    add("--max-tokens", type=count, metavar="N", help="most tokens in one model reply")
    add("--max-turns", type=_limit, metavar="N", help="most model replies to one message")
    add("--system-prompt", metavar="TEXT", help="replaces the built-in system prompt")


def _add_approval_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("approvals").add_argument
    modes = "default, read_only, auto_edit or force; in a sandbox also plan and auto_run"
    add("--mode", type=_mode, default=Mode.DEFAULT.value, metavar="MODE", help=modes)
    for alias in ("--force", "--auto-approve", "--dangerously-skip-permissions"):
        same = (
            "mode force: ask nothing but questions to the user"
            if alias == "--force"
            else "as --force"
        )
        add(alias, dest="force", action="store_true", help=same)
    add(
        "--max-mode",
        type=_mode,
        default=Mode.FORCE.value,
        metavar="MODE",
        help="ceiling: no command can raise the mode above it",
    )
    add(
        "--prompts",
        choices=("host", "none"),
        default="host",
        help="none: nobody is there to ask; deny and count what would ask",
    )
    add(
        "--approval-ttl",
        type=_seconds,
        metavar="S",
        help="an open approval expires after S seconds",
    )
    add(
        "--reap-interval",
        type=_seconds,
        metavar="S",
        help="look for expired approvals every S seconds",
    )
    add(
        "--hitl-suspend",
        action=argparse.BooleanOptionalAction,
        help="let questions to the user also suspend (approval_required, suspend); default: no",
    )
    add("--max-writes", type=count, metavar="N", help="most file changes in one turn")
    held = "required: commands run in a sandbox, or not at all; auto: without one where none works"
    more = f"{held} (see wcore sandbox --help); default: off"
    add("--sandbox", choices=("off", "auto", "required"), default="off", help=more)


def _add_session_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("session").add_argument
    add("--cwd", metavar="DIR", help="the workspace; default: the current folder")
    add("--session-id", type=_identifier, metavar="ID", help="name this session, which must be new")
    add("--resume", type=_identifier, metavar="ID", help="continue a stored session, or: latest")
    store = "a file, postgresql://…, or none (store nothing); default: a file in the state folder"
    add("--store", metavar="PLACE", help=store)
    keep = f"delete sessions not used for DAYS days; 0: never (${KEEP_SESSIONS}, else {KEEP_DAYS})"
    add("--keep-sessions", metavar="DAYS", help=keep)
    add(
        "--user-id",
        type=_uuid,
        metavar="UUID",
        help="whose grants and sessions; default: this login",
    )
    add("--json-stream", action="store_true", help="JSON lines on stdin and stdout (always on)")
    add("--verbose", action="store_true", help="write more to the log on stderr")


def _kept_days(given: str | None, environ: Mapping[str, str]) -> float:
    """Return how many days sessions are kept.

    No policy file can say it: with one, a project that was just cloned could delete them.

    Raises:
        UsageError: it is no number of days.
    """
    name = KEEP_SESSIONS if given is None else "--keep-sessions"
    text = environ.get(KEEP_SESSIONS) or str(KEEP_DAYS) if given is None else given
    if not text.isascii() or not text.isdigit() or len(text) > 6:
        raise UsageError(f"{name}: {text[:40]!r} is not a whole number of days")
    return float(text)


def _mode(text: str) -> str:
    if text not in MODE_ALIASES:
        known = ", ".join(mode.value for mode in Mode)
        raise argparse.ArgumentTypeError(f"unknown mode {text!r}; modes are {known}")
    return text


def count(text: str) -> int:
    """Return a whole number above 0.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:12]) < 2**31:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number above 0")
    return int(text)


def _limit(text: str) -> int:
    return 0 if text == "0" else count(text)  # hosts say 0 for: no limit of theirs


def _descriptor(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 2 < int(text[:12]) < 2**31:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a descriptor above 2")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= TTL_S_MAX:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number of seconds above 0")
    return seconds


def _uuid(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a UUID") from None


def _identifier(text: str) -> str:
    if not 0 < len(text) <= ID_CHARS_MAX or not text.isprintable():
        raise argparse.ArgumentTypeError(f"an id has 1 to {ID_CHARS_MAX} visible characters")
    return text
