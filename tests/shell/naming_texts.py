"""Makes texts that name paths, in all the ways of bash, for a tree that holds what is protected."""

import random
from pathlib import Path
from typing import Final

FILES: Final = (
    *("home/.ssh/id_rsa", "home/.bashrc", "home/.config/wcore/policy.toml", "home/other/x.txt"),
    *("home/ws/.env", "home/ws/.git/config", "home/ws/.wcore/policy.toml", "home/ws/a.txt"),
    *("home/ws/sub/x.txt", "home/ws/sub/.env", "home/ws/sub/deep/.env", "home/ws/src/m.py"),
    *("home/ws/src/id_rsa", "home/ws/wcore", "home/ws/b c.txt", "home/ws/*", "home/ws/~/x"),
)
PROGRAMS: Final = "cat rm cp mv tool tee touch".split()
STUB: Final = "#!/bin/dash\nexit 0\n"

WORDS: Final = (
    *(".env", "./.env", ".//.env", "sub/../.env", "'.env'", '".e"nv', "\\.env", "$'\\x2eenv'"),
    *("$'\\056env'", '$".env"', "{.,}env", "{.env,a.txt}", ".e{n,x}v", "{a,.}{env,git/config}"),
    *(".e*", "[.]env", ".[a-f]nv", ".en?", "*", "s*/*", "*/.env", "src/*", "src/i*", "*.txt"),
    *("~/.ssh/id_rsa", "~/.s*/id_rsa", "~+/.env", "~-/.env", "~/ws/.env", "~/other/x.txt", "~"),
    *("$HOME/.bashrc", '"$HOME"/.config/wcore/policy.toml', "${HOME}/other/x.txt", "$PWD/.env"),
    *("$OLDPWD/.env", "${X}.env", '"${X}.env"', ".e${X}nv", "${X:-.env}"),
    *("${X-.env}", "${A:-.env}"),
    *("${X:+a}.env", "${A:+.env}", "$A", '"$A"', "${A}", "$B", '"$B"', "$A/.env", "$B/x.txt"),
    *("${A}nv", ".$A", "${A%x}", "${A#a}", "${A%%.*}", "${A##*/}", "${A/a/.}"),
    *("${A//a/e}", "${A^^}"),
    *("${A:1}", "${A:0:2}", "$D/.env", "$D", "../other/x.txt", "../.bashrc"),
    *("../ws/.env", "/etc/hosts"),
    *(".wcore/policy.toml", ".git/config", "sub/.env", "a.txt", "out.txt", "new/x", "b\\ c.txt"),
    *("'b c.txt'", "$PUB/x.txt", "${PUB}", "$SECRET", "a'.'txt", "--out=.env"),
    *("--out=$HOME/.bashrc"),
    *("-o.env", "of=../other/x.txt", "x=.env", "a:.env", "@.env", "{1..3}.txt"),
    *("{a..c}.txt", "~{,x}/.bashrc"),
    *("./{.env,x}", "$(pwd)/.env", '"$(pwd)/out.txt"', "`pwd`/.env", "${X:=.env}"),
    *("sub/{x.txt,.env}"),
    *("$@.env", "$*.env", "$1.env", "\"$@\".env", "$((1+1)).txt", "${#A}.txt", "$?.txt"),
)  # fmt: skip
VALUES: Final = (
    *(".env", "sub", "a.env", "wcore", ".e", "'a .env'", '"$HOME"', "~", "~/.ssh"),
    *("*", ".e*", "$D/deep"),
    *("../other", "$A", "${A}x", "", "$HOME/.config", "x:~/.ssh", "{a,b}", "$(pwd)", "sub/deep"),
)  # fmt: skip
FOLDERS: Final = (
    *("sub", "sub/deep", "..", "~", "$HOME", "-", "", "./sub", "sub/..", "$D", "$A"),
    *("../other", "src"),
    *('"$HOME/.config"', "missing", "~/.config", "{sub,x}", "s*b", ".", "-P sub"),
    *("-- sub", "~+", "/"),
)  # fmt: skip


def furnish(tree: Path) -> None:
    """Make the tree and the programs."""
    for name in FILES:
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("true\n")
    (tree / "home/ws/link").symlink_to("../other")
    (tree / "home/ws/elink").symlink_to(".env")
    (tree / "bin").mkdir(parents=True)
    for name in PROGRAMS:
        program = tree / "bin" / name
        program.write_text(STUB)
        program.chmod(0o755)


