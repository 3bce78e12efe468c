"""What the reader of a shell text finds: events in the order in which bash comes to them."""

from enum import Enum

from msgspec import Struct


class Text(Struct, frozen=True):
    """Literal characters of a word. Unquoted ones may be patterns, braces or a tilde."""

    text: str
    quoted: bool


class Parameter(Struct, frozen=True):
    """`$NAME` or `${NAME…}`. `operator` is what follows the name; `argument` its inner words."""

    name: str
    quoted: bool
    operator: str = ""
    argument: "tuple[Atom, ...]" = ()


class RuntimeValue(Struct, frozen=True):
    """What only running tells. `is_name`: it holds no `/`, as a number or an extended pattern."""

    quoted: bool
    is_name: bool = False
    is_cwd: bool = False  # `$(pwd)`


class ProcessSubstitution(Struct, frozen=True):
    """`<(…)` or `>(…)`: the name of a pipe."""


Atom = Text | Parameter | RuntimeValue | ProcessSubstitution


class Word(Struct, frozen=True):
    """One word. `source` is the text as written; `array` holds the words of `NAME=(…)`."""

    source: str
    atoms: tuple[Atom, ...]
    array: "tuple[Word, ...] | None" = None

    @property
    def literal(self) -> str | None:
        """The word without its quotes, where nothing in it is expanded."""
        found: list[str] = []
        for atom in self.atoms:
            if not isinstance(atom, Text):
                return None
            found.append(atom.text)
        return "".join(found)

    @property
    def begins_bare(self) -> bool:
        """Whether it begins with an unquoted text that holds a `=`."""
        first = self.atoms[0] if self.atoms else None
        return isinstance(first, Text) and not first.quoted and "=" in first.text

    @property
    def is_bare(self) -> bool:
        """Whether it is written without quotes and expansions."""
        return all(isinstance(atom, Text) and not atom.quoted for atom in self.atoms)


class HereDocument(Struct):
    """The body of a here-document, as it is expanded; it follows later in the text."""

    atoms: "tuple[Atom, ...]" = ()


class Redirection(Struct, frozen=True):
    """One redirection that opens a path, or that gives a text. `operator` without the descriptor.

    A text is the `document`, or the `target` of `<<<`.
    """

    operator: str
    target: Word
    document: HereDocument | None = None

    @property
    def gives_text(self) -> bool:
        return self.operator.startswith("<<")

    @property
    def text_atoms(self) -> tuple[Atom, ...]:
        """What the text that it gives is made of."""
        return self.document.atoms if self.document else self.target.atoms


class Command(Struct):
    """A simple command; without words: the redirections of a compound one.

    `before` is the operator in front of it, `after` the one behind it, as far as they matter.
    """

    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...]
    before: str = ";"
    after: str = ""


class Scope(Enum):
    """What a part of a text is run in."""

    SUBSHELL = "subshell"  #: folder and variables end with it
    BRANCH = "branch"  #: it may be run or not
    LOOP = "loop"  #: it may be run again


class Open(Struct, frozen=True):
    """A part begins; `before` is the operator in front of it or of its command."""

    scope: Scope
    before: str = ";"


class Close(Struct, frozen=True):
    """The innermost part ends."""


class ForLoop(Struct, frozen=True):
    """`for NAME in WORDS`; without words nobody knows the values."""

    name: str
    words: tuple[Word, ...] | None
    before: str = ";"


class ArithmeticAssignment(Struct, frozen=True):
    """Arithmetic sets these variables."""

    names: tuple[str, ...]


class FunctionDefinition(Struct, frozen=True):
    """A function is defined: what follows may run at any later time, again and again."""

    name: str


class UnparsedRest(Struct, frozen=True):
    """From here on the text is not understood."""

    at: int


Event = Command | Open | Close | ForLoop | ArithmeticAssignment | FunctionDefinition | UnparsedRest
