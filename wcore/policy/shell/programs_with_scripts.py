"""Programs whose operands are a small language: `find`, `sed`, `awk`, and old-style `tar`.

An expression or script is covered only where all of it is known to read and print. In doubt: asks.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from wcore.policy.shell.arguments import ArgumentReader, certain_beginning
from wcore.policy.shell.known_options import KNOWN_OPTIONS
from wcore.policy.shell.model import Word
from wcore.policy.shell.option_specs import option_spec

_FIND_TESTS: Final = frozenset(
    "-H -L -P ( ) ! , -a -and -o -or -not -true -false -print -print0 -prune -depth -d -mount -xdev"
    " -daystart -follow -noleaf -ignore_readdir_race -noignore_readdir_race -empty -readable"
    " -writable -executable -nouser -nogroup -ls -quit -nowarn -warn -E -X -x -s".split()
)
_FIND_VALUED: Final = frozenset(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype"
    " -size -maxdepth -mindepth -mtime -atime -ctime -mmin -amin -cmin -newer -anewer -cnewer"
    " -newermt -newerat -newerct -perm -user -group -uid -gid -inum -links -samefile -fstype -used"
    " -regextype -context -printf".split()
)
_SED_OPTIONS: Final = option_spec(
    "-nErsuz -e: --quiet --silent --expression= --regexp-extended --separate --unbuffered"
    " --null-data --posix --debug --sandbox !-i? !--in-place=? !-f: !--file="
)
_SED_ADDRESS: Final = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/[IM]*)"
_SED_COMMAND: Final = re.compile(
    rf"[ \t]*(?:{_SED_ADDRESS}(?:,[ \t]*(?:{_SED_ADDRESS}|[+~]\d+))?)?[ \t]*!?[ \t]*"
    r"(?:[dDgGhHxnNpPlz=F]|[qQ]\d*|:[ \t]*\w+|[btT][ \t]*\w*"
    r"|(?P<at>[sy])(?P<mark>[^\w\s\\;{}])(?:\\.|(?!(?P=mark))[^\\\n])*(?P=mark)"
    r"(?:\\.|(?!(?P=mark))[^\\\n])*(?P=mark)[gpiIM0-9]*|[{}])?[ \t]*(?:[;\n}]|$)"
)
_SED_EXPRESSION: Final = re.compile(r"-[nErsuz]*e|--expression(?==|$)")
_AWK_OPTIONS: Final = option_spec(
    "-Fv: --field-separator= --assign= --posix --re-interval --traditional --sandbox --csv !-f:"
    " !--file= !-E: !--exec= !-i: !--include= !-l: !--load= !-o? !--pretty-print=? !-p?"
    " !--profile=? !-d? !--dump-variables=? !-D? !--debug=? !-e: !--source= !-W:"
)
_AWK_DOUBT: Final = re.compile(
    r"system|getline|@|(?<!\|)\|(?!\|)|print.*>|close|fflush|extension|/inet|\\\n", re.DOTALL
)
_AWK_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_TAR: Final = option_spec(KNOWN_OPTIONS["tar"])

Check = Callable[[Sequence[Word], int], Word | None]


def _in_find(words: Sequence[Word], granted: int) -> Word | None:
    """Every word of the expression must be a test; values of tests may be computed if quoted."""
    value_next = False
    named = {word.value for word in words[:granted]}
    for at, word in enumerate(words):
        text = certain_beginning(word)
        if value_next and not (word.loose and not text):
            value_next = False
            continue
        value_next = not word.dynamic and text in _FIND_VALUED
        harmless = value_next or text in _FIND_TESTS or text in named
        if word.dynamic:
            harmless = text != "" and not text.startswith(("-", "(", ")", "!", ","))
        elif not text.startswith("-"):
            harmless = True
        if not harmless and at >= granted:
            return word
    return None


def _in_sed(words: Sequence[Word], granted: int) -> Word | None:
    """Scripts must be words of their own, behind `-e` or the first operand."""
    problem = ArgumentReader(words, _SED_OPTIONS, granted).find_uncovered()
    if problem is not None:
        return problem
    options = [at for at, word in enumerate(words) if _SED_EXPRESSION.match(word.value)]
    scripts = [at + 1 for at in options if _SED_EXPRESSION.fullmatch(words[at].value)]
    if not options:
        scripts = [at for at, word in enumerate(words) if not word.value.startswith("-")][:1]
    elif len(scripts) < len(options) or set(scripts) & set(options):
        return words[options[-1]]
    for at in scripts:
        if granted <= at < len(words) and (words[at].dynamic or not _only_edits(words[at].value)):
            return words[at]
    return None


def _only_edits(script: str) -> bool:
    """Whether a script of sed neither runs, reads nor writes anything but its input."""
    at = 0
    while at < len(script):
        match = _SED_COMMAND.match(script, at)
        if match is None or match.end() == at:
            return False
        in_brackets = r"\[[^\]]*" + re.escape(match["mark"] or "/")  # not all end there
        if re.search(in_brackets, match[0]):
            return False
        at = match.end()
    return True


def _in_awk(words: Sequence[Word], granted: int) -> Word | None:
    """Options end at the program text; what follows are files and assignments."""
    reader = ArgumentReader(words, _AWK_OPTIONS, granted)
    problem = reader.find_uncovered(only_options=True)
    if problem is not None:
        return problem
    for at in range(max(reader.at, granted), len(words)):
        word = words[at]
        if at == reader.at and (word.dynamic or _AWK_DOUBT.search(word.value)):
            return word
        if not certain_beginning(word) or _AWK_ASSIGNMENT.match(word.value):
            return word
    return None


def _in_tar(words: Sequence[Word], granted: int) -> Word | None:
    first = words[0] if words else None
    if first is not None and not first.value.startswith("-"):
        computed = first.dynamic and granted < 1
        harmful = any(f"-{letter}" in _TAR.asks for letter in first.value)
        if computed or (harmful and granted < 1):
            return first
        words, granted = words[1:], max(granted - 1, 0)
    return ArgumentReader(words, _TAR, granted).find_uncovered()


_AWKS: Final = ("awk", "gawk", "mawk", "nawk")
#: Each takes the words after the program, and how many of them stand in the grant.
SCRIPT_CHECKS: Final[Mapping[str, Check]] = {
    "find": _in_find,
    "sed": _in_sed,
    **dict.fromkeys(_AWKS, _in_awk),
    "tar": _in_tar,
}
#: What the prefix of such a program does not cover, for people.
SCRIPT_EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "find": ("-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprintf", "-fls"),
    "sed": ("-i", "--in-place", "-f", "commands w, e, r and s///w"),
    **dict.fromkeys(_AWKS, ("-f", "-i", "-l", "system()", "print >", "| getline")),
    "tar": tuple(_TAR.asks),
}
