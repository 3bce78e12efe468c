"""Whatever evaluates text, with a denied program hidden in it: read as text, or not understood."""

import shlex
from pathlib import Path

import pytest
import waiting
from tables import rows

from wcore.policy import shell
from wcore.vocabulary import Mode, Verdict

from .test_rules import bash, outcome, policies

#: Whether it is shown with bash here, and the text: `{t}` is the hidden text as one quoted word,
#: `{s}` a subscript that holds it, `{p}` its words as they are.
CONSTRUCTS = [
    (True, "env -S {t}"),
    (True, "env -iS {t}"),
    (True, "env -S{t}"),
    (True, "env --split-string={t}"),
    (True, "env --split={t}"),
    (True, "nohup env -S {t}"),
    (True, "env -S 'nice rm' F # {t}"),
    (True, "hash -p /bin/rm foo; foo F # {t}"),
    (True, "test -v {s}"),
    (True, "[ -v {s} ]"),
    (True, "test a -o -v {s}"),
    (True, "[[ -v {s} ]]"),
    (True, "v=-v; test $v {s}"),
    (True, "printf -v {s} a"),
    (True, "builtin printf -v {s} a"),
    (True, "declare {s}=1"),
    (True, "typeset {s}=1"),
    (True, "f() {{ local {s}=1; }}; f"),
    (True, "read {s} <<< a"),
    (True, "declare -a x; unset {s}"),
    (True, "mapfile -C {e} -c 1 <<< a"),
    (True, "readarray -C {e} -c 1 <<< a"),
    (False, "getopts a {s} -a"),
    (True, "let {s}=1"),
    (True, "let y={s}"),
    (True, "y={s}; let y"),
    (True, "y={s}; let z=y"),
    (True, "y={s}; declare -i z=y"),
    (True, "y={s}; test -v \"$y\""),
    (True, "y={s}; (( y ))"),
    (True, "(( $(echo {s}) ))"),
    (True, "y={s}; echo $(( y ))"),
    (True, "y={s}; echo ${{z[y]}}"),
    (True, "y={s}; z[y]=1"),
    (True, "y={s}; [[ y -eq 0 ]]"),
    (True, "y={s}; : ${{HOME:y}}"),
    (True, "compgen -C {e} q"),
    (True, "compgen -W '$({p})' q"),
    (True, "trap {t} EXIT"),
    (True, "eval {t}"),
    (True, "eval : \\; {t}"),
    (True, "builtin eval {t}"),
    (True, "x={t}; eval \"$x\""),
    (True, "bash -c {t}"),
    (True, "env bash -c {t}"),
    (True, "timeout 9 bash -c {t}"),
    (True, "setsid -w bash -c {t}"),
    (True, "nohup sh -c {t}"),
    (True, "time bash -c {t}"),
    (True, "coproc {p}; wait"),
    (True, "coproc bash -c {t}; wait"),
    (True, "PS4='$({p})'; set -x; :"),
    (True, "export PS4='$({p})'; set -x; :"),
    (True, "echo {t} | xargs env"),
    (True, "echo {t} | xargs -n 2 nice"),
    (True, "echo {t} | xargs -I@ env -S @"),
    (False, "echo rm | xargs -I{{}} {{}} F # {t}"),
    (True, "echo {t} | bash"),
    (True, "bash <<< {t}"),
    (True, "find F -exec {p} ';'"),
    (True, "find F -exec bash -c {t} ';'"),
    (True, "git -c alias.x={git} x"),
    (True, "command {p}"),
    (True, "exec {p}"),
    (True, "bash -c \"bash -c {tt}\""),
    (False, "watch {t}"),
    (False, "watch -n1 {p}"),
    (False, "parallel ::: {t}"),
    (False, "script -c {t}"),
    (False, "ssh host {t}"),
    (False, "ssh host {p}"),
    (False, "su -c {t}"),
    (False, "busybox sh -c {t}"),
    (False, "tmux new {t}"),
    (False, "complete -C {t} foo"),
    (False, "enable -f ./x.so foo; foo F # {t}"),
    (False, "bind -x {t}"),
    (False, "fc -e {t}"),
    (False, "wait -p {s}"),
    (False, "BASH_ENV=x bash -c : # {t}"),
    (False, "read PS4; set -x; : # {t}"),
]  # fmt: skip
HIDDEN = ["rm F", 'r""m F', "$'r\\155' F"]
DENY = policies('deny = ["Bash(rm *)"]')


def written(template: str, hidden: str) -> str:
    return template.format(
        t=shlex.quote(hidden),
        tt=shlex.quote(hidden).replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$"),
        e=shlex.quote(f"{hidden} #"),
        s=shlex.quote(f"x[$({hidden})]"),
        git=shlex.quote(f"!{hidden}"),
        p=hidden,
    )


@rows("hidden", HIDDEN)
@rows(("shown", "template"), CONSTRUCTS)
def test_what_evaluates_text_never_hides_a_denied_program(
    shown: bool, template: str, hidden: str
) -> None:
    del shown
    text = written(template, hidden)
    for mode in Mode:
        decision = outcome(bash(text), DENY, mode)
        assert decision.verdict is not Verdict.ALLOW, text


@pytest.mark.parametrize("template", [template for shown, template in CONSTRUCTS if shown])
def test_bash_really_evaluates_it(template: str, tmp_path: Path) -> None:
    (tmp_path / "F").touch()
    text = written(template, "rm F")
    command = ["/bin/bash", "--noprofile", "--norc", "-c", text]
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    waiting.run(command, cwd=tmp_path, env=environ)
    assert not (tmp_path / "F").exists(), text


@pytest.mark.parametrize(
    "prefix",
    [
        "printf",
        "test",
        "[",
        "echo",
        "env ls",
        "xargs ls",
        "nohup ls",
        "git log",
        "bash x.sh",
        "cat",
    ],
)
def test_no_prefix_covers_what_evaluates_text(prefix: str) -> None:
    granted = shell.parse_grant(prefix)
    assert isinstance(granted, shell.PrefixGrant)
    for _, template in CONSTRUCTS:
        for hidden in HIDDEN:
            assert not shell.covers(written(template, hidden), [granted]).covered, template


@rows(
    "text",
    [
        "env A=1 make -s",
        "env -i ls",
        "[ -f x ] && test -n \"$y\"",
        "printf '%s [x]\\n' \"$y\"",
        "export PATH=/x:$PATH",
        "let i++ n=n+1",
        "unset x",
        "PS4='+ ' ls",
        "bash -c 'ls -l src'",
        "bash run.sh 'a (b' '$c'",
        "trap cleanup EXIT",
        "find . -name '*.c' | xargs grep -n x",
        "find . | xargs -I % -P 4 timeout 5 cp % out",
        "echo a | xargs -n1 echo",
        "timeout 5 bash -c 'make test'",
        "watch -n1 'ls -l'",
        "compgen -v",
        "mapfile -t x < f",
        "nice ls",
        "git commit -m 'let x[$i] be'",
        "ssh host uptime",
    ],
)  # fmt: skip
def test_everyday_texts_are_understood(text: str) -> None:
    assert outcome(bash(text), DENY, Mode.FORCE).verdict is Verdict.ALLOW
