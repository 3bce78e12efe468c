"""The files that a shell text names: what it may run, and where it leads. Pure, best effort.

A file that a program finds by itself, or that only the shell can name (`./b*.sh`, `$X`), is not
among them.
"""

import posixpath
import re
from itertools import pairwise
from typing import Final

from msgspec import Struct

from wcore.policy.shell.characters import ASSIGNMENT
from wcore.policy.shell.model import Analysis, SimpleCommand
from wcore.policy.shell.runners import command_words, is_runner, program
from wcore.policy.shell.word_parts import QUOTES

ROUGH_CHARS_MAX: Final = 256 * 1024  # twice what Linux passes to a program as one argument
MODULES_MAX: Final = 4  # words of a command that are completed: each costs 22 looks in each folder
GLUED_MAX: Final = 4  # letters of options in one word before a name
FOLDERS_MAX: Final = 8  # that a text goes to with `cd`: each word may be in any of them

#: Programs that run the files they are given, beside those that run other programs.
_RUN_FILES: Final = frozenset(
    ". source python pypy node nodejs deno bun tsx ts-node perl ruby php lua tclsh osascript"
    " Rscript R octave awk gawk mawk nawk sed java go uv poetry pdm hatch make gmake just task rake"
    " sqlite3 psql mysql mariadb vi vim nvim ex ed gdb lldb expect m4 bc gnuplot".split()
)
#: What runtimes complete a name to: `node x` reads `x.js`, `python -m a.b` reads `a/b.py`.
_COMPLETED: Final = (
    ".js .mjs .cjs .ts .json .py /index.js /index.ts /package.json /__main__.py /__init__.py"
).split()
#: What is followed by the folder in which later words lie.
_GOING: Final = frozenset("cd pushd".split())
_GOING_LONG: Final = "--directory --chdir --cwd --prefix --workdir".split()
_GOING_SHORT: Final = re.compile(r"-[A-Za-z0-9]*?C(.*)", re.DOTALL)
_MODULE_OPTION: Final = re.compile(r"^-[A-Za-z]*?m(?=.)")
_ABBREVIATED_MIN: Final = len("--c")  # of a long option
_BETWEEN: Final = re.compile(r"[\s;&|(){}]+")
_QUOTED_WORD: Final = re.compile(
    r"""(?:[^\s;&|(){}'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*"|['"\\])+""", re.DOTALL
)
_BETWEEN_ROUGH: Final = re.compile(r"[\s;|&<>()=`${},:]+")
_BETWEEN_OR_QUOTES: Final = re.compile(r"[\s;|&<>()=`${},:'\"\\]+")
_CD_OPTION: Final = re.compile(r"|--|-[LPe@]+")
#: What stands in front of a name that is run: `alias.x=!./x`, `|./x`, `< x`, and the folder itself.
_BEFORE_NAMES: Final = re.compile(r"[!|@<>]+|(?:\$(?:PWD|\{PWD\})|/proc/self/cwd)/+")


def rough_words(text: str) -> list[str]:
    """Return what might be words of `text`, each once, in order of appearance.

    Quotes and backslashes are taken away in one reading and separate words in another. Linear
    in the first `ROUGH_CHARS_MAX` characters; the rest is not read.
    """
    text = text[:ROUGH_CHARS_MAX].replace("\\\n", "")
    joined = _BETWEEN_ROUGH.split(QUOTES.sub("", text))
    parted = _BETWEEN_OR_QUOTES.split(text)
    # `${x:-rm}`; the option of `docker run --rm` is no name
    bare = (word.lstrip("-+?") for word in parted if not word.startswith("--"))
    return [word for word in dict.fromkeys([*joined, *parted, *bare]) if word]


class Mentions(Struct, frozen=True):
    """Names of files, absolute, from home (`~/`), or from the workspace; few of them exist.

    `run` may be read as code; `named` are all others, run only if they can be executed.
    """

    run: frozenset[str]
    named: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.run or self.named)


