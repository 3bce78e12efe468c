"""Walks through the commands of a shell text and tells every path that they name."""

import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from wcore.policy.protected import Places, is_own
from wcore.policy.shell.builtins import renames
from wcore.policy.shell.input_scripts import (
    printed,
    puts_input_into_words,
    reads_here,
    runs_its_input,
)
from wcore.policy.shell.paths import handed
from wcore.policy.shell.paths.expansion import RESERVED, expanded, fields
from wcore.policy.shell.paths.ignored_words import is_afar
from wcore.policy.shell.paths.mention import Mention, MentionScan
from wcore.policy.shell.paths.roles import Role, roles
from wcore.policy.shell.paths.scope import Scope
from wcore.policy.shell.paths.searches import found_by
from wcore.policy.shell.paths.spelled import EDITORS, spelled
from wcore.policy.shell.paths.sweeps import sweep_of, trees
from wcore.policy.shell.paths.transfers import transfer
from wcore.policy.shell.paths.values import ANY, HOLES, NAME, literal
from wcore.policy.shell.reading import ReadCommand, Redirection, from_program, words
from wcore.policy.shell.reasons import Reason
from wcore.policy.shell.word_parts import ASSIGNMENT, ReadWord
from wcore.policy.stops import DEPTH_MAX, FUNCTION, program

READ_CHARS_MAX: Final = 64 * 1024  # of a text; a longer one is more than a card shows
MENTIONS_MAX: Final = 1024  # paths of one text; more is asked about
WORDS_MAX: Final = 256  # that a command reads from its input; more is asked about
SPELLED_MAX: Final = 512  # within the words of one text
SOURCE_CHARS_MAX: Final = 200  # of a word that is told to people

_NO_PATHS: Final = frozenset(["IFS", "PATH"])  # characters, and folders that nothing reads
_DECLARERS: Final = frozenset("declare typeset local export readonly env".split())
_MOVERS: Final = frozenset("cd pushd popd".split())
_NO_DOUBT: Final = (None, Reason.FORBIDDEN_CHARACTER, Reason.BRACE)  # of what a text names
_ATTACHED: Final = (
    re.compile(r"-[A-Za-z](.+)", re.DOTALL),
    re.compile(r"-[A-Za-z0-9]{2,}([./~].*)", re.DOTALL),  # `tar -cf./x`
)
#: Options by which a program goes to another folder before it reads its words.
_FOLDER: Final = re.compile(
    r"(?:-[A-Za-z0]*C|-D|--(?:directory|dir|cd|cwd|chd?i?r?|project|prefix|workdir|wd|output-dir))"
    r"=?(.*)"
)
_FOLDER_OF_EACH: Final = ("-execdir", "-okdir")  # of `find`
_MARK: Final = re.compile(r"(?:-[A-Za-z0]*[Ii]|--replace=?)(.*)")  # `xargs -I{}`
#: They evaluate subscripts in their words, quoted or not.
_SUBSCRIPTS: Final = _DECLARERS | frozenset(
    "getopts let unset wait read mapfile readarray printf test [ [[".split()
)
_SUBSCRIPT: Final = re.compile(r"\[.*(?:\$\(|`)", re.DOTALL)
_COMMAND_WITHIN: Final = re.compile(r"\$\(|`")
#: `${ command; }`, and what is none; what has words of the text itself, or makes two of one.
_NO_VARIABLE: Final = re.compile(
    r"\$\{[^\w@*#?$!-]|\$\{?[!#]?(?:BASH_(?:EXECUTION_STRING|COMMAND|ARG\w+)|DIRSTACK|IFS)\b"
)
_BLANKS: Final = re.compile(r"[\s\0\"']+")
_EXPANDED_TWICE: Final = frozenset("$`~*?[{\\'\"")

_Argument = tuple[ReadWord, str]  # a word, and one of the values that it may have
_Placed = tuple[int, int, ReadCommand]  # where a command begins and ends


def mentions_of(command: str, places: Places, environ: Mapping[str, str] | None) -> MentionScan:
    """Return the paths that a text names when it is run; `None`: an unknown environment.

    Never raises; time is linear in the text.
    """
    if len(command) > READ_CHARS_MAX:
        return MentionScan((), lost=True)
    text = RESERVED.sub("\ufffd", command)
    walk = _Walk(text, places, environ, [places.workspace])
    walk.read(text, 0)
    if any(is_own(folder, places) for folder in walk.visited):  # loops and traps come back there
        walk = _Walk(text, places, environ, walk.visited)
        walk.read(text, 0)
    found = tuple(walk.found)
    is_lost = walk.lost or len(found) > MENTIONS_MAX or text != command
    return MentionScan(found[:MENTIONS_MAX], is_lost)


