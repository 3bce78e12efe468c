"""Programs that run other programs: a grant of one must say which program it is to run.

One table for grants and for rules that deny: what stands here is looked through where its command
line is simple enough, and never granted where it is not.
"""

import posixpath
import re
from collections.abc import Mapping
from typing import Final

from wcore.policy.shell.characters import ASSIGNMENT

_DURATION: Final = re.compile(r"[0-9]+(\.[0-9]+)?[smhd]?")
_VERSION: Final = re.compile(r"[-.]?[0-9][0-9.]*$")
_LOADER: Final = re.compile(r"ld(?:-linux|-musl|64|32|-elf|-[0-9])?[\w.-]*\.so(?:\.[0-9]+)*|ld\.so")
_BUSYBOX: Final = re.compile(r"(?:busybox|toybox)[\w.-]*")
_MODULE: Final = re.compile(r"[A-Za-z_][\w.]*")

#: Words that name a file: with a folder, or with one of the endings of scripts and archives.
_SCRIPT: Final = re.compile(
    r"/|\.(?:py|pyw|pyz|js|mjs|cjs|ts|mts|cts|tsx|jsx|sh|bash|zsh|fish|rb|pl|pm|php|lua|r|R|jl|tcl"
    r"|awk|sed|mk|jar|war|groovy|kts?|scala|clj|exs?|erl|hs|ml|go|rs|swift|dart|ps1|bat|cmd|sql"
    r"|gradle|cmake|nix|el|vim|wasm|exe|toml|ya?ml|json)$"
)
_ELSEWHERE: Final = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*://|@")  # absolute, an address, a package

#: Followed by so many plain words of their own, then by the command, with no option before it.
_OWN_WORDS: Final[Mapping[str, int]] = {
    **dict.fromkeys(
        "env nohup setsid nice ionice stdbuf sudo doas xargs watch linux32 linux64 i386 i486 i586"
        " i686 x86_64 uname26 numactl prlimit time gtime chronic xvfb-run dbus-run-session"
        " dumb-init tini fakeroot rlwrap unbuffer valgrind ssh-agent cross-env npx bunx pnpx"
        " uvx catchsegv cgexec choom coresched uclampset torsocks proxychains proxychains4"
        " eatmydata faketime caffeinate softlimit setuidgid genv gnice gnohup gstdbuf".split(),
        0,
    ),
    **dict.fromkeys("timeout gtimeout setarch taskset chrt".split(), 1),
}
#: The same, for subcommands.
_OWN_WORDS_OF_SUBCOMMANDS: Final[Mapping[str, int]] = {
    **dict.fromkeys(
        "uv run|poetry run|pipenv run|pdm run|hatch run|rye run|pixi run|bundle exec|npm exec|npm x"
        "|pnpm exec|pnpm dlx|yarn exec|yarn dlx|bun x|rbenv exec|pyenv exec|asdf exec|mise exec"
        "|pipx run|uv tool run|dotenv run|swift run".split("|"),
        0,
    ),
    **dict.fromkeys("docker exec|docker run|podman exec|podman run|direnv exec".split("|"), 1),
}
SHELLS: Final = frozenset(
    "bash sh zsh dash ash ksh mksh pdksh lksh rbash rzsh yash posh fish csh tcsh elvish nu xonsh"
    " pwsh powershell cmd".split()
)
#: They run the script that follows; without one they run what they are told.
_INTERPRETERS: Final = frozenset(
    "python pypy node nodejs perl ruby lua luajit php tclsh wish expect guile rscript r julia java"
    " groovy scala kotlin jshell osascript elixir erl escript ocaml runghc ghci tsx ts-node jruby"
    " irb iex cscript wscript gjs qjs d8 jython raku".split()
)
_PYTHON: Final = frozenset(["python", "pypy", "jython"])
#: Modules of Python that run what their arguments say.
_MODULES_NEVER: Final = frozenset(
    "timeit pdb trace profile cProfile cprofile code asyncio runpy idlelib bdb doctest zipapp"
    " pyperf IPython ipython coverage scalene viztracer memory_profiler line_profiler"
    " kernprof".split()
)
#: Their command lines are too rich to say what they will run.
_NEVER: Final = frozenset(
    "su chroot unshare nsenter flock script parallel strace gdb lldb ltrace proot bwrap firejail"
    " sudo-rs run0 runuser pkexec setpriv capsh systemd-run systemd-inhibit machinectl"
    " hyperfine perf watchexec entr nodemon pee ifne zargs rush at batch nix-shell rr gdbserver"
    " uftrace bpftrace heaptrack start-stop-daemon runit runsv runcon newgrp sg ssh-copy-id"
    " scriptreplay tmux screen dtach abduco daemonize autoexpect cpulimit cgclassify"
    " logsave aa-exec pipesz sshpass sem annotate-output run-one keep-one-running run-parts"
    " systemd-nspawn systemd-socket-activate schroot gosu su-exec s6-setuidgid chpst execlineb"
    " mpirun mpiexec srun nocache trickle tsocks when-changed reflex xinit dbus-launch"
    " lxc-execute lxc-attach apptainer singularity toolbox distrobox op aws-vault chamber envdir"
    " envchain dtruss dtrace m4 telepresence circusd supervisord foreman honcho"
    " overmind concurrently npm-run-all run-p run-s wireit lerna onchange chokidar"
    " emacs ed socat".split()
)
#: Nor can it be said of these subcommands.
_SUBCOMMANDS_NEVER: Final = frozenset(
    "kubectl exec|kubectl run|kubectl debug|nix run|nix shell|nix develop|docker compose exec"
    "|docker compose run|docker-compose exec|docker-compose run|git bisect run"
    "|git submodule foreach|git filter-branch|git difftool|git for-each-repo|git hook run"
    "|git rebase --exec|git rebase -x|go tool|go generate|coverage run|conda run|mamba run"
    "|micromamba run|cargo watch|deno run|deno eval|deno repl|bun repl|npm explore"
    "|ansible all|vagrant ssh|heroku run|fly ssh|op run|doppler run|infisical run"
    "|devbox run|lxc exec|incus exec|find -exec|find -execdir|find -ok|find -okdir"
    "|cmake -E|multipass exec|wsl -e".split("|")
)
#: Every subcommand that runs another program.
RUNNING_SUBCOMMANDS: Final = frozenset(_OWN_WORDS_OF_SUBCOMMANDS) | _SUBCOMMANDS_NEVER
#: Only for rules that deny: any word after these may be the program.
_ALSO_START: Final = frozenset(
    "command exec builtin jobs find gfind fd fdfind busybox toybox".split()
)

