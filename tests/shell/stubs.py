"""What the sandbox holds: stub programs, real runners, a workspace, and the variables."""

from typing import Final

STUB: Final = """#!/o/bin/dash
read -r p < /o/box/pattern
case $p in 0) exit 0;; 1) exit 1;; esac
n=0; read -r n < /o/out/count 2>/dev/null; echo $((n + 1)) > /o/out/count
i=$((n % ${#p}))
while [ $i -gt 0 ]; do p=${p#?}; i=$((i - 1)); done
case $p in 1*) exit 1;; esac
exit 0
"""
# Programs that start what follows their own words; the real ones may be missing or need rights.
HANDOVER: Final = """#!/o/bin/dash
while :; do case ${1-} in -u) shift 2;; -*|*=*) shift;; *) break;; esac; done
exec "$@"
"""

REAL_PROGRAMS: Final = (
    "env xargs nohup nice ionice timeout setsid stdbuf find sed awk tar sh dash bash perl"
).split()
# What these start was named, or should have been named, by the grant that let them run.
RUNNERS: Final = frozenset(
    "env xargs nohup nice ionice timeout setsid stdbuf sudo doas watch flock unshare chroot"
    " sh dash bash zsh ksh".split()
)
SHELLS: Final = frozenset("sh dash bash zsh ksh".split())
HANDOVER_PROGRAMS: Final = "sudo doas watch flock unshare chroot".split()
STUB_PROGRAMS: Final = """
cargo cargofoo cargo-foo cargo-clippy Cargo CARGO crgo rustc rustup rustfmt go gofmt make cmake
ninja meson bazel just task gcc g++ cc clang ld javac java mvn gradle kotlinc swift dotnet zig
npm npx node yarn pnpm bun deno tsc eslint prettier jest vitest webpack vite turbo nx
python python2 python3 pip pip3 pytest tox nox ruff mypy black isort flake8 pylint uv poetry
pipenv hatch coverage sphinx-build django-admin ruby gem bundle rake rspec php composer phpunit
perl5 mix elixir erl rebar3 lein sbt scala stack cabal ghc opam dune ocaml julia Rscript
git git-x gh glab hg svn pre-commit docker docker-compose podman kubectl helm terraform ansible
ls cat tac head tail wc sort uniq cut tr tee grep egrep fgrep rg fd ag diff cmp comm join paste nl
rev tree stat file du df basename dirname realpath readlink mktemp touch mkdir rmdir cp mv rm ln
chmod chown dd sync date sleep seq yes expr bc id whoami uname hostname which whereis man less more
jq yq xmllint base64 xxd od strings md5sum sha1sum sha256sum gzip gunzip zcat zip unzip xz bzip2
curl wget ssh scp sftp rsync nc ncat socat ping dig nslookup telnet ftp
ps kill pkill killall top htop lsof lsblk open xdg-open systemctl service crontab at apt apt-get
dpkg brew yum dnf pacman snap su nsenter script parallel busybox strace ltrace gdb zsh ksh fish
ed vi vim nvim nano emacs code evil payload pwn tool mytool testfoo sqlite3 psql mysql redis-cli
printenv factor nproc free uptime w who last tput stty clear reset fold fmt pr split csplit
shuf tsort truncate shred install pathchk test-runner run-tests ctest valgrind perf
""".split()

WORKSPACE_FILES: Final = {
    "Cargo.toml": "[package]\n",
    "package.json": "{}\n",
    "Makefile": "all:\n",
    "README.md": "# demo\n",
    "a.txt": "a\n",
    "b.txt": "b\n",
    "in.txt": "in\n",
    "-rf": "\n",
    "src/main.rs": "fn main() {}\n",
    "src/lib.rs": "\n",
    "tests/test_a.py": "\n",
    "sub/x.txt": "x\n",
    "lib.sh": "rm sourced\n",
    "noop.sh": "\n",
}
WORKSPACE_PROGRAMS: Final = (
    "run.sh gradlew cargo ls evil/cargo evil/ls sub/run.sh sub/gradlew bin/tool 5/cargo 7/cargo"
).split()

# Values that do nothing until a shell evaluates them as code, a subscript or a pattern.
ENVIRON: Final = {
    "PATH": "/stub",
    "HOME": "/home/u",
    "USER": "u",
    "SHELL": "/bin/bash",
    "TERM": "dumb",
    "TMPDIR": "/tmp",
    "LC_ALL": "C.UTF-8",
    "FLAGS": "--all --more",
    "NAME": "demo",
    "EMPTY": "",
    "EVIL": "x[$(pwn)]",
    "PROMPTY": "$(touch by-prompt)`touch by-tick`",
    "SEMI": "a; touch by-word # 'x\" \\",
    "STAR": "* ? [a-z]",
    "LINES2": "one\ntouch by-line",
    "ASSIGN": "PATH=evil",
    "DASHES": "-v x[$(pwn)] -n %n",
}
