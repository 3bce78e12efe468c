"""Words of a command that are commands of their own, or may be: for rules that ask or deny.

The tables of prefixes know the options and operands that no prefix covers: those which make a
program start another one are among them, so all of these are read as commands. Of a program that
nobody knows, and of one that is told what to do in a language, any word may begin one.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from wcore.policy.shell.characters import ASSIGNMENT
from wcore.policy.shell.coverage import COMMANDS, GROUPS
from wcore.policy.shell.leading_options import deeper, program_key
from wcore.policy.shell.option_specs import OptionArgument, OptionSpec, option_spec
from wcore.policy.shell.programs_with_scripts import may_run
from wcore.policy.shell.runners import SHELLS, is_interpreter, program

#: Beside the tables of prefixes: options whose value is a command, or a text that may hold one.
_MORE_OPTIONS: Final = {
    **dict.fromkeys("git|git config".split("|"), "* !-c:"),
    **dict.fromkeys("git grep|git difftool|git clone".split("|"), "* !-O? !-x: !--extcmd= !-u:"),
    "git grep": "* !-O? !--open-files-in-pager=?",
    "git rebase": "* !-x: !--exec=",
    **dict.fromkeys("make|gmake".split("|"), "* !-E: !--eval="),
    "zip": "* !-T:",  # `-TT TEXT`
    **dict.fromkeys("gtar|bsdtar".split("|"), COMMANDS["tar"]),
    "gsplit": COMMANDS["split"],
    "gsort": COMMANDS["sort"],
    **dict.fromkeys("gvim|vimdiff|rvim|ex".split("|"), COMMANDS["vim"]),
    "gdb": "= * !--ex: !--eval-command= !--iex: !--init-eval-command=",
    "lldb": "* !-o: !-O: !-k: !-K: !--one-line= !--one-line-before-file= !--source-quietly",
    **dict.fromkeys("mysql|mariadb".split("|"), "* !-e: !--execute="),
    "psql": "* !-c: !--command=",
    "script": "* !-c: !--command=",
    **dict.fromkeys("su|runuser|sg|newgrp|flock".split("|"), "* !-c: !--command="),
    "mutt": "* !-e:",
    **dict.fromkeys("gcc|g++|cc|c++|gfortran".split("|"), "= * !--wrapper="),  # `rm,-f,x`
    "dpkg": "* !--pre-invoke= !--post-invoke=",
    **dict.fromkeys(["strace", "ltrace"], "* !-o: !--output="),  # `-o '|rm x'`
    "dpkg-architecture": "* !-c:",
    **dict.fromkeys("xterm|konsole|gnome-terminal|alacritty|kitty|foot".split("|"), "* !-e:"),
    **dict.fromkeys("sbatch|srun".split("|"), "* !--wrap="),
}
#: The first word of `tar` may be a bundle of letters; then their values follow.
_OLD_STYLE: Final = frozenset(["tar", "gtar", "bsdtar"])
#: What they are told is a language of their own, in which programs can be started.
_LANGUAGES: Final = frozenset(
    "awk gawk mawk nawk sed gsed sqlite3 psql mysql mariadb ed red ex vi vim nvim gvim view emacs"
    " gdb lldb m4 bc dc expect gnuplot make gmake socat dtrace bpftrace octave".split()
)
#: Programs in no table whose words are names and texts, and nothing else.
_KEEP_WORDS: Final = frozenset(
    "cp mv ln link unlink rm mkdir rmdir touch chmod chown chgrp tee dd truncate shred mktemp"
    " mkfifo mknod sync sleep kill pkill killall pidof apt apt-get aptitude dpkg dpkg-query yum dnf"
    " microdnf rpm snap flatpak pacman apk zypper port choco winget scoop pip pip3 gem cpan cpanm"
    " luarocks opam nvm volta corepack service launchctl loginctl rc-service unzip gunzip gzip"
    " bzip2 bunzip2 xz unxz zstd unzstd zcat bzcat xzcat lz4 7z ar cpio open xdg-open clear reset"
    " tput stty tty info apropos whatis help yes echo print logger wall write look cal bat"
    " passwd useradd userdel usermod groupadd groupdel groupmod gpasswd update-alternatives"
    " alternatives eselect ping dig host nslookup ip ifconfig netstat ss lsof mount umount"
    " dmesg who w last history notify-send say pbcopy xclip wl-copy dos2unix patch locate mdfind"
    " git-lfs jj tig cloc tokei scc hadolint shellcheck shfmt clang-format gofmt goimports"
    " codespell vale typos aspell ispell eza exa lsd zoxide tldr cheat gst-launch ffmpeg ffprobe"
    " convert magick identify ack-grep ugrep git-grep gitleaks".split()
)
#: Builtins of bash that start none of their words, nor evaluate them as `evaluation` knows.
KEEPING_BUILTINS: Final = frozenset(
    ": [ [[ alias bg break caller cd compgen complete compopt continue declare dirs disown echo"
    " enable exit export false fg getopts hash help history kill let local logout popd printf pushd"
    " pwd read readarray mapfile readonly return set shift shopt suspend test times true type"
    " typeset ulimit umask unalias unset wait bind fc".split()
)
#: Variables whose value some program runs.
_COMMAND_VARIABLE: Final = re.compile(
    r"\w*(?:PAGER|EDITOR|VISUAL|BROWSER|COMMAND|CMD|ASKPASS|SSH|RSH|SHELL|PROXY|WRAPPER"
    r"|LAUNCHER|RUNNER|EXEC|DIFF|MERGE|FILTER|HOOK|TERMINAL)|LESS(?:OPEN|CLOSE|EDIT)?|FCEDIT"
    r"|G?N?U?MAKEFLAGS|MAKEFILES|TAR_OPTIONS|(?:GIT|FZF)_\w+|CC|CXX|CPP|LD|AR|PS[0-4]",
    re.IGNORECASE,
)
_EXPORTED_FUNCTION: Final = re.compile(r"BASH_FUNC_[^=]*=\s*\(\)\s*(.*)", re.DOTALL)
#: Commands that set a variable for what they or others start.
_SET_VARIABLES: Final = frozenset("env export declare typeset local readonly make gmake".split())
_GIT_SETS: Final = re.compile(  # `git config core.pager TEXT`
    r"(?i).*\.(?:\w*(?:pager|editor|command|helper|program|external|textconv|driver|cmd|proxy"
    r"|smudge|clean|process|fsmonitor|askpass|path)|(?:diff|upload|receive)\w*)"
)
#: What stands in front of a command in a text of such a program: `!rm x`, `|rm x`, `exec=rm x`.
_BEFORE: Final = re.compile(
    r"(?:[\s|!@:=+.\\&-]+|(?:exec|shell|system|sh|run|call|silent|pipe)\b(?=[\s!=:(])"
    r"|[A-Za-z_][\w.-]*[=:])+|(?:ProxyCommand|LocalCommand|RemoteCommand|KnownHostsCommand)\s+",
    re.IGNORECASE,
)
_BETWEEN: Final = re.compile(r"[^\w.+~%^-]+")
_NOT_PLAIN: Final = re.compile(r"[\s;|&`'\"(){}!<>]")

Words = Sequence[str]


def texts_in_options(words: Words) -> list[str]:
    """Return the values and operands of a command that no prefix of it covers, as texts."""
    found: list[str] = []
    for spec in _specs(words):
        found += _values(words, spec)
        for word in words[1:]:
            operand = spec.operand_pattern and spec.operand_pattern.search(word)
            if operand or (spec.value_pattern and spec.value_pattern.search(word)):
                found.append(word)
    if program(words[0]) == "git" and "config" in words:
        found += [to for at, to in enumerate(words[1:]) if _GIT_SETS.fullmatch(words[at])]
    found += [each.replace(",", " ") for each in found if "," in each]
    return [text for each in dict.fromkeys(found) for text in _without_what_leads(each)]


def texts_in_variables(values: Words) -> list[str]:
    """Return the values of variables that some program runs, as the words of a command set them."""
    found: list[str] = []
    sets = True
    for word in values:
        assigned = ASSIGNMENT.match(word)
        if match := _EXPORTED_FUNCTION.match(word):
            found.append(match[1])
        elif assigned and sets:
            name, value = word[: assigned.end()].rstrip("+="), word[assigned.end() :]
            if _COMMAND_VARIABLE.fullmatch(name):
                found += _without_what_leads(value)
        elif not assigned and not word.startswith("-"):
            sets = program(word) in _SET_VARIABLES
    return found


def keeps_words(words: Words) -> bool:
    """Whether a program is known, and none of its words is the program of another command."""
    name = words[0].rsplit("/", 1)[-1]
    known = (name, name.casefold(), program(words[0]).casefold())
    return any(
        each in COMMANDS or each in GROUPS or each in _KEEP_WORDS or each in KEEPING_BUILTINS
        for each in known
    ) or is_interpreter(words[0])


def loose_words(words: Words) -> list[str]:
    """Return the words of a command, and those within them, among which one may begin another."""
    name = _name(words)
    if name in SHELLS:
        return []  # its text is read as such
    if keeps_words(words) and name not in _LANGUAGES and not is_interpreter(words[0]):
        return []
    plain: list[str] = []
    parts: list[str] = []
    for word in words[1:]:
        if _NOT_PLAIN.search(word) is None:
            plain.append(word)
        elif may_run(name, word):
            parts += words_within(word)
    return [*(plain if not keeps_words(words) else ()), *parts]


def reads_a_language(words: Words) -> bool:
    """Whether a program may take what it reads for commands in a language of its own."""
    name = _name(words)
    if name in ("sed", "gsed"):
        return any(may_run(name, word) for word in words[1:2])
    if name.endswith("awk"):
        return False
    return name in _LANGUAGES or is_interpreter(words[0])


def is_told_a_language(words: Words) -> bool:
    """Whether words of a program may be commands in a language of its own."""
    return _name(words) in _LANGUAGES or is_interpreter(words[0])


def _name(words: Words) -> str:
    name = words[0].rsplit("/", 1)[-1].casefold()
    return name if name in _LANGUAGES else program(name)


def words_within(text: str) -> list[str]:
    """Return what may be words in a text of any language, in their order."""
    return [word for word in _BETWEEN.split(text) if word]


def _specs(words: Words) -> Iterator[OptionSpec]:
    """Yield how options are read of the program, and of its subcommands as far as they are told."""
    key = program_key(words[0])
    keys = [key]
    for word in words[1:]:
        key = deeper(key, word) or key
        if key != keys[-1]:
            keys.append(key)
    for each in keys:
        for text in (COMMANDS.get(each) or GROUPS.get(each), _MORE_OPTIONS.get(each)):
            if text:
                yield option_spec(text)


def _values(words: Words, spec: OptionSpec) -> Iterator[str]:
    """Yield the values of options that the spec never covers, shortened names included."""
    valued = [name for name, takes in spec.asks.items() if takes is not OptionArgument.NOTHING]
    for at, word in enumerate(words[1:], 1):
        behind = words[at + 1] if at + 1 < len(words) else ""
        bundle = at == 1 and program(words[0]) in _OLD_STYLE and not word.startswith("-")
        if word.startswith("--") or (spec.single_dash and word.startswith("-")):
            name, equals, value = word.partition("=")
            name = "--" + name.lstrip("-")
            if len(name) > 2 and any(each.startswith(name) for each in valued):
                yield value if equals else behind
        elif word.startswith("-") or bundle:
            letters = word.lstrip("-")
            for i, letter in enumerate(letters):
                if f"-{letter}" in valued:
                    yield letters[i + 1 :]
                    yield from words[at + 1 : at + 1 + len(letters)] if bundle else (behind,)


def _without_what_leads(text: str) -> list[str]:
    """Return a text, and what it says behind a sign or name that stands before a command."""
    match = _BEFORE.match(text)
    return [text, text[match.end() :]] if match and match.end() < len(text) else [text]
