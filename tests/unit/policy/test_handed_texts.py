"""Rules on commands meet what a program is told to start, however it is told."""

import shlex
import string
from pathlib import Path
from typing import Final

import waiting
from tables import rows

from wcore.policy.grants import Grant, GrantBook
from wcore.policy.shell import PrefixGrant, parse_grant
from wcore.vocabulary import Always, AlwaysPrefix, Mode

from .test_rules import bash, outcome, policies, rules

GRANTED: Final = GrantBook([Grant("g", "Bash", Always(), "", "")])
COMMANDS: Final = ("rm F", "git push origin main")

#: `{}` is the command, in single quotes where it stands so.
TOLD = [
    "jobs -x {}",
    "find . -maxdepth 0 {{-exec,{,}}} \\;",
    "/proc/self/exe -c '{}'",
    "/proc/thread-self/exe -c '{}'",
    "env 'BASH_FUNC_ls%%=() {{ {}; }}' bash -c ls",
    "sg root -c '{}'",
    "newgrp root -c '{}'",
    "logsave log {}",
    "nobody-knows-it log {}",
    "./nobody-knows-it '{}'",
    "./nobody-knows-it 'first; {}'",
    "ln -sf /usr/bin/{0} zz && ./zz {1}",
    "cp /usr/bin/{0} zz; ./zz {1}",
    "cp /usr/bin/{0} zz; timeout 5 ./zz {1}",
    "eval -- {}",
    "builtin eval -- {}",
    "env -S '-i {}'",
    "env -S 'bash -c \"{}\"'",
    "env -S \"sh -c '{}'\"",
    "bash -c 'env -S \"{}\"'",
    "script -c '{}' zz",
    "script -qc'{}' zz",
    "script --command='{}' zz",
    "tar cf z a --checkpoint=1 --checkpoint-action=exec='{}'",
    "tar cf z a --checkpoint-act exec='{}'",
    "tar xf z --to-command='{}'",
    "tar cf z --use-compress-program='{}' a",
    "tar -I '{}' -cf z a",
    "tar cIf '{}' z a",
    "env tar xf z --to-command='{}'",
    "timeout 9 nice tar -I '{}' -cf z a",
    "rg --pre '{}' foo",
    "split --filter='{}' a",
    "sort --compress-program '{}' a",
    "gcc -wrapper {,} -c x.c",
    "g++ --wrapper={,} -c x.cc",
    "sed '1e {}' a",
    "sed 's/.*/{}/e' a",
    "sed -n -e '1e {}' a",
    "zip -T -TT '{} #' z a",
    "zip -T --unzip-command '{} #' z a",
    "ssh -o ProxyCommand='{}' x",
    "ssh -oProxyCommand='{}' x",
    "scp -o 'ProxyCommand {}' a x:",
    "rsync -e '{}' a x:",
    "git -c core.pager='{}' log",
    "git -c core.editor='{} #' commit",
    "git config core.pager '{}'",
    "git clone -u '{}' . x",
    "make --eval 'x:;{}' x",
    "make SHELL='{}' x",
    "printf 'x:\\n\\t{}\\n' | make -f - x",
    "sqlite3 :memory: '.shell {}'",
    "sqlite3 :memory: '.once |{}' 'select 1'",
    "echo '.shell {}' | sqlite3",
    "psql -c '\\! {}'",
    "awk 'BEGIN{{system(\"{}\")}}'",
    "awk 'BEGIN{{\"{}\"|getline}}'",
    "gdb -batch -ex 'shell {}'",
    "gdb --eval-command='!{}'",
    "vim -es -c '!{}'",
    "vim -c ':call system(\"{}\")'",
    "vim '+!{}' a",
    "less '+!{}' a",
    "socat - 'EXEC:{}'",
    "python3 -c 'import os; os.system(\"{}\")'",
    "perl -e 'system(\"{}\")'",
    "emacs --batch --eval '(shell-command \"{}\")'",
    "LESSOPEN='|{} #%s' less a",
    "PAGER='{}' man ls",
    "MANPAGER='{}' man ls",
    "export GIT_EDITOR='{}'",
    "env GIT_SSH_COMMAND='{}' git fetch",
]  # fmt: skip


