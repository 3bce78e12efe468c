"""Start-up arguments of other engines of the protocol family: their hosts start this one unchanged.

One table. An argument of theirs is another name for arguments of ours (`ours`), or a setting that
a host could send as `set_config` (`setting`), or nothing here: then one `info` after `ready` says
so (`instead`). None of them loosens anything that no argument of ours would loosen.
"""

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from wcore.vocabulary import Json


class FamilyOption(Struct, frozen=True):
    """One argument. `value` reads its value; `None`: it takes none."""

    name: str
    value: Callable[[str], Json] | None = None
    ours: tuple[str, ...] = ()
    setting: str = ""
    instead: str = ""
    is_secret: bool = False


class Taken(Struct, frozen=True):
    """What came of those that were given: fields of one `set_config`, words for the host."""

    settings: dict[str, Json]
    notices: tuple[str, ...]
    secrets: tuple[str, ...]


_GRANTS: Final = "a grant is given on a card, or by give_grant"
_KEY: Final = (
    "other programs can read a command line: set the provider's variable, such as OPENAI_API_KEY, "
    "or use --keys-fd"
)
_SANDBOX: Final = "--force is what asks nothing"

FAMILY: Final = (
    FamilyOption("-p", ours=("--provider",)),
    FamilyOption("-m", ours=("--model",)),
    FamilyOption("-b", ours=("--base-url",)),
    FamilyOption("-k", ours=("--api-key",)),
    FamilyOption("-c", ours=("--resume", "latest")),
    FamilyOption("--continue", ours=("--resume", "latest")),
    FamilyOption("--yolo", ours=("--mode", "yolo")),
    FamilyOption("--build-info", ours=("--version",)),
    FamilyOption("--thinking", str, setting="thinking"),
    FamilyOption("--thinking-budget", int, setting="thinking_budget"),
    FamilyOption("--compaction", str, setting="compaction"),
    FamilyOption("--api-key", str, instead=_KEY, is_secret=True),
    FamilyOption("--assistant", str, instead="servers are not chosen by assistants here"),
    FamilyOption("--profile", str, instead="there are no profiles here"),
    FamilyOption("--agent", str, instead="agents are chosen by the model, with the tool Spawn"),
    FamilyOption("--project-dir", str, instead="the workspace is what --cwd says"),
    FamilyOption("--trust-workspace", instead="send trust_workspace, or run `wcore trust DIR`"),
    FamilyOption("--allow-host-path-grants", instead=_GRANTS),
    FamilyOption("--allow-host-workspace-grants", instead=_GRANTS),
    FamilyOption("--allow-host-budget-grants", instead="there are no budgets here"),
    FamilyOption("--dangerous", instead=_SANDBOX),
    FamilyOption("--dangerously-skip-permissions-and-sandbox", instead=_SANDBOX),
    FamilyOption("--dangerous-ttl-secs", str, instead=_SANDBOX),
    FamilyOption("--runtime-engine-mode", str, instead="nothing is reported of it"),
    FamilyOption("--runtime-workspace-kind", str, instead="nothing is reported of it"),
    FamilyOption("--log-level", str, instead="--verbose writes more to the log"),
    FamilyOption("--log-dir", str, instead="the log goes to stderr"),
    FamilyOption("--no-color", instead="nothing is coloured"),
    FamilyOption("--no-tui", instead="a conversation in a terminal is `wcore-chat`"),
    FamilyOption("--no-memory", instead="nothing is kept but sessions: --store none keeps none"),
    FamilyOption("--toon", instead="results go to the model as they are"),
)


def in_our_words(argv: Sequence[str]) -> list[str]:
    """Return `argv` with the names that stand for arguments of ours replaced by those.

    Whole words only: `-max-mode=x` must not become a model. None of them can be the value of an
    argument, which never begins with a dash.
    """
    ours = {option.name: option.ours for option in FAMILY if option.ours}
    return [word for given in argv for word in ours.get(given, (given,))]


def add_to(parser: ArgumentParser) -> None:
    """Let `parser` take those that are not ours by another name."""
    for option in _own():
        add, dest = parser.add_argument, option.name
        if option.value is None:
            add(option.name, dest=dest, action="store_true", default=None, help=SUPPRESS)
        else:
            add(option.name, dest=dest, type=option.value, help=SUPPRESS)


def taken(options: Namespace) -> Taken:
    """Return what comes of those that were given, in the order of the table."""
    given = [(option, getattr(options, option.name)) for option in _own()]
    found = [(option, value) for option, value in given if value is not None]
    return Taken(
        settings={option.setting: value for option, value in found if option.setting},
        notices=tuple(
            f"{option.name} has no effect: {option.instead}"
            for option, _ in found
            if option.instead
        ),
        secrets=tuple(value for option, value in found if option.is_secret and value),
    )


def _own() -> list[FamilyOption]:
    return [option for option in FAMILY if not option.ours]
