"""Reads the words after a granted command as its program does, and finds what a prefix leaves open.

A word that the shell computes may become an option, so it is covered only where its beginning is
known, where options have ended, or where nothing that it could say does harm. Abbreviations and
bundles are read as `getopt_long` reads them; in doubt a word is taken for an option as well.
"""

import re
from collections.abc import Sequence
from typing import Final

from wcore.policy.shell.model import Word
from wcore.policy.shell.option_specs import OptionArgument, OptionSpec, Tasks

_PIECE: Final = re.compile(
    r"'(?P<single>[^']*)'|\\(?P<escaped>.)|(?P<plain>[^'\"\\$*?\[{~]+)", re.DOTALL
)
_QUOTED: Final = re.compile(r'"(?P<text>(?:[^"\\$`]|\\.)*)(?P<closed>"?)', re.DOTALL)
_QUOTED_TEXT: Final = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.", re.DOTALL)
_PLACE: Final = re.compile(r'~(?:/|$)|"\$\{?(?:HOME|PWD)\b')
#: What is fetched from elsewhere, or read as more arguments; names of schemes as tools know them.
_ADDRESS: Final = re.compile(
    r"@|[^/]*://|(?:npm|jsr|node|bun|file|data|blob|git|github|gitlab|bitbucket|gist|ssh|link|portal"
    r"|patch|pkg|oci|docker|https?|ftp|[\w+.-]+\+[a-z]+):(?!:)|[\w.-]+@[\w.-]+:",
    re.IGNORECASE,
)
_SCHEME_BEGINS: Final = re.compile(r"[A-Za-z0-9+.@-]*")


def certain_beginning(word: Word) -> str:
    """Return the characters with which whatever the shell makes of `word` begins.

    The home and the working folder are absolute paths; an unquoted variable may become nothing,
    or several words, so nothing is certain about it.
    """
    if not word.dynamic:
        return word.value
    source = word.source.replace("\\\n", "")
    if word.loose and "$" in _QUOTED_TEXT.sub("", source):
        return ""
    if _PLACE.match(source):
        return "/"
    found: list[str] = []
    at = 0
    while at < len(source):
        if quoted := _QUOTED.match(source, at):
            found.append(quoted["text"])
            if not quoted["closed"]:
                break
            at = quoted.end()
        elif piece := _PIECE.match(source, at):
            found.append(piece["single"] or piece["escaped"] or piece["plain"] or "")
            at = piece.end()
        elif source[at] == "~":
            found.append("~")
            at += 1
        else:
            break
    return "".join(found)