def mentions_of(analysis: Analysis) -> Mentions | None:
    """Return the files that a text names; `None` if there may be too many of them.

    Of a text that is not understood, every word may be a file that it runs, if it runs any.
    """
    goes_to = folders_gone_to(analysis.text)
    if len(goes_to) > FOLDERS_MAX:
        return None
    folders = working_folders(goes_to)
    if analysis.reason is not None:
        words = rough_words(analysis.text)
        run = set(words) if any(map(_runs_files, words)) else set[str]()
        return Mentions(_in_each(folders, run), _in_each(folders, set(words)))
    run, named = set[str](), set[str]()
    reads_input = False  # of a program that runs what it reads
    for command in analysis.commands:
        head, rest = _parts(command)
        run |= _handed_on([word.value for word in command.words])
        named |= _names(rest)
        named.add(head)
        if _runs_files(head):
            run |= _names(rest)
            run.update(name for word in rest for name in rough_words(word))
            run.update(name + ending for name in _modules(rest) for ending in _COMPLETED)
            reads_input = reads_input or all(word.startswith("-") for word in rest)
        named.update(each.target.value for each in command.redirects)
    if "<<" in analysis.text:  # `make -f - <<< 'x: ; ./x.sh'`
        run.update(rough_words(analysis.text))
    if reads_input:  # `cat x.sh | sh`
        run |= named
    return Mentions(_in_each(folders, run), _in_each(folders, named - run))


def folders_gone_to(text: str) -> list[str]:
    """Return the operands of `cd` and of options like `-C`, wherever in the text they stand.

    The text is read with its quotes (`cd 'a b'`) and without (`sh -c 'cd a; ./x'`).
    """
    quoted = [QUOTES.sub("", word) for word in _QUOTED_WORD.findall(text)]
    plain = [QUOTES.sub("", word) for word in _BETWEEN.split(text)]
    found = _operands(quoted)
    return found if quoted == plain else [*found, *_operands(plain)]


def _operands(words: list[str]) -> list[str]:
    words = [word for word in words if not _CD_OPTION.fullmatch(word)]
    found: list[str] = []
    for word, behind in pairwise([*words, ""]):
        name, has_value, value = word.partition("=")
        short = _GOING_SHORT.fullmatch(word)
        if short is not None:
            found += [short[1] or behind]
        elif word in _GOING or (len(name) >= _ABBREVIATED_MIN and _is_going(name)):
            found += [value if has_value else behind]
    return [to for to in found if to and not to.startswith("-")]


def _is_going(option: str) -> bool:
    return any(long.startswith(option) for long in _GOING_LONG)


def working_folders(goes_to: list[str]) -> list[str]:
    """Return the folders in which words may lie, the first one `""`.

    Each leads on from all before it, from the last one alone, or from the first folder.
    """
    found, here, last = [""], "", ""
    for to in goes_to:
        here = posixpath.join(here, to)
        found += [here, posixpath.join(last, to), to]
        last = to
    return list(dict.fromkeys(found))


def _runs_files(head: str) -> bool:
    return is_runner(head) or program(head) in _RUN_FILES


def _parts(command: SimpleCommand) -> tuple[str, list[str]]:
    """Return the head of a command and its further words, assignments left out."""
    values = tuple(word.value for word in command.words)
    head, *rest = command_words(values) or values[-1:]
    return head, rest


def _handed_on(words: list[str]) -> set[str]:
    """Return what a variable or a text may name to a program that runs it.

    `BASH_ENV=x`, `export LD_PRELOAD=x`; a word with blanks: `eval 'sh x'`, `sqlite3 db '.read x'`.
    """
    assigned = [word[found.end() :] for word in words if (found := ASSIGNMENT.match(word))]
    texts = [*assigned, *(word for word in words if " " in word)]
    return {name for text in texts for name in (text, *rough_words(text)) if name}


def _names(words: list[str]) -> set[str]:
    """Return the words, and what else they name: `--rcfile=x`, `-fx`, `-qec./x`."""
    short = [word for word in words if word.startswith("-")]
    glued = (word[at:] for word in short for at in range(2, GLUED_MAX + 2))
    values = (cut[2] for word in words for cut in (word.partition("="), word.rpartition("=")))
    return {*words, *values, *glued} - {""}


def _modules(words: list[str]) -> set[str]:
    """Return the first words that may be names without their endings, of modules too."""
    given = (_MODULE_OPTION.sub("", word) for word in words)  # `-mjson.tool`
    plain = [word for word in given if word and not word.startswith("-")][:MODULES_MAX]
    return {*plain, *(word.replace(".", "/") for word in plain)}


def _in_each(folders: list[str], names: set[str]) -> frozenset[str]:
    bare = {_BEFORE_NAMES.sub("", name, count=1) for name in names if _BEFORE_NAMES.match(name)}
    return frozenset(
        name if name.startswith("~") else posixpath.join(folder, name)
        for folder in folders
        for name in (names | bare) - {""}
    )
