"""What a word of a text may be: braces, tildes, variables that are known, patterns and holes."""

import re
from collections.abc import Sequence
from typing import Final

from wcore.policy.shell.characters import NAME as VARIABLE
from wcore.policy.shell.paths.scope import VALUES_MAX, Scope, few
from wcore.policy.shell.paths.values import ANY, FOLDERS, NAME, PATH_CHARS_MAX, PATTERN, literal
from wcore.policy.shell.reading import within_quotes
from wcore.policy.shell.word_parts import QUOTES, ReadWord

NESTED_MAX: Final = 4  # variables in what stands for another that is not set
OPENED_MAX: Final = 64  # braces in one word
BRACES_MAX: Final = 256  # words that the braces of one make

PRINTED_MAX: Final = 16  # names within a substitution

#: What may not stand in a text that is read here: holes, bare braces, and numbers of expansions.
RESERVED: Final = re.compile("[\0-\6\x0e\x0f\U000f0000-\U000fffff]")
_OPEN, _COMMA, _CLOSE, _BRACKET, _TILDE = "\4\5\6\x0e\x0f"
_BARE: Final = str.maketrans("{,}~", _OPEN + _COMMA + _CLOSE + _TILDE)
_LITERAL: Final = str.maketrans(_OPEN + _COMMA + _CLOSE, "{,}")
_FIRST: Final = 0xF0000
_INNERMOST: Final = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")
_EXPANSION: Final = re.compile("[\U000f0000-\U000fffff]")
_UNCLOSED: Final = re.compile(f"{_BRACKET}(?:([^/]*\\])|)")
_PARAMETER: Final = re.compile(
    rf"\$(?:({VARIABLE}|[0-9@*#?$!-])|\{{({VARIABLE}|[0-9]+|[@*#?$!-])(.*)\}})", re.DOTALL
)
_DEFAULT: Final = re.compile(r":?([-=+?])(.*)", re.DOTALL)
_QUOTES: Final = re.compile("[\"']")
_CUT: Final = re.compile(r"(%%?|##?)([\w.,+@/-]+)")
_FILE_NAME: Final = re.compile(r"(?<![\w./-])[\w-]*[._][\w.-]*")
_SLICE: Final = re.compile(r":(?: *(?=[0-9])| +(?=-))(-?[0-9]{1,4})(?::([0-9]{1,4}))?")
_SHORTER: Final = re.compile(r"[%#^,]|:[ 0-9]")
_GLOB: Final = re.compile(r"[*?]+|\[[^\]/]+\]")
_FOLDER_NOW: Final = frozenset(["$(pwd)", "`pwd`"])


def expanded(word: ReadWord, known: Scope) -> list[str]:
    """Return what a word may be, each once."""
    written: list[str] = []
    holes: list[str] = []
    for part in word.parts:
        if part.is_known or part.text == "~":
            written.append(part.text.translate(_BARE) if part.is_bare else part.text)
        elif len(holes) < PATH_CHARS_MAX:
            if part.text[0] == "(" and written and written[-1][-1:] in ("@", "+", "!"):
                written[-1] = written[-1][:-1]
            written.append(chr(_FIRST + len(holes)))
            holes.append(part.text)
    text = "".join(written)
    if QUOTES.match(word.source):
        text = text.replace(_TILDE, "~")
    found = [value for each in _braced(text) for value in _with_expansions(each, holes, known)]
    is_split = holes and not QUOTES.search(word.source)
    return list(dict.fromkeys(value.strip() if is_split else value for value in found))


def _braced(text: str) -> list[str]:
    """Return the words that braces make of one; a sequence is a hole."""
    if text.count(_OPEN) > OPENED_MAX:
        return [ANY + text.rpartition(_CLOSE)[2]]
    found, done = [text], list[str]()
    while found:
        each = found.pop()
        match = _INNERMOST.search(each)
        if match is None:
            done.append(each.translate(_LITERAL))
            continue
        inside = match[1]
        choices = [f"{{{inside}}}"]
        if _COMMA in inside:
            choices = inside.split(_COMMA)
        elif ".." in inside:
            choices = [NAME]
        before, behind = each[: match.start()], each[match.end() :]
        if len(found) + len(done) + len(choices) > BRACES_MAX:
            choices = [ANY]
        found += [before + choice + behind for choice in choices]
    return list(dict.fromkeys(done))


