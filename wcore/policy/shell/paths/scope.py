"""What a text and its environment say of variables, and the folders that it may be in."""

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from wcore.policy.protected import Places
from wcore.policy.shell.characters import NAME as VARIABLE
from wcore.policy.shell.paths.values import ANY, NAME, PATH_CHARS_MAX, PATTERN
from wcore.policy.shell.word_parts import ReadWord

FOLDERS_MAX: Final = 16  # that a text may be in; more is anywhere
VALUES_MAX: Final = 64  # of one word; of more it is only known what is literal

_SOMEBODY: Final = f"/~{ANY}"  # a folder of somebody else, outside
_PUBLIC: Final = re.compile(r"HOME|USER|LOGNAME|SHELL|PATH|TMPDIR|PWD|OLDPWD|XDG_\w+")
#: Bash gives them a value by itself.
_COMPUTED: Final = re.compile(
    r"S?RANDOM|SECONDS|LINENO|PPID|E?UID|HOST\w+|MACHTYPE|OSTYPE|SHLVL|FUNCNAME|EPOCH\w+|OPT[AEI]\w+"
    r"|GROUPS|PIPESTATUS|REPLY|MAPFILE|COPROC|PS[1-4]|HIST\w+|TIMEFORMAT|LINES|COLUMNS|SHELLOPTS"
    r"|BASH\w*|COMP_\w+|READLINE_\w+|DIRSTACK|_|[0-9]+|[@*!]"
)
#: Where a name stands that is neither used nor given a value: `read x`, `printf -v x`.
_BARE_NAME: Final = re.compile(rf"(?<![\w$-])(?<!\$\{{)({VARIABLE})(?![\w=]|\+=)")
_USED: Final = re.compile(rf"\$\{{?({VARIABLE})")
_APART: Final = re.compile(r"[\s;|&]*")
_PATTERN_OPTIONS: Final = re.compile(r"dotglob|globstar|GLOBIGNORE|BASHOPTS|extglob|nullglob")


class Scope:
    """What is known at one point of a text; whatever it sets anywhere before counts."""

    def __init__(
        self, command: str, places: Places, environ: Mapping[str, str] | None, folders: list[str]
    ) -> None:
        self.folders = self.visited = folders
        self.failed: list[str] = []  # where it stays if `cd` failed
        options = _PATTERN_OPTIONS.search(" ".join([command, *(environ or ())]))
        self.pattern = NAME if options else PATTERN  # what a file name pattern stands for
        self._environ = environ
        self._home = places.home
        self._assigned: dict[str, list[str]] = {}
        self._bare = frozenset(_BARE_NAME.findall(command))
        self._is_unread = False

    def values(self, name: str) -> Sequence[str]:
        """Return what a variable may hold; unset is empty."""
        fixed = {"PWD": self.folders, "IFS": [" "], **dict.fromkeys("?#$-", (NAME,))}
        if name in fixed:
            return fixed[name]
        given = (self._environ or {}).get(name)
        found = [*self._assigned.get(name, ()), *([] if given is None else [given])]
        if name == "OLDPWD":
            return few([*self.visited, *(found or [""])])
        if name == "HOME" and not found:
            return [self._home]
        if _COMPUTED.fullmatch(name):
            return few([*found, ANY, ""])
        is_unknown = self._environ is None or name in self._bare or self._is_unread
        return few(found) if found else [ANY, ""] if is_unknown else [""]

    def tilde(self, name: str) -> Sequence[str]:
        """Return what `~name` may be."""
        match name:
            case "":
                return [each or self._home for each in self.values("HOME")]
            case "+":
                return self.folders
            case "-":
                return few([*self.visited, *self.values("OLDPWD")])
            case _:
                return [_SOMEBODY]

    def assign(self, name: str, values: Iterable[str]) -> None:
        """Note what else a variable may hold from now on."""
        self._assigned[name] = few([*self._assigned.get(name, []), *values])

    def is_private(self, word: ReadWord) -> bool:
        """Whether a word has something of the environment that is not to be told."""
        names = {name for part in word.parts if not part.is_known
                 for name in _USED.findall(part.text)}  # fmt: skip
        given = names.intersection(self._environ or ())
        return not all(map(_PUBLIC.fullmatch, given))

    def between(self, gap: str) -> None:
        """Come to the next command: behind `&&` the last one did not fail."""
        if gap.strip() != "&&":
            is_plain = _APART.fullmatch(gap) is not None
            self.folders = _few_folders([*self.folders, *self.failed] if is_plain else self.visited)
            self.failed = []

    def move(self, name: str, argv: Sequence[str]) -> None:
        """Follow `cd`, `pushd` and `popd`; whoever fails stays."""
        operands = [each for each in argv if not each.startswith("-") or each == "-"]
        if name == "popd" or operands[:1] == ["-"]:
            to = [*self.visited, *filter(None, self.values("OLDPWD"))]
        elif not operands:
            to = [*(self.tilde("") if name == "cd" else self.visited)]
        else:
            to = [path for each in operands for path in self.absolute(each)]
        if len(operands) > 1 or any(self.values("CDPATH")):
            to.append(ANY)
        if "" in operands:  # it stays in some shells, or goes home
            to += [*self.folders, *self.tilde("")]
        self.failed = _few_folders([*self.failed, *self.folders])
        self.folders = _few_folders(map(posixpath.normpath, to))
        self.visited = _few_folders([*self.visited, *self.folders])

    def wander(self) -> None:
        """Note that code which nobody read was run in this shell."""
        self._is_unread = True
        self.visited = self.folders = _few_folders([*self.visited, ANY])

    def reach(self, to: str) -> None:
        """Note that a program may go to a folder as well before it reads its words."""
        self.folders = _few_folders([*self.folders, *map(posixpath.normpath, self.absolute(to))])

    def absolute(self, value: str, *, opened: bool = False) -> list[str]:
        """Return the absolute paths that a relative one may be; `opened`: by the shell itself.

        A `~` that is left here the shell takes as a name, and programs may take it for the home.
        """
        if not value or value[0] in ("/", ANY):
            return [value] if value else []
        found = [f"{folder.removesuffix('/')}/{value}" for folder in self.folders]
        if not opened and (value == "~" or value.startswith("~/")):
            found += [home + value[1:] for home in self.tilde("")]
        return found


def few(values: Iterable[str]) -> list[str]:
    """Return each once; what is too long or too many may be anything."""
    found = list(dict.fromkeys(v if len(v) <= PATH_CHARS_MAX else ANY for v in values))
    return found if len(found) <= VALUES_MAX else [ANY]


def _few_folders(folders: Iterable[str]) -> list[str]:
    found = list(dict.fromkeys(folders))
    return found if len(found) <= FOLDERS_MAX else [*found[: FOLDERS_MAX - 1], ANY]
