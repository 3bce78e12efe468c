"""What a prefix leaves out, and that it runs the project's code: for cards and `policy lint`."""

from typing import Final

from msgspec import Struct

from wcore.policy.shell import runners
from wcore.policy.shell.coverage import COMMANDS, GROUPS, CommandKind, locate
from wcore.policy.shell.folders import FOLDER_OPTIONS
from wcore.policy.shell.model import Word
from wcore.policy.shell.option_specs import option_spec
from wcore.policy.shell.programs_with_scripts import SCRIPT_EXAMPLES
from wcore.policy.shell.runners import Words

EXAMPLES_MAX: Final = 6  # what a person reads on a card


class PrefixNote(Struct, frozen=True):
    """What is to be known of a prefix. `not_covered` are options that ask although it was given.

    With `only_listed` every other option that is not known to be harmless asks as well.
    """

    kind: CommandKind
    not_covered: tuple[str, ...] = ()
    only_listed: bool = False
    holds_anywhere: bool = True  # in the workspace: it names nothing by where that is

    @property
    def runs_project_code(self) -> bool:
        return self.kind is CommandKind.PROJECT_CODE

    @property
    def sentences(self) -> tuple[str, ...]:
        """The note in words, the same on every card and page."""
        found: list[str] = []
        if self.runs_project_code:
            where = ", in any folder of the workspace" if self.holds_anywhere else ""
            found.append(f"It runs the project's own code{where}.")
        if self.not_covered:
            shown = ", ".join(self.not_covered[:EXAMPLES_MAX])
            more = " and others" if len(self.not_covered) > EXAMPLES_MAX else ""
            found.append(f"It does not cover {shown}{more}: these ask.")
        elif self.only_listed and not self.runs_project_code:
            found.append("It covers options that only read: others ask.")
        return tuple(found)


def note_of(words: Words) -> PrefixNote:
    """Return what is to be known of the words of a parsed grant."""
    own = words[runners.innermost(words) :]
    located = locate([Word((0, 0), word, word) for word in own], len(own))
    spec = option_spec(COMMANDS.get(located.key, GROUPS.get(own[0], "*")))
    named = {*own, FOLDER_OPTIONS.get(own[0])}  # which it covers within the workspace
    examples = SCRIPT_EXAMPLES.get(located.key, spec.never_covered)
    not_covered = tuple(example for example in examples if example not in named)
    stays = runners.names_relative_program(words) or runners.names_relative_script(words)
    return PrefixNote(
        located.kind, not_covered, only_listed=not spec.is_open, holds_anywhere=not stays
    )
