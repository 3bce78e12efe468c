"""Why a shell text is not covered: stable codes, printed to people and asserted by tests."""

from enum import StrEnum


class Reason(StrEnum):
    """What stopped an analysis or a match. The values are part of the protocol: `why.code`."""

    #: There is no command in the text.
    EMPTY = "empty"
    #: The text is longer than `TEXT_BYTES_MAX`.
    TOO_LONG = "too_long"
    #: There are more than `COMMANDS_MAX` simple commands.
    TOO_MANY_COMMANDS = "too_many_commands"
    #: A control, format, unassigned, private or look-alike blank character.
    FORBIDDEN_CHARACTER = "forbidden_character"
    #: A command or process substitution: a backtick, `$(`, `<(` or `>(`.
    SUBSTITUTION = "substitution"
    #: A `$` other than `$NAME`, `${NAME}` and `$?`, arithmetic included.
    EXPANSION = "expansion"
    #: `$'…'` or `$"…"`, which bash decodes.
    ANSI_QUOTE = "ansi_quote"
    #: `~NAME`, `~+` and the like: looked up or computed by the shell.
    TILDE = "tilde"
    #: A brace expansion that can make quotes, backticks or tildes out of nothing.
    BRACE = "brace"
    #: A redirection other than to a descriptor, to `/dev/null` or from a plain file.
    REDIRECTION = "redirection"
    #: A here-document or here-string.
    HERE_DOCUMENT = "here_document"
    #: A lone `&`.
    BACKGROUND = "background"
    #: An operator without a command beside it, or one that is not `;` `&&` `||` `|`.
    OPERATOR = "operator"
    #: A parenthesis or reserved word: a compound command, function, `!` or `time`.
    COMPOUND = "compound"
    #: A quote that is not closed, or a backslash at the very end.
    QUOTING = "quoting"
    #: A redirection without a command.
    NO_COMMAND = "no_command"
    #: The second analysis reads the text differently.
    PARSER_DISAGREES = "parser_disagrees"
    #: The second analysis refused the text or failed.
    PARSER_FAILED = "parser_failed"
    #: No answer within the limit.
    TIMEOUT = "timeout"
    #: The process that analyses could not be started.
    NO_ANALYST = "no_analyst"
    #: No grant begins like this command.
    NO_GRANT = "no_grant"
    #: The command sets a variable that no grant spells out.
    ASSIGNMENT = "assignment"
    #: The program's name is computed by the shell.
    DYNAMIC_HEAD = "dynamic_head"
    #: A word that the shell computes, where a rule that stops compares words.
    DYNAMIC_ARGUMENT = "dynamic_argument"
    #: A word is made to mean another program: an alias, a hashed path.
    RENAMED = "renamed"
    #: Words that a builtin or a program evaluates, and nobody can say as what.
    EVALUATED = "evaluated"
    #: A shell runs a text that it reads, and nobody knows what that is.
    SCRIPT_FROM_INPUT = "script_from_input"
    #: A word that leads, on this machine, to another program than it says.
    OTHER_PROGRAM = "other_program"
    #: A granted word is written with quotes or a backslash.
    QUOTED_HEAD = "quoted_head"
    #: Arguments with which `printf`, `test` or `[` evaluate text or set a variable.
    BUILTIN_ARGUMENT = "builtin_argument"
    #: A program named by a relative path after `cd`.
    RELATIVE_AFTER_CD = "relative_after_cd"
    #: `watch` hands its arguments to a shell.
    RUNNER_ARGUMENT = "runner_argument"
    #: An option or operand that no prefix covers unless it names it.
    UNCOVERED_ARGUMENT = "uncovered_argument"


class Stop(Exception):  # noqa: N818 - not an error: the reading is over
    """The text is not understood from `start` on; character offsets."""

    def __init__(self, reason: Reason, start: int, end: int) -> None:
        super().__init__(reason)
        self.reason, self.start, self.end = reason, start, end