#: Builtins that run what follows. Of their options only `exec -a` takes a word.
BUILTINS: Final = frozenset("builtin command exec".split())
#: Files that are many programs, each by its name.
_SHARED_FILES: Final = frozenset("coreutils uutils snap mise asdf rustup volta-shim".split())

Words = tuple[str, ...]


class Refused(Exception):  # noqa: N818 - an answer, in words for people
    """The grant grants nothing."""


def command_words(words: Words) -> Words:
    """Return `words` without leading `NAME=value`."""
    count = next((i for i, w in enumerate(words) if not ASSIGNMENT.match(w)), len(words))
    return words[count:]


def program(head: str) -> str:
    """Return the name by which a program is known: without folder or version."""
    name = head.rsplit("/", 1)[-1]
    name = name[:-4] if name.casefold().endswith(".exe") else name
    known = name in _OWN_WORDS or name in _NEVER
    return name if known else _VERSION.sub("", name) or name


def is_runner(head: str) -> bool:
    """Whether a program exists to run others."""
    name = program(head)
    return name in _OWN_WORDS or name in SHELLS or _is_never(head) or is_interpreter(head)


def is_shared_file(head: str) -> bool:
    """Whether a program is whatever it is called: one file with many names."""
    name = head.rsplit("/", 1)[-1]
    return _BUSYBOX.fullmatch(name) is not None or name in _SHARED_FILES


def is_interpreter(head: str) -> bool:
    """Whether a program runs the script that it is given."""
    return program(head).casefold() in _INTERPRETERS


def may_start_any(words: Words) -> bool:
    """Whether any later word of a command may be a program, as rules that deny read it."""
    name = program(words[0]).casefold()
    if name in _OWN_WORDS or name in _ALSO_START or _is_never(words[0].casefold()):
        return True
    return any(" ".join((name, *words[1:count])) in RUNNING_SUBCOMMANDS for count in (2, 3))