class ArgumentReader:
    """Reads the words after one command; the first `granted` of them stand in the grant."""

    def __init__(self, words: Sequence[Word], spec: OptionSpec, granted: int) -> None:
        self.at = 0  # the word that is read
        self._words = words
        self._spec = spec
        self._granted = granted
        self._named: set[str] = set()  # what the grant leaves open on purpose
        self._names_task = False  # whether the grant does
        self._choices: frozenset[str] | None = None  # of the option whose value comes next
        self._operands = 0
        self.sure_operands = 0
        self._ended = self._unknown = self._value_next = False

    def find_uncovered(self, *, only_options: bool = False) -> Word | None:
        """Return the first word that no prefix covers unless it names it.

        With `only_options` no further than the first operand, which is read then.
        """
        while self.at < len(self._words):
            word = self._words[self.at]
            if not self._is_covered(word) and self.at >= self._granted:
                return word
            if self._operands and (only_options or self._spec.hands_on):
                return None
            self.at += 1
        return None

    def _is_covered(self, word: Word) -> bool:
        text = certain_beginning(word)
        value_next, self._value_next = self._value_next, False
        choices, self._choices = self._choices, None
        if word.dynamic and self._spec.is_harmless:
            return True
        if not _fits(self._spec.word_pattern, text, computed=False):
            return False
        if self._ended:
            return self._operand(word, text)
        if value_next and self._is_value(word, text):
            fits = _fits(self._spec.value_pattern, text, computed=word.dynamic)
            return fits and (choices is None or (not word.dynamic and text in choices))
        if word.dynamic and not text:
            return False
        if text == "--" and not word.dynamic:
            self._ended = not (value_next or self._unknown)
            return True
        self._unknown = False
        if not text.startswith("-") or (text == "-" and not word.dynamic):
            return self._operand(word, text)
        if text.startswith("--") or self._spec.single_dash:
            return self._long(text, computed=word.dynamic)
        return self._bundle(text[1:], computed=word.dynamic)

    def _is_value(self, word: Word, text: str) -> bool:
        """Whether this is the value of the option before, and could not be an option itself."""
        if word.loose:
            return text != "" and not text.startswith("-")
        return word.dynamic or not text.startswith("-") or text == "-"

    def _operand(self, word: Word, text: str) -> bool:
        self._operands += 1
        self.sure_operands += not word.loose  # others may vanish
        limit = self._spec.operands_max
        if limit is not None and (self._operands > limit or (word.loose and limit > 0)):
            return False
        if not self._may_be_task(text) or self._may_be_address(word, text):
            return False
        computed = word.dynamic and "/" not in text
        return _fits(self._spec.operand_pattern, text, computed=computed)

    def _may_be_task(self, text: str) -> bool:
        """Whether an operand is no task, or one that the grant names."""
        if self.at < self._granted:
            self._names_task = self._names_task or "=" not in text
            return True
        match self._spec.tasks:
            case Tasks.ANY:
                return True
            case Tasks.ONLY_THE_NAMED:
                return not self._names_task or "=" in text
            case Tasks.NONE_BUT_THE_NAMED:
                return False

    def _may_be_address(self, word: Word, text: str) -> bool:
        """Whether an operand may be fetched from elsewhere, or be a file of arguments."""
        if not self._spec.no_addresses or self._ended:  # behind `--` is what a task is given
            return False
        if word.dynamic and "$" in word.source and _SCHEME_BEGINS.fullmatch(text):
            return True
        return _ADDRESS.match(text) is not None

    def _long(self, text: str, *, computed: bool) -> bool:
        name, equals, value = text.partition("=")
        name = "--" + name.lstrip("-")
        if computed and not equals:
            return False
        takes = self._spec.known.get(name)
        if takes is not None:
            choices = self._spec.values.get(name)
            self._value_next = takes is OptionArgument.VALUE and not equals
            self._choices = choices
            if not equals:
                return True
            if choices is not None and (computed or value not in choices):
                return False
            fits = _fits(self._spec.value_pattern, value, computed=computed)
            return fits and (takes is not OptionArgument.NOTHING or self._spec.is_open)
        meant = next((each for each in self._spec.asks if each.startswith(name)), None)
        if meant is not None:
            return self._harmful(meant, self._spec.asks[meant], attached=bool(equals))
        self._unknown = not equals
        return self._spec.is_open

    def _bundle(self, letters: str, *, computed: bool) -> bool:
        if self._spec.numbers and letters.isdecimal():
            return not computed
        for at, letter in enumerate(letters):
            name, attached = f"-{letter}", at + 1 < len(letters)
            if name in self._spec.asks:
                takes = self._spec.asks[name]
                if not self._harmful(name, takes, attached=attached):
                    return False
                if takes is not OptionArgument.NOTHING:
                    return True
                continue
            takes = self._spec.known.get(name)
            if takes is None and not self._spec.is_open:
                return False
            self._unknown = self._unknown or takes is None
            if takes in (OptionArgument.VALUE, OptionArgument.ATTACHED):
                self._value_next = takes is OptionArgument.VALUE and not attached and not computed
                return _fits(self._spec.value_pattern, letters[at + 1 :], computed=computed)
        return not computed

    def _harmful(self, name: str, takes: OptionArgument, *, attached: bool) -> bool:
        """Whether the grant names this option; with a value of its own it names only that one."""
        self._value_next = takes is OptionArgument.VALUE and not attached
        if self.at < self._granted:
            valued = attached or (takes is OptionArgument.VALUE and self.at + 1 < self._granted)
            if not valued:
                self._named.add(name)
            return True
        return name in self._named


def _fits(pattern: re.Pattern[str] | None, text: str, *, computed: bool) -> bool:
    return pattern is None or (not computed and pattern.search(text) is None)
