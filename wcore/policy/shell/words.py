"""Reads one word: the pieces that our lexer takes, and what each makes of the word."""

import re
from typing import Final

from wcore.policy.shell.characters import NAME, PLAIN
from wcore.policy.shell.model import Word
from wcore.policy.shell.reasons import Reason, Stop

BRACE_WORDS_MAX: Final = 1000  # of one word: some 1,300 such fit into a text, and bash holds them

#: Characters that end a word; the empty string stands for the end of the text.
WORD_ENDS: Final = frozenset(["", *" \t\n;&|<>"])

#: Atomic: where the quotes do not end, no name is cut at each of its letters.
_PARAMETER: Final = rf"(?>\$(?:{NAME}|\{{{NAME}\}}|\?))"
_QUOTED: Final = rf'"(?P<quoted>(?:[^"\\$`]|\\.|{_PARAMETER})*+)'
_PIECE: Final = re.compile(
    rf"""(?P<plain>{PLAIN}+)
    |'(?P<literal>[^']*)'
    |{_QUOTED}"
    |\\(?P<escaped>.)
    |(?P<parameter>{_PARAMETER})
    |(?P<pattern>[*?\[{{])
    |(?P<tilde>~)
    |(?P<other>[^'"\\$`()])""",
    re.VERBOSE | re.DOTALL,
)
_OPEN_QUOTES: Final = re.compile(_QUOTED, re.DOTALL)
_IN_QUOTES: Final = re.compile(rf"\\(?P<escaped>.)|{_PARAMETER}", re.DOTALL)
_DIGITS_MAX: Final = 20  # bash itself counts in 64 bits, and long numbers take long to read
_NUMBERS: Final = re.compile(r"([-+]?[0-9]+)\.\.([-+]?[0-9]+)")
_RANGE: Final = re.compile(r"(?<=(.))\.\.(?=(.))", re.DOTALL)
_SAME_CASE: Final = re.compile(r"[a-z]{2}|[A-Z]{2}")


def read_word(text: str, start: int) -> Word:
    """Return the word that begins at `start`.

    Raises:
        Stop: it is not one that the rule allows.
    """
    at, value = start, ""
    dynamic = loose = tildes = braces = False
    while text[at : at + 1] not in WORD_ENDS:
        piece = _PIECE.match(text, at)
        if piece is None or piece.lastgroup is None:
            raise _refused(text, at)
        known = piece[piece.lastgroup]
        if piece.lastgroup == "quoted":
            dynamic |= any(not each["escaped"] for each in _IN_QUOTES.finditer(known))
            known = _IN_QUOTES.sub(_unescaped, known)
        elif piece.lastgroup == "escaped":
            known = known.replace("\n", "")
        elif piece.lastgroup in ("parameter", "pattern"):
            dynamic = loose = True
            braces |= known == "{"
        elif piece.lastgroup == "tilde":
            dynamic |= _is_home(text, start, at)
            tildes |= at > start
        value += known
        at = piece.end()
    source = text[start:at]
    if source == "[":  # the command; no pattern is only a bracket
        dynamic = loose = False
    if braces:
        _check_braces(source, start, has_tildes=tildes)
    return Word((start, at), source, value, dynamic, loose)


def _unescaped(match: re.Match[str]) -> str:
    """Return what stands for a part of double quotes."""
    escaped = match["escaped"]
    if escaped is None or escaped not in '$`"\\\n':
        return match[0]
    return "" if escaped == "\n" else escaped


def _is_home(text: str, start: int, at: int) -> bool:
    """Accept `~` where it is not special, and `~` or `~/` where it is."""
    before = text[at - 1] if at > start else ""
    after = text[at + 1 : at + 2]
    if before not in ("", "=", ":", "\n"):
        return False
    if before == "\n" or (after != "/" and after not in WORD_ENDS):
        raise Stop(Reason.TILDE, at, at + 1)
    return True


def _refused(text: str, at: int) -> Stop:
    """Return why no piece of a word begins at `at`."""
    quotes = _OPEN_QUOTES.match(text, at)
    here = text[quotes.end() if quotes else at :][:3]
    if here[:1] in ("", "'", "\\"):
        return Stop(Reason.QUOTING, at, at + 1)
    at = quotes.end() if quotes else at
    if here[0] == "`":
        return Stop(Reason.SUBSTITUTION, at, at + 1)
    if here[0] in "()":
        return Stop(Reason.COMPOUND, at, at + 1)
    if not quotes and here[1:2] in ("'", '"'):
        return Stop(Reason.ANSI_QUOTE, at, at + 2)
    is_command = here[1:2] == "(" and here[1:] != "(("
    reason = Reason.SUBSTITUTION if is_command else Reason.EXPANSION
    return Stop(reason, at, min(at + 2, len(text)))


def _check_braces(source: str, start: int, *, has_tildes: bool) -> None:
    """Refuse braces out of which bash makes characters that are special afterwards.

    Nor may they make more words than the machine holds: `{1..9999999999}`.

    `{Z..a}` yields a backslash and a backtick, and what braces yield is read again: `{~,x}y`
    is `~y`. Without a comma or a range nothing is expanded.
    """
    joined = source.replace("\\\n", "")
    expands = "," in joined or ".." in joined
    special = has_tildes or any(map(_is_mixed, _RANGE.finditer(joined)))
    if expands and (special or expansion_bound(joined) > BRACE_WORDS_MAX):
        raise Stop(Reason.BRACE, start, start + len(source))


def _is_mixed(dots: re.Match[str]) -> bool:
    ends = dots[1] + dots[2]
    return all(map(str.isalpha, ends)) and _SAME_CASE.fullmatch(ends) is None


def expansion_bound(source: str) -> int:
    """Return what the braces of `source` cannot make more words than; quotes are not looked at."""
    bound = 1
    for start, end in _NUMBERS.findall(source):
        if max(len(start), len(end)) > _DIGITS_MAX:
            return BRACE_WORDS_MAX + 1
        bound *= abs(int(end) - int(start)) + 1
    choices: list[int] = []
    for character in source:
        if character == "{":
            choices.append(1)
        elif character == "," and choices:
            choices[-1] += 1
        elif character == "}" and choices:
            bound *= choices.pop()
    return bound