def _with_expansions(text: str, holes: Sequence[str], known: Scope) -> list[str]:
    open_ = [""]
    at = 0
    if text.startswith(_TILDE):
        name = text[1:].partition("/")[0]
        is_name = _EXPANSION.search(name) is None
        open_, at = (list(known.tilde(name)), 1 + len(name)) if is_name else (["~"], 1)
    for match in _EXPANSION.finditer(text, at):
        between, at = text[at : match.start()], match.end()
        choices = _choices(holes[ord(match[0]) - _FIRST], known)
        if len(open_) * len(choices) > VALUES_MAX:
            choices = [ANY]
        open_ = few(before + between + each for before in open_ for each in choices)
    return [_joined(before + text[at:], known).replace(_TILDE, "~") for before in open_]


def _joined(value: str, known: Scope) -> str:
    """Return a value with its brackets as holes, and `**` as what it takes."""
    if _BRACKET in value:
        value = _UNCLOSED.sub(lambda match: PATTERN if match[1] else "[", value)
    if known.pattern == NAME:
        value = re.sub(f"(^|/){NAME}{NAME}(/|$)", rf"\1{FOLDERS}/{NAME}\2", value)
        value = value.replace(f"{FOLDERS}/{NAME}/", f"{FOLDERS}/")
    return re.sub(f"{PATTERN}+", PATTERN, re.sub(f"{ANY}+", ANY, value))


def _choices(source: str, known: Scope) -> Sequence[str]:
    """Return what an expansion may stand for."""
    match source[0]:
        case "*" | "?":
            return [known.pattern]
        case "[":
            return [_BRACKET if source in ("[", "[!]", "[^]") else PATTERN]
        case "(":  # of a pattern
            return [known.pattern, *source[1:-1].split("|")[: VALUES_MAX // 4]]
        case "<" | ">":
            return ["/dev/stdin"]
        case _ if source in _FOLDER_NOW:
            return known.values("PWD")
        case _ if source.startswith(("$(", "`")):  # files that it names it may print
            named = dict.fromkeys(_FILE_NAME.findall(source))
            return [ANY, *(f"{ANY}/{each}" for each in list(named)[:PRINTED_MAX])]
        case _ if source.startswith("${#"):
            return [NAME]
        case _:
            return _parameter(source, known)


def _parameter(source: str, known: Scope) -> Sequence[str]:
    match = _PARAMETER.fullmatch(source)
    if match is None:
        return [ANY]
    held, operator = known.values(match[1] or match[2]), match[3] or ""
    if not operator:
        return _with_patterns(held)
    if default := _DEFAULT.fullmatch(operator):
        kept = [each for each in held if each]
        given = [ANY, default[2].rstrip("}").rpartition("-")[2]]
        if default[2].count("${") <= NESTED_MAX and "~" not in default[2]:  # which is a home
            given = _with_patterns(expanded(within_quotes(_QUOTES.sub("", default[2])), known))
        if default[1] == "=":
            known.assign(match[1] or match[2], given)
        if default[1] == "+":
            return ["", *given]
        return kept if default[1] == "?" else [*kept, *(given if len(kept) < len(held) else ())]
    return [_shaped(each, operator) if each else "" for each in held]


def _shaped(value: str, operator: str) -> str:
    """Return what is left of a value that an operator takes something from."""
    cut, slice_ = _CUT.fullmatch(operator), _SLICE.fullmatch(operator)
    if operator == "##*/":
        return value.rpartition("/")[2]
    if operator == "%/*":
        return value.rpartition("/")[0]
    if slice_ and literal(value):
        behind = value[int(slice_[1]) :]
        return behind if slice_[2] is None else behind[: int(slice_[2])]
    if cut:
        return value.removesuffix(cut[2]) if cut[1][0] == "%" else value.removeprefix(cut[2])
    return NAME if _SHORTER.match(operator) and "/" not in value and ANY not in value else ANY


def _with_patterns(values: Sequence[str]) -> list[str]:
    """Return values, and what they may be where the shell takes them for patterns."""
    return [*values, *(_GLOB.sub(PATTERN, each) for each in values if _GLOB.search(each))]


def fields(values: Sequence[str]) -> list[str]:
    """Return what else unquoted values may be: the parts between their blanks."""
    return [part for each in values if literal(each) for part in each.split()]
