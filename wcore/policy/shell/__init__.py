"""When prefix grants cover a shell command. Pure; every `str` gets an answer.

The promise: if `covers` says yes, every command that bash starts for the text, builtins included,
begins with granted words; the shell itself writes no file and opens no socket; and nothing in the
text changes what a granted word means. What a granted program does with its arguments is not
promised. The rule by which that holds, numbered as in the specification:

Grants. G1: plain words only. G2: at least one is not `NAME=value`. G3: the command is no reserved
word. G4: nor a builtin, but for some harmless ones. G5: a program that runs others only with the
one that it is to run.

Texts. L1: not empty, not too long, not too many commands. L2: printable characters, space, tab and
newline. L3: no substitutions, and no expansions but `$NAME`, `${NAME}` and `$?`. L4: no
parentheses, no lone `&`, no `|&`, no `;;`. L5: no redirections but to descriptors, to `/dev/null`
and from plain files. L6: lists and pipelines of simple commands only. L7: whatever is malformed,
or seen differently by the second analysis, is not covered.

Two analyses read each text: `lexer` and `parser`, our own, accept only what the rule names;
`bashlex_check` asks bashlex for the spans of all words, and both must agree.
"""

from wcore.policy.shell.analysis import COMMANDS_MAX, TEXT_BYTES_MAX, analyse, lex
from wcore.policy.shell.bashlex_check import warm
from wcore.policy.shell.builtins import renames
from wcore.policy.shell.coverage import CommandKind
from wcore.policy.shell.folders import folders_entered, in_folders, may_enter
from wcore.policy.shell.grant_matcher import covers, matches
from wcore.policy.shell.grants import (
    ALTERNATIVES_MAX,
    GRANT_CHARS_MAX,
    PrefixGrant,
    PrefixGrantRefused,
    parse_grant,
)
from wcore.policy.shell.mentions import folders_gone_to, mentions_of, working_folders
from wcore.policy.shell.model import Analysis, Coverage, Redirect, SimpleCommand, Word
from wcore.policy.shell.prefix_notes import PrefixNote, note_of
from wcore.policy.shell.reasons import Reason
from wcore.policy.shell.rough_words import ROUGH_CHARS_MAX, rough_words
from wcore.policy.shell.runners import (
    SHELLS,
    is_device,
    is_shared_file,
    may_start_any,
    own_of_runner,
)
from wcore.policy.shell.suggestions import (
    SUGGESTIONS_MAX,
    suggest,
    suggest_prefix,
    why_not_offered,
)

__all__ = [
    "ALTERNATIVES_MAX",
    "COMMANDS_MAX",
    "GRANT_CHARS_MAX",
    "ROUGH_CHARS_MAX",
    "SHELLS",
    "SUGGESTIONS_MAX",
    "TEXT_BYTES_MAX",
    "Analysis",
    "Coverage",
    "PrefixGrant",
    "PrefixGrantRefused",
    "CommandKind",
    "PrefixNote",
    "Reason",
    "Redirect",
    "SimpleCommand",
    "Word",
    "analyse",
    "covers",
    "folders_entered",
    "folders_gone_to",
    "in_folders",
    "is_device",
    "is_shared_file",
    "lex",
    "matches",
    "may_enter",
    "may_start_any",
    "note_of",
    "mentions_of",
    "own_of_runner",
    "parse_grant",
    "renames",
    "rough_words",
    "suggest",
    "suggest_prefix",
    "warm",
    "why_not_offered",
    "working_folders",
]
