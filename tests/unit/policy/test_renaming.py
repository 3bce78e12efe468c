"""Aliases and their kind: later words mean other programs, so nobody can say what is run."""

import pytest
from tables import rows

from wcore.vocabulary import Row

from .test_rules import bash, policies, rules
from .test_rules import outcome as by_rules
from .test_shell_paths import outcome

RENAMING = [
    "shopt -s expand_aliases\nalias ll='git push > ../out'\nll",
    "shopt -s expand_aliases; alias p='git push'; bash -c p",
    "builtin alias p='git push'",
    "command alias -p p='git push'; p",
    "BASH_ALIASES[p]='git push'; p",
    "declare 'BASH_ALIASES[p]=git push'; p",
    "printf -v 'BASH_ALIASES[p]' 'git push'; p",
    "BASH_CMDS[p]=/usr/bin/git; p push",
    "hash -p /usr/bin/git p; p push",
    "enable -f ./x.so p; p",
    "bash -c \"shopt -s expand_aliases; alias p='git push'\"",
    'alias "$(cat x)"; p',
]
PLAIN = [
    "alias",
    "alias ll",
    "hash -r",
    "shopt -s globstar",
    "unalias -a",
    "echo alias a=b",
    "hash",
]


@rows("text", RENAMING)
def test_a_text_that_gives_words_another_meaning_asks(text: str) -> None:
    assert outcome(text) == ("ask", Row.OUTSIDE)
    found = policies(rules(("Bash(git push)", "deny"), ("Bash", "allow")))
    assert by_rules(bash(text), found).verdict.value != "allow"


@pytest.mark.parametrize("text", PLAIN)
def test_a_text_that_only_names_such_a_builtin_does_not(text: str) -> None:
    assert outcome(text)[0] == "allow"
    found = policies(rules(("Bash(curl)", "deny"), ("Bash", "allow")))
    assert by_rules(bash(text), found).verdict.value == "allow"
