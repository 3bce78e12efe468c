"""Makes shell texts: everything bash has a notation for, joined in every way, some of it broken.

A text is made from one seed and always the same. `tame` texts keep to what a gate may cover, with
all the odd words and joints that are allowed; `wild` ones mix in what it must not; then some are
damaged by a character or two. `touch` stands for what no grant covers.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

GRANT_SETS: Final = (
    ("make",),
    ("make", "echo", "ls", "head", "grep "),
    ("git log", "git status", "git commit -m", "wc"),
    ("cargo {build,test}:*", "echo", "printf", "true", "false"),
    ("cd", "make", "pwd", "./run.sh", "cat"),
    ("[", "test", "printf ", "echo", ":", "exit", "type", "kill -0"),
    (
        "timeout 5 make",
        "env make",
        "env A=1 make",
        "xargs ls",
        "bash noop.sh",
        "nohup make",
        "make",
    ),
    ("CC=gcc make", "A=1 B=2 make", "make", "X=1 printf", "echo"),
)
NAMES: Final = (
    "NAME FLAGS EMPTY EVIL PROMPTY SEMI STAR LINES2 ASSIGN DASHES HOME UNSET PATH".split()
)
PLAIN: Final = (
    "a all -j4 --x=y a.txt src/main.rs x=1 A=b -v -n -- - + % 1 2 0 {} [x] a,b a:b @ ^ ] = == ! "
    "!x in do done then time { } if in.txt a#b -e %s %n HEAD~1 HEAD^ stash@{0} X=~/a a=b:c"
).split()
ODD: Final = (
    *"!#%^=+@:,./-_~?*[]{}",
    *"éß中ñ→🎉½",
    *("e\u0301", "\\\n", "  ", "\t", "\ufe0f", "字\\", "ž", "\uff1b", "\u037e", "\uff5c", "\uff06"),
    *("\u201c", "\u2019"),
)
FORBIDDEN: Final = (
    "\r \x00 \x01 \x0b \x0c \x1b \x7f \x85 \xa0 "
    "\u200b \u2028 \u202e \u3000 \ufeff \ue000 \ud800 \udc5c"
).split(" ")
INERT_IN_SINGLE: Final = (
    '; touch s ;|$(touch s)|`touch s`|${x:-$(touch s)}|"|\\|\\\\|\n|\n\n|#|&&|\\n|%s|%n|a b|'
    "<(x)|>x|}|{|~|*|!|x[$(pwn)]"
).split("|")
INERT_IN_DOUBLE: Final = (
    "; touch s ;|\\$(touch s)|\\`touch s\\`|'|\\\"|\\\\|\n|#|&&|%s|%n|a b|<(x)|>x|}|{|~|*|!|"
    "$NAME|${EVIL}|$?|\\n|\\a|\\\n|$SEMI|${PROMPTY}"
).split("|")
REDIRECTS: Final = (
    "2>&1|>&2|1>&2|>/dev/null|2>/dev/null|&>/dev/null|>>/dev/null|</dev/null|> /dev/null|"
    "<in.txt|< ./a.txt|<\ta.txt|2> /dev/null|3>&1|0<in.txt|<src/lib.rs"
).split("|")
JOINTS: Final = (
    *(";", "; ", "\n", "\n\n", " && ", "&&", "||", " || ", " | ", "|", " ;\t", " &&\n"),
    *(" ||\n  ", "\n# c\n", " # c\n", ";\n", " |\n"),
)

WILD_WORDS: Final = (
    '$(touch s)|`touch s`|"$(touch s)"|"`touch s`"|${x:-$(touch s)}|${x:=y}|${!EVIL}|'
    "${PROMPTY@P}|$((EVIL))|$[EVIL]|$'touch'|$'\\''|$\"x\"|<(touch s)|>(touch s)|~root|~+|"
    'X=~root|a=b:~root|${|${}|${ touch s; }|"${|\'${|$(|`|"|\'|\\|$|$$|$1|$@|"$"|a$|(|)|'
    "(touch s)|{a,`b`}|{a,\"b|{',}|{~root,x}|{$(touch s),b}|~{root,x}|{~,x}|{\\`touch s\\`,y}|"
    "$N{AME,x}|{a..z}|{Z..a}|{1..3}|~$NAME|!(x)|@(a|b)|\"a\"<(touch s)|'a'$(touch s)'b'|"
    "${NAME:EVIL}|${a[EVIL]}|$\\\n(touch s)|$\\\n{EVIL}|\\$(touch s)"
).split("|")
WILD_REDIRECTS: Final = (
    ">out|>>out|2>out|&>out|>&out|>|out|<>in.txt|{fd}>out|<<<x|<<<$(touch s)|<<X\nb\nX\n|"
    "<<X\n$(touch s)\nX\n|>/dev/nullx|>/dev/null/../x|>&2x|</dev/tcp/127.0.0.1/9|"
    ">/dev/udp/127.0.0.1/9|<$NAME|<~root|<'in.txt'|>'/dev/null'x|2>&-|<&3|>&$NAME|1>2|"
    "<(touch s)|> >(touch s)|<<'X'\nX\ntouch s\nX|</proc/x"
).split("|")
WILD_COMMANDS: Final = (
    "touch s|rm x|X=1|PATH=evil|export X=1|eval touch|. ./lib.sh|exec touch s|alias make=touch|"
    "a[0]=1|printf -v X y|test -v 'x[$(pwn)]'|[ -v x[$EVIL] ]|printf '%n' X|read X|"
    "trap 'touch s' EXIT|set -a|make() { touch s; }|hash -p /x make|./cargo|$NAME x|'make' x|"
    "\\make|m''ake|{make,touch} s|make\\|X=1 make|PATH=evil make|CC=gcc touch s|time make|"
    "! make|cd evil|./run.sh|env touch s|bash -c touch|timeout 5 touch s|xargs touch|let x=1|"
    "unset PATH|~/make|coproc make|*|?ake|makefoo|#|{}|:|builtin :"
).split("|")
WRAPPERS: Final = (
    "({})|{{ {}; }}|if {}; then make; fi|while {}; do break; done|for i in a; do {}; done|! {}|"
    "time {}|case a in a) {};; esac|f() {{ {}; }}|[[ a ]] && {}|(( 1 )) || {}|coproc {}|"
    "eval '{}'|$({})|`{}`|x=$({})|echo \"$({})\"|<({})|until {}; do break; done|{} &|{} | ({})"
).split("|")
WILD_JOINTS: Final = (
    " & ",
    "&",
    "|&",
    ";;",
    ";&",
    " ;; ",
    "&\\\n",
    "|\\\n|",
    "&\\\n&",
    "\r\n",
    "\u2028",
    "\\\n",
    "\\\r\n",
    "; ;",
    "&&&",
    "|||",
    "\x0b",
    "\xa0",
    ";#",
    "#",
)
#: Joined without any grammar, these meet in ways that nobody thought of.
SOUP: Final = (
    *"~/:=+-.,%@!^_*?[]{}'\"\\$#<>&|; \t\n12aZnvRT",
    *("root", "~root", "X=", "X+=", "$NAME", "${EMPTY}", "\\\n", "''", '""', "..", ",", "{", "}"),
    *("/dev/null", "in.txt", ">&2", "2>&1", "<", ">/dev/null", "&&", "||", "|", "-v", "%n", "%s"),
    *("x[$(pwn)]", "'x[$(pwn)]'", '"$EVIL"', "$DASHES", "make", "\\ ", "'~'", '"$?"', "\\$", "é"),
)


@dataclass(frozen=True, slots=True)
class Made:
    """A text to decide, and the grants to decide it under."""

    text: str
    grants: tuple[str, ...]


class Maker:
    """Makes texts from one seed."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)
        self._wild = 0.0
        self._heads: Sequence[str] = ()

    def make(self) -> Made:
        """Return the next text."""
        grants = self._random.choice(GRANT_SETS)
        self._heads = [head for grant in grants for head in _spelled(grant)]
        self._wild = self._random.choice((0.0, 0.0, 0.0, 0.02, 0.1, 0.4))
        text = self._soup() if self._chance(0.25) else self._list()
        if self._wild > 0 and self._chance(0.12):
            text = self._wrapped(text)
        if self._chance(0.12):
            text = self._damaged(text)
        return Made(text, grants)

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _pick(self, tame: Sequence[str], wild: Sequence[str]) -> str:
        return self._random.choice(wild if self._chance(self._wild) else tame)

    def _soup(self) -> str:
        count = self._random.choice((1, 2, 3, 4, 5, 6, 8, 11))
        pieces = self._random.choices(SOUP, k=count)
        return self._random.choice(self._heads) + " " + "".join(pieces)

    def _list(self) -> str:
        text = self._random.choice(("", "", "", " ", "\n", "# c\n", "\t", "\\\n")) + self._command()
        while self._chance(0.45) and len(text) < 2000:
            text += self._pick(JOINTS, WILD_JOINTS) + self._command()
        return text + self._random.choice(("", "", "", "", "\n", ";", " ", " # c", " #'", "\\\n"))

    def _command(self) -> str:
        if self._chance(self._wild):
            return self._random.choice(WILD_COMMANDS)
        parts: list[str] = []
        if self._chance(0.05):
            parts.append(self._redirect())
        parts.append(self._random.choice(self._heads))
        while self._chance(0.62):
            parts.append(self._redirect() if self._chance(0.15) else self._word())
        blanks = self._random.choice((" ", " ", " ", "  ", "\t", " \\\n", "\\\n "))
        return blanks.join(parts)

    def _redirect(self) -> str:
        return self._pick(REDIRECTS, WILD_REDIRECTS)

    def _word(self) -> str:
        if self._chance(self._wild):
            return self._random.choice(WILD_WORDS)
        return "".join(self._piece() for _ in range(self._random.choice((1, 1, 1, 2, 2, 3, 4))))

    def _piece(self) -> str:
        makers: tuple[Callable[[], str], ...] = (
            self._plain, self._plain, self._single, self._single, self._double, self._double,
            self._escape, self._variable, self._odd, self._braces,
        )  # fmt: skip
        return self._random.choice(makers)()

    def _plain(self) -> str:
        return self._pick(PLAIN, WILD_WORDS)

    def _single(self) -> str:
        return "'" + "".join(self._some(INERT_IN_SINGLE)) + "'"

    def _double(self) -> str:
        inside = self._some(INERT_IN_DOUBLE)
        return '"' + "".join(inside) + self._pick(("",), WILD_WORDS) + '"'

    def _escape(self) -> str:
        return "\\" + self._random.choice(list("$`\"'\\;|&<>()#~ \n\ta*?[]{}!é中=-%"))

    def _variable(self) -> str:
        name = self._random.choice(NAMES)
        return self._pick((f"${name}", f"${{{name}}}", "$?"), WILD_WORDS)

    def _odd(self) -> str:
        return self._pick(ODD, FORBIDDEN)

    def _braces(self) -> str:
        inside = ",".join(self._random.choice((*PLAIN, "", "'a'", '"b"', "\\", "~", "$NAME"))
                          for _ in range(self._random.choice((1, 2, 2, 3))))  # fmt: skip
        return self._random.choice(("{%s}", "[%s]", "{%s", "%s}", "{1..3}%s")) % inside

    def _some(self, pieces: Sequence[str]) -> list[str]:
        return self._random.choices(pieces, k=self._random.choice((0, 1, 1, 2, 3)))

    def _wrapped(self, text: str) -> str:
        shape = self._random.choice(WRAPPERS)
        return shape.replace("{{", "\0").replace("}}", "\1").replace("{}", text).replace(
            "\0", "{"
        ).replace("\1", "}")  # fmt: skip

    def _damaged(self, text: str) -> str:
        for _ in range(self._random.choice((1, 1, 2))):
            at = self._random.randrange(len(text) + 1)
            end = at + self._random.choice((0, 0, 1, 1, 3))
            text = (
                text[:at] + self._random.choice((*ODD, *"'\"\\$`(){}<>|&;\n #=", "")) + text[end:]
            )
        return text


def _spelled(grant: str) -> list[str]:
    """Return the command beginnings that a grant text stands for."""
    body = grant.removesuffix(":*").strip()
    head, brace, rest = body.partition("{")
    middle, _, tail = rest.partition("}")
    return [head + part + tail for part in middle.split(",")] if brace else [body]