def told(template: str, command: str) -> str:
    first, _, rest = command.partition(" ")
    filled = template.replace("{,}", command.replace(" ", ",")).replace("{}", command)
    filled = filled.replace("{0}", first).replace("{1}", rest)
    return filled.replace("{{", "{").replace("}}", "}")


@rows("command", COMMANDS)
@rows("template", TOLD)
def test_a_program_that_is_told_to_start_a_denied_one_does_not_run_unasked(
    template: str, command: str
) -> None:
    rule = " ".join(command.split()[:-1]) if command.startswith("rm") else "git push"
    text = told(template, command)
    for mode in (Mode.DEFAULT, Mode.FORCE):
        found = policies(f'deny = ["Bash({rule})"]\n' + rules(("Bash", "allow")))
        assert outcome(bash(text), found, mode).verdict.value != "allow", text
    asks = policies(rules((f"Bash({rule})", "ask")))
    assert outcome(bash(text), asks, grants=GRANTED).verdict.value == "ask", text


#: A prefix that somebody typed names the option, or a program that nobody knows.
NAMED: Final = ("git -c", "/proc/", "nobody-knows-it", "./nobody-knows-it")


@rows("template", [each for each in TOLD if not each.startswith(NAMED)])
def test_a_typed_grant_of_a_program_is_none_of_what_it_is_told_to_start(template: str) -> None:
    text = told(template, "rm F")
    words = [word for word in text.split() if "=" not in word]
    grants: list[Grant] = []
    program = " ".join(words[: 2 if words[0] == "git" else 1])
    for head in (program, "ls", "cp", "ln", "echo", "printf", "less", "man"):
        parsed = parse_grant(head)
        if isinstance(parsed, PrefixGrant):
            grants.append(Grant(head, "Bash", AlwaysPrefix(head), "", "", prefix=parsed))
    found = outcome(bash(text), policies(""), grants=GrantBook(grants))
    assert found.verdict.value == "ask", text


@rows(
    "head",
    [r"$'\x72'm", r"$'\162m'", "r$@m", 'r"$x"m', "/usr/bin/r[m]", "/usr/bin/r?", "r[l-n]",
     "${x-rm}", "${x:-rm}", "${x:=rm}", "x=qrm; ${x#q}", "x=rmq; ${x%q}", "x=qrm; ${x:1}",
     "env $'-Srm'"],
)  # fmt: skip
def test_a_rule_that_asks_meets_a_program_that_the_text_spells(head: str) -> None:
    asks = policies(rules(("Bash(rm)", "ask")))
    assert outcome(bash(f"{head} F"), asks, grants=GRANTED).verdict.value == "ask"


def test_a_rule_that_asks_leaves_a_computed_program_alone_that_says_nothing_of_it() -> None:
    asks = policies(rules(("Bash(rm)", "ask")))
    for text in ("$X a", '"$PY" -m platform', "./b*.sh a", "${CC:-cc} -o a a.c", "$HOME/bin/a rmx"):
        assert outcome(bash(text), asks, grants=GRANTED).verdict.value == "allow", text


@rows(
    "text",
    [
        *("git submodule foreach 'rm F'", "git submodule foreach --recursive 'rm F'"),
        *("nice watch 'rm F'", "timeout 1 watch 'rm F'", "env nice nohup watch 'rm F'"),
        *("command awk 'BEGIN{system(\"rm F\")}'", "exec sed -n '1e rm F' x", "env -S'rm\\_F'"),
        *("strace -o '|rm F' true", "dpkg --pre-invoke='rm F' -i x"),
        *("nice -n 3 make --eval='x:;rm F' x", "stdbuf -o0 vim -c '!rm F'"),
    ],
)
def test_a_runner_in_front_hides_nothing(text: str) -> None:
    denies = policies('deny = ["Bash(rm)"]\n' + rules(("Bash", "allow")))
    assert outcome(bash(text), denies, Mode.FORCE).verdict.value != "allow"