class _Walk(Scope):
    """Follows the commands of a text, and of those that it hands to a shell."""

    def __init__(
        self, command: str, places: Places, environ: Mapping[str, str] | None, folders: list[str]
    ) -> None:
        super().__init__(command, places, environ, folders)
        self.found: dict[Mention, None] = {}
        self.lost = False
        self._has_input = any(sign in command for sign in ("|", "<", ">("))
        self._has_functions = FUNCTION.search(command) is not None
        self._seen: set[tuple[str, ...]] = set()
        self._left = 4 * READ_CHARS_MAX  # characters of texts that are handed on
        self._spelled = 0

    def read(self, text: str, depth: int) -> None:
        """Note what a text names; one within another is read `depth` levels down."""
        key = (text, *self.folders)
        if key in self._seen:
            return
        self._seen.add(key)
        self._left -= len(text)
        if depth > DEPTH_MAX or self._left < 0:
            self.lost = True
            return
        reading = words(text)
        self.lost = self.lost or reading.doubt not in _NO_DOUBT
        placed = sorted(map(_placed, reading.commands), key=lambda each: each[:2])
        self._follow(deque(placed), len(text) + 1, text, depth)

    def _follow(self, placed: deque[_Placed], until: int, text: str, depth: int) -> None:
        """Note what commands name that begin before a place: those within others first."""
        at: int | None = None
        while placed and placed[0][0] < until and len(self.found) <= MENTIONS_MAX:
            begin, end, command = placed.popleft()
            if at is not None:
                self.between(text[at:begin])
            kept = self.folders, self.failed
            self._follow(placed, end, text, depth)
            self.folders, self.failed = kept
            self._command(command, depth)
            at = end

    # --- one command ----------------------------------------------------------------------------

    def _command(self, command: ReadCommand, depth: int) -> None:
        given = list(command.words)
        holes = (part.text for word in given for part in word.parts if not part.is_known)
        self.lost = self.lost or any(map(_NO_VARIABLE.match, holes))
        if command.is_pattern or (given and given[0].bare == "function"):
            return
        if given and given[0].bare in ("for", "select"):
            self._loop(given)
            given = []
        behind = from_program(given)
        before = given[: len(given) - len(behind)]
        self.lost = self.lost or any(word.bare == "coproc" for word in before)
        argv = [(word, value) for word in behind for value in expanded(word, self)
                if value or not word.is_bare]  # fmt: skip
        for redirection in command.redirections:
            self._redirected(redirection)
        for word in before:
            if ASSIGNMENT.match(word.bare):
                self._assign(word, lasts=not argv)
        if argv and not given[0].bare.startswith("(("):
            self._run(argv, command, depth)

    def _run(self, argv: list[_Argument], command: ReadCommand, depth: int) -> None:
        literals = _known(argv)
        if puts_input_into_words(literals):
            argv = _with_marks_open(argv)
            literals = _known(argv)
        texts, more = self._input(command, argv, literals)
        self._arguments([*argv, *((argv[-1][0], each) for each in more)])
        if not more and not handed.runs_shell(literals):
            like = self._like(argv[0][0], roles([*literals, "x"])[-1])
            for text in texts:
                self._spell(text, like, by_editor=_is_editor(literals), is_input=True)
        self._change(argv, literals)
        self._hand(argv, literals, texts, command, depth)

    def _loop(self, given: Sequence[ReadWord]) -> None:
        found: list[str] = []
        for word in given[3:]:
            values = expanded(word, self)
            self._mention(word, values, self._like(word, Role.READ))
            found += values
        if len(given) > 1:
            self.assign(given[1].value, found or [ANY])

    def _assign(self, word: ReadWord, *, lasts: bool = True) -> None:
        """Note an assignment; it does not last in front of a command."""
        begin = word.bare.partition("=")[0]
        name = begin.rstrip("+").partition("[")[0]
        values = [each.partition("=")[2] for each in expanded(word, self)]
        if word.bare.startswith("=~", len(begin)):
            name_of = word.bare[len(begin) + 2 :].partition("/")[0]
            behind = (each.removeprefix("~" + name_of) for each in values)
            values = [home + each for each in behind for home in self.tilde(name_of)]
        if word.parts[-1].text.startswith("(") and not word.parts[-1].is_known:
            inner = (each for command in words(word.parts[-1].text[1:-1]).commands
                     for each in command.words)  # fmt: skip
            values = [ANY, *(value for each in inner for value in expanded(each, self))]
        self.lost = self.lost or renames([name]) or name == "BASH_ENV"
        self.lost = self.lost or any(map(_COMMAND_WITHIN.search, values))  # arithmetic runs it
        like = self._like(word, Role.UNKNOWN)
        if name not in _NO_PATHS:
            self._mention(word, [*values, *fields(values)], like)
        for value in values if name.isupper() else ():  # `GIT_EDITOR='rm x' git commit`
            self._spell(value, like, by_editor=False)
        if begin.endswith("+"):
            values = [old + new for old in self.values(name) for new in values]
        values += [] if lasts else self.values(name)
        self.assign(name, [*values, ANY] if "[" in begin else values)

    def _arguments(self, argv: Sequence[_Argument]) -> None:
        literals = _known(argv)
        found, sweep, put = roles(literals), sweep_of(literals), transfer(literals)
        if put is not None and put.to is not None and is_afar(put.program, literals[put.to]):
            put = None
        below = set(trees(literals, put))
        hands_text, by_editor = handed.runs_shell(literals), _is_editor(literals)
        both = list(zip(argv, found, strict=True))
        written = {word.span for (word, _), role in both if role is Role.WRITE}
        kept = self.folders
        self._enter(argv)
        for at, ((word, value), role) in enumerate(both[1:], 1):
            if role is Role.LEFT_OUT or len(self.found) > MENTIONS_MAX:
                continue
            like = self._like(word, Role.WRITE if word.span in written else role)
            filled = put is not None and put.deep and at == put.to
            whole = replace(like, sweep=sweep, tree=at in below, filled=filled)
            if role is not Role.TOLD or literal(value) is not None:
                self._mention(word, [value], whole)
            if not hands_text:
                self._spell(value, like, by_editor=by_editor)
        if put is not None:
            for into in self.absolute(put.target if put.to is None else argv[put.to][1]):
                for word, value in (argv[at] for at in put.sources):
                    self._add(value, replace(self._like(word, Role.WRITE), into=into))
        self.folders = kept
        for value, role in found_by([value for _, value in argv]):
            self._add(value, replace(self._like(argv[0][0], role), spelled=True))

    def _enter(self, argv: Sequence[_Argument]) -> None:
        """Go to the folders that programs among the words may go to, each from the last."""
        for at, (_, value) in enumerate(argv[1:], 1):
            if match := _FOLDER.fullmatch(value):
                self.reach(match[1] or next((each for _, each in argv[at + 1 :]), ""))
            if value in _FOLDER_OF_EACH:
                self.reach(ANY)

    def _change(self, argv: Sequence[_Argument], literals: Sequence[str | None]) -> None:
        """Note what a builtin changes for those behind it."""
        head = argv[0][0]
        is_computed = any(not part.is_known and part.text[0] in "$`" for part in head.parts)
        is_one = sum(word is head for word, _ in argv) == 1
        is_one = is_one and literals[0] is not None and " " not in literals[0]
        at = next((i for i, each in enumerate(literals) if each not in ("command", "builtin")), 0)
        name, values = literals[at], [value for _, value in argv[at + 1 :]]
        runs = name in _SUBSCRIPTS and any(map(_SUBSCRIPT.search, values))
        if (is_computed and not is_one) or runs or renames(literals):
            self.lost = True  # it may be any builtin
        elif name in _MOVERS:
            self.move(name, values)
        elif name in _DECLARERS:
            for word, _ in argv:
                if ASSIGNMENT.match(word.bare):
                    self._assign(word)
        elif name in (".", "source") and not "".join(values).endswith("bin/activate"):
            self.wander()

    # --- texts ------------------------------------------------------------------------------------

    def _input(
        self, command: ReadCommand, argv: Sequence[_Argument], literals: Sequence[str | None]
    ) -> tuple[list[str], list[str]]:
        """Return the texts that a command is given, and the words that it makes of them."""
        texts = [value for each in command.inputs for value in expanded(each, self)]
        before: list[str] = []
        if command.printed_by is not None:
            for word in from_program(command.printed_by.words):
                before += expanded(word, self)[:1]
            texts += filter(None, [printed([literal(value) for value in before])])
            texts += [value for each in command.printed_by.inputs for value in expanded(each, self)]
        if not puts_input_into_words(literals):
            return texts, []
        role = roles([*literals, "x"])[-1]
        for value, _ in found_by(before, role):  # `find … | xargs rm`
            self._add(value, replace(self._like(argv[-1][0], role), spelled=True))
        more = [part for text in texts for part in _BLANKS.split(text) if part] or before[1:]
        self.lost = self.lost or len(more) > WORDS_MAX
        return texts, more[:WORDS_MAX]

    def _hand(
        self,
        argv: Sequence[_Argument],
        literals: Sequence[str | None],
        given: Sequence[str],
        command: ReadCommand,
        depth: int,
    ) -> None:
        """Read again what a shell is given as text, or as its input."""
        texts = handed.texts(literals)
        if runs_its_input(literals):
            if reads_here(literals):
                self.wander()
            printer = command.printed_by
            is_said = printer is None or not (printer.inputs or self._has_functions)
            texts += map(literal, given if is_said and command.words[0].bare != "{" else ["\0"])
            is_script = any(
                each.operator in ("<", "<>") and not each.target.source.startswith("<(")
                for each in command.redirections
            )
            is_lost = self._has_input and not given and not is_script
            self.lost = self.lost or is_lost or puts_input_into_words(literals)
        self.lost = self.lost or None in texts
        kept = self.folders, self.failed
        self._enter(argv)
        for text in filter(None, texts):
            self.read(text, depth + 1)
        if literals[0] != "eval":
            self.folders, self.failed = kept

    # --- paths ------------------------------------------------------------------------------------

    def _redirected(self, redirection: Redirection) -> None:
        operator, word = redirection.operator, redirection.target
        if operator.startswith("<<"):
            return
        self.lost = self.lost or not word.source  # bash will not have it
        values = expanded(word, self)
        for value in (*values, *(fields(values) if "$" in word.source else ())):
            if operator in (">&", "<&"):
                if value.isdigit() or value in ("-", NAME):
                    continue
                if literal(value) is None or _EXPANDED_TWICE & set(value):
                    self.lost = True  # bash expands this word twice, what was quoted too
            if operator.startswith("<"):
                self._add(value, replace(self._like(word, Role.READ), opened=True))
            if operator not in ("<", "<&"):
                self._add(value, replace(self._like(word, Role.WRITE), opened=True))

    def _like(self, word: ReadWord, role: Role) -> Mention:
        source = word.source[:SOURCE_CHARS_MAX]
        return Mention("", role, source, private=self.is_private(word))

    def _mention(self, word: ReadWord, values: Sequence[str], like: Mention) -> None:
        """Note the paths that a word is, or that stand behind an option or a sign in it."""
        whole = replace(like, sweep=None, tree=False, filled=False)
        part_of = replace(whole, is_part=True)
        is_pattern = any(not each.is_known and each.text[0] in "*?[(" for each in word.parts)
        for value in (*values, *(fields(values) if "$" in word.source else ())):
            if not is_pattern and not HOLES.sub("", value):
                value = ANY  # noqa: PLW2901 - of a number or the like
            if not value.startswith("-"):
                self._add(value, like)
            elif "/" in value:  # no option behind `--`
                self._add(value, part_of)
            for option in _ATTACHED:
                attached = option.fullmatch(value)
                if attached and (attached[1] != "/" or like.role is Role.WRITE):  # `awk -F/`
                    self._add(attached[1], part_of)
            for part in value.split("=")[1:]:
                self._add(part, whole)
            for part in re.split("[=:,@]", value):
                if part != value:
                    self._add(part, part_of)

    def _spell(self, text: str, like: Mention, *, by_editor: bool, is_input: bool = False) -> None:
        """Note paths within a text that is given to a program which may read it as a script."""
        if like.role not in (Role.UNKNOWN, Role.WRITE):
            return
        for path, is_written in spelled(text, by_editor=by_editor, is_input=is_input):
            self._spelled += 1
            if self._spelled <= SPELLED_MAX or "/" in path or path.startswith("."):
                role = Role.WRITE if is_written else Role.UNKNOWN
                self._add(path, replace(like, role=role, spelled=True))

    def _add(self, value: str, like: Mention) -> None:
        for path in self.absolute(value, opened=like.opened):
            # Where only the folder is not known, nothing that is empty makes it the root or the
            # home; and `${d:?}` ends the text where it is empty.
            adrift = path[0] == ANY and value[0] != ANY
            sweep = None if adrift or ":?" in like.source else like.sweep
            self.found[replace(like, value=path, adrift=adrift, sweep=sweep)] = None


def _with_marks_open(argv: list[_Argument]) -> list[_Argument]:
    """Return the words with anything in the place of the mark that `xargs` fills."""
    marks, values = {"{}"}, [value for _, value in argv]
    for at, value in enumerate(values):
        if match := _MARK.fullmatch(value):
            marks |= {match[1] or next(iter(values[at + 1 : at + 2]), "{}")}
    marked = re.compile("|".join(map(re.escape, marks)))
    return [(word, marked.sub(ANY, value)) for word, value in argv]


def _known(argv: Sequence[_Argument]) -> list[str | None]:
    return [literal(value) for _, value in argv]


def _is_editor(words: Sequence[str | None]) -> bool:
    """Whether a command may have scripts that write files with `w`."""
    return not EDITORS.isdisjoint(program(each or "") for each in words)


def _placed(command: ReadCommand) -> _Placed:
    spans = [part.span for part in (*command.words, *command.redirections)]
    return min(spans)[0], max(end for _, end in spans), command