def own_of_runner(words: Words) -> tuple[int | None, int]:
    """Return how many words of its own a runner has, and how many words its name and subcommand.

    `None`: its command line is too rich to say.
    """
    for count in (3, 2):
        subcommand = " ".join(words[:count])
        if subcommand in RUNNING_SUBCOMMANDS:
            return _OWN_WORDS_OF_SUBCOMMANDS.get(subcommand), count
    name = program(words[0])
    has_none = name in BUILTINS or _BUSYBOX.fullmatch(name)
    return 0 if has_none else _OWN_WORDS.get(name), 1


def check_runner(words: Words) -> Words | None:
    """Return the command within the command `words`, or `None` where there is none to look at.

    Raises:
        Refused: the words do not say which command will run.
    """
    head, rest = words[0], words[1:]
    name = program(head)
    if _is_never(head) or any(_is_rich((name, *rest), count) for count in (1, 2)):
        raise Refused(f"`{head}` can run any command")
    if name in SHELLS or is_interpreter(head):
        _check_script(head, rest)
        return None
    own, count = own_of_runner((name, *rest))
    if own is None or name in BUILTINS:
        return None
    rest = rest[count - 1 :]
    if name in ("timeout", "gtimeout") and not (rest and _DURATION.fullmatch(rest[0])):
        raise Refused(f"`{head}` must be followed by a duration and a command")
    if any(word.startswith(("-", "+")) for word in rest[: own + 1]) or len(rest) <= own:
        raise Refused(f"`{head}` must be followed by the command that it runs")
    return rest[own:]


def _is_rich(words: Words, count: int) -> bool:
    """Whether a subcommand of `count` words stands anywhere behind the program."""
    name, rest = words[0], words[1:]
    runs = (rest[at : at + count] for at in range(len(rest) - count + 1))
    return any(" ".join((name, *run)) in _SUBCOMMANDS_NEVER for run in runs)


def _is_never(head: str) -> bool:
    name = head.rsplit("/", 1)[-1]
    rich = program(head) in _NEVER or _BUSYBOX.fullmatch(name) is not None
    return rich or _LOADER.fullmatch(name) is not None


def _check_script(head: str, rest: Words) -> None:
    if program(head).casefold() in _PYTHON and rest[:1] == ("-m",):
        if len(rest) < 2 or not _MODULE.fullmatch(rest[1]) or rest[1] in _MODULES_NEVER:
            raise Refused(f"`{head} -m` must be followed by a module that runs no other code")
        return
    if rest[:1] == ("--version",) and is_interpreter(head):
        return
    if program(head) == "java" and rest[:1] == ("-jar",):
        rest = rest[1:]
    if not rest or rest[0].startswith(("-", "+")) or is_device(rest[0]):
        raise Refused(f"`{head}` must be followed by the script that it runs")


def is_device(path: str) -> bool:
    """Whether a path, from whatever folder, leads to `/dev` or `/proc`: a script from elsewhere."""
    parts = [part for part in posixpath.normpath(path).split("/") if part]
    top = next((part for part in parts if part != ".."), "")
    climbs = path.startswith("/") or parts[:1] == [".."]
    return climbs and top in ("dev", "proc")


def names_relative_program(words: Words) -> bool:
    """Whether a granted command names a program or script by a path that depends on the folder."""
    inner: Words | None = words
    while inner:
        head, *rest = command_words(inner)
        if "/" in head and not head.startswith("/"):
            return True
        if program(head) in SHELLS:
            return not rest[0].startswith("/")
        if is_interpreter(head):
            script = rest[1] if rest[0] == "-jar" else rest[0]
            return script not in ("-m", "--version") and not script.startswith("/")
        inner = check_runner((head, *rest))
    return False


def innermost(words: Words) -> int:
    """Return at which of the granted words the command begins that is run in the end."""
    at = len(words) - len(command_words(words))
    while inner := check_runner(words[at:]):
        at = len(words) - len(command_words(inner))
    return at


def appends_words(words: Words) -> bool:
    """Whether a granted command adds words to the command within, which it reads somewhere."""
    return any(program(word) == "xargs" for word in words)


def names_relative_script(words: Words) -> bool:
    """Whether a granted command names a file, by a path that depends on the folder."""
    return any(_SCRIPT.search(word) and not _ELSEWHERE.match(word) for word in words[1:])


def hands_to_shell(words: Words) -> bool:
    """Whether a granted command lets a shell read its further arguments again."""
    return any(program(word) == "watch" for word in words)
