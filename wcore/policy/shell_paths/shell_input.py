"""What a shell reads as its input: here-documents, here-strings, what is printed into a pipe."""

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from wcore.policy.shell.input_scripts import (
    printed,
    puts_input_into_words,
    reads_here,
    runs_its_input,
)
from wcore.policy.shell_paths import expansion
from wcore.policy.shell_paths.expansion import ExpansionContext
from wcore.policy.shell_paths.syntax import Command, Event, Open
from wcore.policy.shell_paths.values import Value, text

_PIPES: Final = ("|", "|&")
_OTHER_INPUT: Final = re.compile(r"/dev/fd/(?!0$)|/proc/(?!self/fd/0$)")
_INPUT: Final = ("<", "<>", "<&")


class ShellInput(Struct):
    """The `texts` that a shell will run, as far as they are known.

    `here`: by this very shell. `lost`: there is more.
    """

    texts: list[str]
    here: bool = False
    lost: bool = False


def has_input(events: Sequence[Event]) -> bool:
    """Whether a part of the text reads from something: a pipe, a file, a text."""
    return any(
        event.before in _PIPES
        or (
            isinstance(event, Command)
            and any(each.operator.startswith("<") for each in event.redirections)
        )
        for event in events
        if isinstance(event, Command | Open)
    )


def read_as_input(
    command: Command,
    previous: Event | None,
    argv: Sequence[str | None],
    context: ExpansionContext,
    *,
    elsewhere: bool,
) -> ShellInput | None:
    """Return what a shell among the words `argv` of `command` reads and runs; `None`: nothing.

    `previous` is what comes before in the text; `elsewhere`: it has an input that may reach this.
    """
    if not runs_its_input(argv):
        return None
    if puts_input_into_words(argv):
        return ShellInput([], lost=True)
    texts: list[str] = []
    is_given, lost = False, any(word and _OTHER_INPUT.match(word) for word in argv[1:])
    for each in command.redirections:
        if each.operator in _INPUT:  # a script like any other, unless it is our own input
            is_given = True
            lost = lost or each.operator == "<&"
        if each.gives_text:
            is_given = True
            values = expansion.assigned(each.text_atoms, context)
            known = [value.literal for value in values if value.literal is not None]
            lost = lost or len(known) < len(values)
            texts += known
    if command.before in _PIPES:
        is_given = True
        known = None if context.has_functions else _printed(previous, context)
        lost = lost or known is None
        texts += [known] if known else []
    lost = lost or (elsewhere and not is_given)
    return ShellInput(texts, here=reads_here(argv), lost=lost)


def texts_given(
    event: Command | Open, previous: Event | None, context: ExpansionContext
) -> list[Value]:
    """Return the texts that a part of the text perhaps reads, as far as they are known."""
    piped = previous if event.before in _PIPES else None  # `cat << E | patch` passes its own on
    found: list[Value] = []
    for part in (event, piped):
        for each in part.redirections if isinstance(part, Command) else ():
            if each.gives_text:
                found += expansion.assigned(each.text_atoms, context)
    known = _printed(piped, context)
    return [*found, text(known)] if known else found


def words_before(event: Command, previous: Event | None, context: ExpansionContext) -> list[Value]:
    """Return the words of the command that prints what this one reads."""
    if event.before not in _PIPES or not isinstance(previous, Command):
        return []
    return [value for word in previous.words for value in expansion.fields(word, context)]


def _printed(previous: Event | None, context: ExpansionContext) -> str | None:
    """Return what the command before a pipe prints into it, if it is no function."""
    if not isinstance(previous, Command):
        return None
    words: list[str | None] = []
    for word in previous.words:
        values = expansion.fields(word, context)
        words.append(values[0].literal if len(values) == 1 else None)
    return printed(words)
