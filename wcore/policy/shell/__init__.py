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

from wcore.policy.shell.analysis import analyse, lex
from wcore.policy.shell.bashlex_check import warm
from wcore.policy.shell.folders import folders_entered, in_folders, may_enter
from wcore.policy.shell.grant_matcher import covers, matches
from wcore.policy.shell.grants import PrefixGrant, PrefixGrantRefused, parse_grant
from wcore.policy.shell.mentions import ROUGH_CHARS_MAX, mentions_of, rough_words
from wcore.policy.shell.model import Analysis
from wcore.policy.shell.prefix_notes import note_of
from wcore.policy.shell.reasons import Reason
from wcore.policy.shell.suggestions import SUGGESTIONS_MAX, suggest, why_not_offered

__all__ = [
    "ROUGH_CHARS_MAX",
    "SUGGESTIONS_MAX",
    "Analysis",
    "PrefixGrant",
    "PrefixGrantRefused",
    "Reason",
    "analyse",
    "covers",
    "folders_entered",
    "in_folders",
    "lex",
    "matches",
    "may_enter",
    "note_of",
    "mentions_of",
    "parse_grant",
    "rough_words",
    "suggest",
    "warm",
    "why_not_offered",
]
