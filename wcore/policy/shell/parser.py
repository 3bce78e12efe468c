"""From tokens to simple commands: lists (`;` newline `&&` `||`) of pipelines (`|`), no more."""

from typing import Final

from wcore.policy.shell.lexer import Lexer, Operator
from wcore.policy.shell.model import Redirect, SimpleCommand, Word
from wcore.policy.shell.reasons import Reason, Stop

#: Words that bash reads as grammar where a command may begin.
RESERVED: Final = frozenset(
    "if then elif else fi for in do done while until case esac select function time coproc"
    " { } ! [[ ]]".split()
)


class _Reader:
    """Gathers the commands of one text."""

    def __init__(self, commands_max: int) -> None:
        self.commands: list[SimpleCommand] = []
        self.words: list[Word] = []  # of the command that is read
        self.redirects: list[Redirect] = []
        self._expected: Operator | None = None  # after it a command must follow
        self._commands_max = commands_max

    def operator(self, operator: Operator) -> None:
        begun = bool(self.words or self.redirects)
        if operator.text == "\n" and not begun:
            return
        if not begun:
            raise Stop(Reason.OPERATOR, operator.at, operator.at + len(operator.text))
        self._close(operator.at)
        self._expected = None if operator.text in "\n;" else operator

    def end(self, at: int) -> None:
        if self.words or self.redirects:
            self._close(at)
        elif self._expected:
            begin = self._expected.at
            raise Stop(Reason.OPERATOR, begin, begin + len(self._expected.text))
        if not self.commands:
            raise Stop(Reason.EMPTY, 0, at)

    def _close(self, at: int) -> None:
        if not self.words:
            raise Stop(Reason.NO_COMMAND, max(at - 1, 0), at)
        if len(self.commands) == self._commands_max:
            raise Stop(Reason.TOO_MANY_COMMANDS, max(at - 1, 0), at)
        self.commands.append(SimpleCommand(tuple(self.words), tuple(self.redirects)))
        self.words, self.redirects, self._expected = [], [], None


def read(text: str, commands_max: int) -> tuple[SimpleCommand, ...]:
    """Return the simple commands of `text`, at most `commands_max`.

    Raises:
        Stop: the text is not one that the rule allows.
    """
    reader = _Reader(commands_max)
    first = True
    for token in Lexer(text).tokens():
        match token:
            case Word():
                if first and token.source in RESERVED:
                    raise Stop(Reason.COMPOUND, *token.span)
                reader.words.append(token)
            case Redirect():
                reader.redirects.append(token)
            case Operator():
                reader.operator(token)
        first = isinstance(token, Operator) or (first and isinstance(token, Redirect))
    reader.end(len(text))
    return tuple(reader.commands)
