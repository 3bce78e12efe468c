"""Here-documents that are data: what `cat > notes.md << E` writes is no command."""

from functools import lru_cache
from typing import Final

from wcore.policy.shell.characters import ASSIGNMENT
from wcore.policy.shell.runners import program
from wcore.policy.shell_paths.parser import parse
from wcore.policy.shell_paths.syntax import Command, ForLoop, FunctionDefinition, UnparsedRest

#: They run nothing of what they read.
_TAKE_DATA: Final = frozenset(
    "cat tee grep egrep fgrep rg jq wc head tail sort uniq tr cut nl mkdir cd ls pwd touch chmod rm"
    " mv cp echo printf true : test [".split()
)
_TAKE_MESSAGES: Final = frozenset("add commit tag notes status".split())  # of git


@lru_cache(4)  # one text is held against every rule
def without_data(text: str) -> str:
    """Return a text without its here-documents, where none of its commands could run them.

    Else the text as it is. Total, and linear in the text.
    """
    if "<<" not in text:
        return text
    shown: list[str] = []
    for event in parse(text):
        if isinstance(event, FunctionDefinition | ForLoop | UnparsedRest):
            return text
        if isinstance(event, Command):
            words = [word for word in event.words if not ASSIGNMENT.match(word.source)]
            if words and not _takes_data([word.literal for word in words]):
                return text
            targets = (f"{each.operator} {each.target.source}" for each in event.redirections)
            shown.append(" ".join([*(word.source for word in event.words), *targets]))
    return "\n".join(shown)


def _takes_data(words: list[str | None]) -> bool:
    name = program(words[0] or "")
    return name in _TAKE_DATA or (name == "git" and not _TAKE_MESSAGES.isdisjoint(words[1:2]))
