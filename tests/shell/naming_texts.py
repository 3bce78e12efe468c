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
BRACKETS: Final = (
    *(".e[[:alpha:]]v", ".en[[=v=]]", ".en[[.v.]]", '.en["v"]', ".en[\\v]", ".en[]v]", ".en[!]x]"),
    *(".[e]n[v]", ".[!.]nv", ".en[a-z]", ".e[[:lower:]][[:alpha:]]", ".en[v", '.en["]"v]'),
    *("*/[.]env", "s[[:alpha:]]b/.env", "l[[:alpha:]]nk/x.txt", "../[o]ther/x.txt", ".en['v'x]"),
    *("sub/[.]e*", "[.][e][n][v]", "[[:punct:]]env", ".en[a$Q]", "src/[[:alpha:]]d_rsa"),
    *(".en[[v]", ".en[^a]"),
    *("$G", "$G/x.txt", ".en$K", "${K}nv", "../$G/x.txt", "**/.env", "**", "**/x.txt", "*"),
    *(".ENV*", ".E?v", ".E[n]v", "*ENV", "A.TX?", "../OTHER/*"),
)  # fmt: skip
EXTENDED: Final = (
    *("@(.env)", ".@(env|x)", "!(a.txt)", "+(.env|x)", ".e*(n)v", "?(.)env", ".@(e|x)n@(v)"),
    *('@(".env")', "@(sub)/.env", "../@(other)/x.txt", ".@($V|env)", "$T", ".!(x)"),
)  # fmt: skip
SPECIALS: Final = (
    *("IFS", "PS4", "PS1", "TIMEFORMAT", "FUNCNAME", "DIRSTACK", "LINES", "COLUMNS", "REPLY"),
    *("OPTARG", "OPTIND", "MAPFILE", "RANDOM", "SECONDS", "SRANDOM", "SHLVL", "BASHPID", "UID"),
    *("GROUPS", "PIPESTATUS", "COMP_LINE", "READLINE_LINE", "EPOCHSECONDS", "HISTFILE", "COPROC"),
    *("BASH_REMATCH", "BASH_ARGV0", "MACHTYPE", "HOSTNAME", "_", "OPTERR", "BASH_SUBSHELL", "@"),
    *("*", "1", "2", "BASH_COMPAT", "HISTCMD", "BASH_ENV", "BASH_XTRACEFD", "CHILD_MAX", "ENV"),
)  # fmt: skip
OPTIONS: Final = ("dotglob", "nocaseglob", "globstar", "extglob", "nullglob", "nocasematch")
VALUES: Final = (
    *(".env", "sub", "a.env", "wcore", ".e", "'a .env'", '"$HOME"', "~", "~/.ssh"),
    *("*", ".e*", "$D/deep"),
    *("../other", "$A", "${A}x", "", "$HOME/.config", "x:~/.ssh", "{a,b}", "$(pwd)", "sub/deep"),
)  # fmt: skip
FOLDERS: Final = (
    *("sub", "sub/deep", "..", "~", "$HOME", "-", "", "./sub", "sub/..", "$D", "$A"),
    *("../other", "src"),
    *('"$HOME/.config"', "missing", "~/.config", "{sub,x}", "s*b", ".", "-P sub"),
    *("-- sub", "~+", "/", "''", '""', '"$Q"', "$Q", '"$A"', "-P ''", "$IFS..", "s*", "[s]ub"),
    *("$(echo sub)", '"$(echo ../other)"', "$(echo)", "$1"),
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
        word = self._plain_word()
        if self._random.random() < 0.12:
            word = (
                self._pick("./", "sub/", "../", "~/", "link/", "$D/", "x", '""', "''", "$X") + word
            )
        if self._random.random() < 0.08:
            word += self._pick("/", "x", "$X", "/.", "''", "/../.env", "*")
        return word

    def _plain_word(self) -> str:
        roll = self._random.random()
        if roll < 0.6:
            return self._pick(*WORDS)
        if roll < 0.78:
            return self._pick(*BRACKETS)
        if roll < 0.82:
            return self._pick(*EXTENDED)
        name = self._pick(*SPECIALS)
        behind = self._pick(
            *("$HOME/other/x.txt", ".env", "../other/x.txt", "/.env", "sub/.env", "", "nv", "$A")
        )
        if self._random.random() < 0.2:
            return f'"${{{name}}}"{behind}'
        return self._pick("", "", "", ".", "$A") + f"${{{name}}}{behind}"

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
        return self._compound(depth - 1) if roll < 0.84 else self._changing(depth - 1)

    def _changing(self, depth: int) -> str:
        """Return a command that is run while something changes what words mean."""
        one, two = self._command(depth), self._command(depth)
        name, value = self._pick("A", "B", "D", "V"), self._pick(*VALUES)
        option = self._pick(*OPTIONS)
        quoted = one.replace("'", "'\\''")
        return self._pick(
            f"shopt -s {option}; {one}",
            f"shopt -s {option}\n{one}\n{two}",
            f"{{ shopt -s {option}; {one}; shopt -u {option}; {two}; }}",
            f"for i in 1 2; do {one}; shopt -s {option}; done",
            f"bash -O {option} -c '{quoted}'; {two}",
            f"GLOBIGNORE=x; {one}",
            f"export GLOBIGNORE=*.txt\n{one}; unset GLOBIGNORE; {two}",
            f"G='[o]ther' K='[[:alpha:]]' Q=v V=env T='@(.env)'; {one}",
            f"K='.e\\nv*'; G='../[[:alpha:]]ther'; Q='.en[v'; {one}",
            f"{name}={value}; {name}+={self._pick(*VALUES)}; {one}",
            f"{name}=.e; {name}+=nv; cat ${name}; {one}",
            f"bash -c '{quoted}' _ {self._word()} env; {two}",
            f"bash -c 'cat .$1 > $2.out; {quoted}' _ env {self._word()}",
            f"{name}={value} bash -c '{quoted}'; {two}",
            f"env {name}={value} bash -c '{quoted}'; {two}",
            f"{name}={value}; bash -c '{quoted}'; {two}",
            f"export {name}={value}; env -u {name} bash -c '{quoted}'; {two}",
            f"env -C sub bash -c '{quoted}'; {two}",
            f"mapfile -t {name} <<< {self._word()}; {one}; cat ${name}",
            f"mapfile <<< {self._word()}; {one}; cat $MAPFILE",
            f"read -r {name} <<< {value}; {one}",
            f"read <<< {self._word()}; {one}; cat $REPLY",
            f"IFS={self._pick('n', 'e', 'x', '/', '.', ':', '')}; {one}; {two}",
            f"IFS=q; {name}=aq$HOME/other/x.txt; cat ${name}; {one}",
            f"declare -{self._pick('l', 'u', 'i', 'a', 'g')} {name}; {name}={value}; {one}",
            f"declare -n {name}=B; {name}={value}; {one}",
            f"set -- {self._word()} {self._word()}; shift; {one}",
            f"set -{self._pick('f', 'P', 'k', 'a')}; {one}; {two}",
            f"getopts x {name} -x env; {one}",
            f"let {name}=1; {one}",
            f"a=(env {self._word()}); cat .${{a[0]}} ${{a[@]}} .$a; {one}",
            f": {self._word()}; cat $_; {one}",
            f"fun() {{ cat .$1 $2; {one}; }}; fun env {self._word()}",
            f"fun() {{ local {name}={value}; {one}; }}; fun; {two}",
            f"printf '%s\\n' {name}=.env 'cd sub' > rc; . ./rc; {one}; {two}",
            f"eval '{name}={value}'; {one}",
            f"for i in 1 2; do {one}; cd {self._pick(*FOLDERS)}; done; {two}",
            f"for i in sub ../other; do cd $i; {one}; done; {two}",
            f"while cd {self._pick(*FOLDERS)}; do {one}; break; done; {two}",
            f"until ! cd {self._pick(*FOLDERS)}; do {one}; break; done; {two}",
            f"if cd {self._pick(*FOLDERS)}; then {one}; fi; {two}",
            f'fun() {{ cd "$1"; }}; fun {self._pick(*FOLDERS)}; {one}; cat x.txt',
            f"fun() {{ cd {self._pick(*FOLDERS)}; }}; {one}; fun; {two}; cat x.txt",
            f"cd() {{ builtin cd {self._pick(*FOLDERS)}; }}; cd src; {one}; cat x.txt",
            f"CDPATH={self._pick('..', '~')}; cd {self._pick('other', 'deep', 'sub')}; {one}",
            f"trap '{quoted}' EXIT; {two}",
            f"trap 'cat x.txt $A .$V' EXIT; {name}={value}; cd {self._pick(*FOLDERS)}",
            f"cd {self._pick(*FOLDERS)}; cat x.txt .env; {one}",
            f"cd $(echo ../other); {one}; cat x.txt; touch x.txt",
            f"select i in {self._word()} b; do cat $i; break; done <<< 1; {one}",
            f"IFS=/ read {name} B <<< {self._word()}; {one}",
            f"BASH_ENV=rc; echo cd sub > rc; export BASH_ENV; bash -c '{quoted}'",
            f"cp .env fresh.env; cat f[[:alpha:]]*.env; {one}",
        )

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