def test_the_option_rm_is_not_the_program() -> None:
    denies = policies('deny = ["Bash(rm)"]\n' + rules(("Bash", "allow")))
    for text in ("docker run --rm app > log", "docker run --rm -e A=b app", "podman run --rm $X"):
        assert outcome(bash(text), denies).verdict.value != "deny", text
    assert outcome(bash("docker run $X rm a > log"), denies).verdict.value == "deny"


#: They name what a rule denies, and do not run it: nobody can say so of every text.
NAMING = [
    'git commit -m "rm old file; git push; make it"',
    'echo "do not rm; git push"',
    "grep -rn 'git push' .",
    "rg 'rm -rf|git push' src",
    "git rm x",
    "git log --grep 'git push'",
    "git add rm make",
    "docker rm x",
    "npm rm x",
    "sed -n '1,5p' rm",
    "sed -i 's/rm x/git push/' a",
    "awk '{print $1}' rm",
    "pip install rm make",
    "apt-get install -y make",
    "gh pr create --title 'git push' --body 'please; rm it'",
    "python3 manage.py rm make",
    "pytest -k 'rm or make'",
    "cp rm make && ls make",
    "mkdir -p rm make",
    "npm run make",
    "cargo run -- rm x",
    "curl -s https://x.invalid/rm",
    "touch make; cat rm",
    "which rm make",
    "man rm",
    "export X='rm x'",
    "tar czf a.tgz rm make",
    "ln -s rm make",
]


OTHERS = [
    "python3 -c 'print(1)'",
    "jq '.rm' a.json",
    "PAGER=cat git log",
    "docker run --rm app",
    'git commit -m "$(cat <<E\nharm, remake\nE\n)"',
    "git log --oneline | head",
    "for x in farm cmake; do echo $x; done",
]
NAMES: Final = ("rm", "git push", "make")
DENIED: Final = policies("deny = [" + ", ".join(f'"Bash({name})"' for name in NAMES) + "]")


@rows("text", NAMING)
def test_words_and_messages_that_name_what_is_denied_ask(text: str) -> None:
    assert outcome(bash(text), DENIED, Mode.FORCE).verdict.value == "ask"


@rows("text", OTHERS)
def test_words_and_messages_that_do_not_name_it_run(text: str) -> None:
    assert outcome(bash(text), DENIED, Mode.FORCE).verdict.value == "allow"


#: They end or stop the shell of the test, wait for ever, write the file, or read it as a script.
_NOT_TRIED: Final = frozenset("exit logout suspend wait fg bg kill history . source".split())


def builtins() -> list[str]:
    found = waiting.run(["/bin/bash", "-c", "compgen -b"], check=True)
    return sorted(set(found.stdout.split()) - _NOT_TRIED)


def test_every_builtin_of_bash_that_runs_its_words_is_known(tmp_path: Path) -> None:
    """Each is given a command behind every option that it may have, by bash itself."""
    denied = policies('deny = ["Bash(./gone)"]')
    (tmp_path / "gone").write_text('#!/bin/sh\n: > "$1"\n')
    (tmp_path / "gone").chmod(0o755)
    lines: list[str] = []
    for name in builtins():
        for option in ("", "--", *(f"-{letter}" for letter in string.ascii_letters)):
            text = " ".join(filter(None, (name, option, "./gone mark")))
            lines.append(f"( {text} ) </dev/null; [ -e mark ] && {{ echo {shlex.quote(text)} >&9; "
                         "/bin/rm -f mark; }")  # fmt: skip
    (tmp_path / "all.sh").write_text("exec 9>ran >/dev/null\n" + "\n".join(lines))
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    waiting.run(["/bin/bash", "--norc", "--noprofile", "all.sh"], cwd=tmp_path, env=environ)
    found = (tmp_path / "ran").read_text().splitlines()
    assert any(line.startswith("jobs -x") for line in found)
    for text in found:
        assert outcome(bash(text), denied, Mode.FORCE).verdict.value == "deny", text