class Maker:
    """Makes one text after the other from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def text(self) -> str:
        """Return a text of one to four commands."""
        count = self._random.randint(1, 4)
        found = self._command(2)
        for _ in range(count - 1):
            found += self._pick(
                "; ", "; ", " && ", " && ", " || ", "\n", " | ", " & "
            ) + self._command(2)
        return found

    def _pick(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _word(self) -> str:
        word = self._pick(*WORDS)
        if self._random.random() < 0.12:
            word = (
                self._pick("./", "sub/", "../", "~/", "link/", "$D/", "x", '""', "''", "$X") + word
            )
        if self._random.random() < 0.08:
            word += self._pick("/", "x", "$X", "/.", "''", "/../.env", "*")
        return word

    def _redirection(self) -> str:
        operator = self._pick(
            *(">", ">>", ">", "2>", "&>", "&>>", ">&", ">|", "<>", "<", "{fd}>", "3>", "< ", "> ")
        )
        return operator + self._word()

    def _simple(self) -> str:
        name = self._pick("cat", "tool", "rm", "cp", "mv", "tee", "touch", "echo", "true", "tool")
        words = [name, *(self._word() for _ in range(self._random.randint(0, 2)))]
        if self._random.random() < 0.5:
            words.insert(self._random.randint(0, len(words)), self._redirection())
        if self._random.random() < 0.1:
            words.insert(0, f"{self._pick('A', 'B', 'E')}={self._pick(*VALUES)}")
        return " ".join(words)

    def _command(self, depth: int) -> str:
        roll = self._random.random()
        if depth == 0 or roll < 0.4:
            return self._simple()
        if roll < 0.55:
            how = self._pick("", "", "", "export ", "declare ", "readonly ")
            return f"{how}{self._pick('A', 'B', 'D', 'E')}={self._pick(*VALUES)}"
        if roll < 0.68:
            joint = self._pick(" && ", "; ", " || ", "\n")
            head = self._pick("cd", "cd", "cd", "pushd", "builtin cd", "command cd")
            return f"{head} {self._pick(*FOLDERS)}{joint}{self._command(depth - 1)}"
        return self._compound(depth - 1)

    def _compound(self, depth: int) -> str:
        one, two = self._command(depth), self._command(depth)
        name = self._pick("A", "B", "i")
        quoted = one.replace("'", "'\\''")
        return self._pick(
            f"({one}; {two})",
            f"{{ {one}; {two}; }} {self._redirection()}",
            f"if true; then {one}; else {two}; fi",
            f"for {name} in {self._word()} {self._word()}; do {one}; {two}; done",
            f"for i in {self._word()}; do cat $i > $i.out; done",
            f'for i in sub/*.txt; do {one} > "${{i%.txt}}.md"; done',
            f"while true; do {one}; {two}; break; done {self._redirection()}",
            f"case a in b) {one};; *) {two};; esac",
            f"fun() {{ {one}; }}; fun {self._word()}; {two}",
            f"cat <<E {self._redirection()}\n$({one})\n'\nE\n{two}",
            f"cat <<'E'\n> .env $({one})\nE\n{two}",
            f"bash -c '{quoted}'; {two}",
            f"eval '{quoted}'; {two}",
            f"bash <<< '{quoted}'; {two}",
            f"echo '{quoted}' | bash -s {self._word()}; {two}",
            f"printf '%s\\n' '{quoted}' | (bash); {two}",
            f"bash <<'E'\n{one}\nE\n{two}",
            f"bash <<E\n{one}\nE\n{two}",
            f"source /dev/stdin <<< '{quoted}'; {two}",
            f"echo $({one}) `true`; {two}",
            f"tool <({one}) > >({two})",
            f"exec {self._redirection()}; {one}",
            f"read {name} <<< {self._word()}; {one}",
            f"printf -v {name} {self._word()}; {one}",
            f"[[ a < b && -e {self._word()} ]] && {one}",
            f"(( 2 > 1 )) && {one}",
            f"pushd sub; {one}; popd; {two}",
            f"! {one}; time {two}",
            f"unset {name}; {one}",
            f"a=({self._word()} x); {one}; cat ${{a[0]}}",
            f"set -- {self._word()}; {one}; cat $1",
            f"f={self._word()}; for i in 1 2; do f=$f/x; cat < $f; done",
        )
