"""Paths that a program reaches though no word of the command is the path: each way to every one.

The ways are held against wcore's own files, protected ones and denied ones alike.
"""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wcore.policy.protected import Places
from wcore.policy.shell.input_scripts import split_strings
from wcore.policy.shell.paths.mentions import mentions_of
from wcore.vocabulary import Decision, Mode, Row, Verdict

from .test_trees import decided

FILES = (
    *("ws/.wcore/policy.toml", "ws/.vscode/tasks.json", "ws/secrets/s.txt", "ws/conf/.env"),
    *("ws/a.txt", "ws/src/a.py", "ws/.git/hooks/x", ".config/wcore/policy.toml"),
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home").resolve()
    for name in FILES:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return home


def of(way: str, path: str) -> str:
    """Return a text that reaches `path`: `{F}` is the file, `{D}` its folder, `{N}` its name."""
    folder, name = os.path.split(path)
    return way.replace("{F}", path).replace("{D}", folder).replace("{N}", name)


WRITES = [
    *('sed -n "w {F}" a.txt', "sed -n 'w{F}' a.txt", "sed 's/.*/x/w {F}' a.txt", "sed -n w{F} a"),
    *("awk '{print > \"{F}\"}' a.txt", "awk 'BEGIN {print 1 >> \"{F}\"}'"),
    *("ed -s a.txt <<< 'w {F}'", "printf 'w {F}' | ed a.txt", "ex -s '+w! {F}' +q a.txt"),
    *("vim -es -c 'saveas! {F}' a.txt", "gdb -batch -ex 'set logging file {F}'"),
    *("sqlite3 :memory: '.once {F}' 'select 1'", "sqlite3 :memory: <<E\n.output {F}\nE"),
    *("sqlite3 x.db \"select writefile('{F}', 'x')\"", "python3 -c \"open('{F}', 'w')\""),
    *("make -f - <<< 'x:;echo x > {F}'", "timeout 5 sed -n 'w {F}' a.txt"),
    *("xargs touch <<< {F}", "echo {F} | xargs rm", "xargs -I% cp a.txt % <<< '{F}'"),
    *("env -S 'touch {F}'", "env -S '-i rm {F}'", "env -S 'env -S \"rm {F}\"'"),
    *("watch -g 'echo z > {F}'", "timeout 2 watch 'rm {F}'"),
    *("env -C {D} rm {N}", "env --chdir={D} touch {N}", "env -C {D} sh -c 'echo x > {N}'"),
    *("git -C {D} rm {N}", "git -C {D} restore {N}"),
    *("tar --create --file={F} a.txt", "tar -c -f {F} a.txt", "tar cf {F} a.txt"),
    *("tar xf x.tar -C {D}", "tar -x --directory={D} -f x.tar", "unzip -o x.zip -d {D}"),
    *("tar cf z a.txt --index-file={F}", "curl -D {F} http://h/x", "curl --dump-header={F} x"),
    *("install -d {D}/r", "cp -l {F} src/h", "cp -s {F} src/h", "env -S'tee\\_{F}'"),
    *("trap -- 'rm {F}' 0", "install -dm755 {D}/r", "ls {F} | xargs rm"),
    *("f() { printf 'w {F}' | ed a.txt; }; f", "coproc rm {F}"),
    *("cc -E a.c -MMD -MF {F}", "objcopy a.o {F}", "fallocate -l 10 {F}", "mktemp -p {D}"),
    *("git config -f {F} a.b c", "git config --file={F} a.b c", "git bundle create {F} HEAD"),
    *("tree -o {F}", "less -o {F} a.txt", "command touch {F}", "fd -H x {F} -x rm"),
    *("git init {D}/r", "git clone . {D}/r", "git worktree add {D}/r", "ssh-keygen -f {F}"),
]  # fmt: skip
FOUND = [
    *("find . -name {N} -delete", "find . -name {N} -exec rm {} +", "find {D} -name {N} -delete"),
    *("find -name '{N}*' -delete", "find . -type f -name {N} -exec sed -i s/a/b/ {} \\;"),
    *("find . -iname {N} -delete", "find . -path './{F}' -delete", "find . -path '*/{N}' -delete"),
    *("find . \\( -name x -o -name {N} \\) -delete", "find . -name x -o -name {N} -delete"),
    *("find . -name {N} | xargs rm", "find . -name {N} -print0 | xargs -0 rm -f"),
    *("find . -path '*{N}' -delete", "find . -ipath '*{N}' -delete"),
    *("find . -newer a.txt -delete", "find . ! -name x -delete", "env find . -name {N} -delete"),
]  # fmt: skip
READS = [
    *("watch 'cat {F}'", "timeout 1 watch -g 'cat < {F}'", "nice script -c 'cat {F}' x.ts"),
    *("env -S 'cat {F}'", "xargs cat <<< {F}", "echo {F} | xargs cat", "env -C {D} cat {N}"),
    *("read x <<E\n{F}\nE\ncat $x", "while read x; do cat $x; done <<< {F}"),
    *("{ read x; cat $x; } <<< {F}", "echo {F} | while read x; do cat $x; done"),
    *("sed 'r {F}' a.txt", "sed -n '$r{F}' a.txt", "sed '1R {F}' a.txt"),
    *("awk 'BEGIN {getline l < \"{F}\"; print l}'", "vim -es '+r {F}'"),
    *("sqlite3 :memory: '.read {F}'", "script -c 'cat {F}' x.ts", "python3 - <<< 'open(\"{F}\")'"),
    *("curl -s file://localhost$PWD/{F}", "curl -s file://$PWD/{F}"),
    *("find . -name {N} -exec cat {} \\;", "find . -name {N} -exec sh -c 'cat $0' {} \\;"),
]


def verdict(decision: Decision) -> Verdict:
    return decision.verdict


@pytest.mark.parametrize(
    "text",
    [
        *(
            "tee /dev/fd/5/../.config/wcore/policy.toml 5<.",
            "rm -rf /dev/fd/5/../.config/wcore 5<.",
        ),
        *("cp a.txt /dev/stdin/../.config/wcore/policy.toml <.", "tee /proc/self/fd/0/../x <src"),
        *(
            "ln -s . y; rm -rf y/../.config/wcore",
            "ln -s . y && tee y/../.config/wcore/policy.toml",
        ),
        *("ln -s . y; cd y; rm -rf ../.config/wcore", "ln -s src/../.. y; mv y/../.config y/z"),
        *("ln -s src/a y; rm -rf y/../../../.config/wcore", "ln -s src y; cp a y/../../../x/../z"),
        *("ln -s ~ x; echo y > x/.config/wcore/policy.toml", "exec 5<~; echo x > /dev/fd/5/.x/y"),
        *(
            "echo x > ${X:-~}/.config/wcore/policy.toml",
            ": ${X:=~/.config}; rm $X/wcore/policy.toml",
        ),
        *(
            "mv src/l . && rm -rf l/.config/wcore",
            "mv src/l l; echo x >l/.config/wcore/policy.toml",
        ),
        *(
            "cd src && mv ../src ../../s; rm -rf ../../.config/wcore",
            "cp -P src/l .; rm -r l/wcore/x",
        ),
        *("rm -rf $DIRSTACK/../.config/wcore", 'rm -rf "${DIRSTACK[0]}"/../.config/wcore'),
        "touch $BASH_EXECUTION_STRING # ../.config/wcore/policy.toml",
        "trap 'rm $BASH_COMMAND' DEBUG; : ../.config/wcore/policy.toml",
    ],
)
def test_nobody_knows_what_a_text_reaches_through_what_it_opens_or_makes(
    home: Path, text: str
) -> None:
    for mode in (Mode.DEFAULT, Mode.FORCE):
        assert verdict(decided(home, text, mode)) is not Verdict.ALLOW


@pytest.mark.parametrize(
    "hole", ["$RANDOM", '"$@"', "$(x)", "`x`", "${!x}", "$_", "a$RANDOM", "$(x)y"]
)
@pytest.mark.parametrize(
    "climb", ["/..", "/../..", "/x/../..", "/./../y/../..", "//..", "/../x/.."]
)
def test_what_climbs_out_of_what_is_not_known_may_lead_anywhere(
    home: Path, hole: str, climb: str
) -> None:
    for mode in (Mode.DEFAULT, Mode.FORCE):
        for way in ("rm -rf {}/.config/wcore", "echo x >{}/.config/wcore/policy.toml"):
            text = way.format(hole + climb)
            assert verdict(decided(home, text, mode)) is not Verdict.ALLOW, text


@pytest.mark.parametrize(
    "text",
    [
        *("mkdir build && cd build && cmake ..", "cat src/../a.txt", "cp a.txt src/../b.txt"),
        *("cat </dev/stdin", "diff /dev/fd/3 /dev/fd/4", "mkdir -p out/x && ls out/x/.."),
    ],
)
def test_what_climbs_out_of_plain_folders_is_known(home: Path, text: str) -> None:
    assert verdict(decided(home, text, Mode.FORCE)) is Verdict.ALLOW


def test_each_rest_of_the_words_is_one_text_of_env() -> None:
    """Else a text of many would be as many texts as the square of that, and each is read."""
    assert split_strings(["-S", "a", "-S", "b"]) == ["a -S b"]
    assert len(split_strings(["-S", "env"] * 950)) == 1


@pytest.mark.parametrize("way", [*WRITES, *FOUND])
def test_our_own_files_are_written_in_no_way(home: Path, way: str) -> None:
    mine = str(home / ".config/wcore/policy.toml")
    theirs = [] if way in FOUND else [mine]
    for path in (".wcore/policy.toml", *theirs):
        for mode in (Mode.DEFAULT, Mode.FORCE):
            assert verdict(decided(home, of(way, path), mode)) is Verdict.DENY


@pytest.mark.parametrize(
    "around",
    [
        *("timeout 5 {}", "nice -n 3 {}", "env A=b {}", "command {}", "( {} )"),
        *("if true; then {}; fi", "f() { {}; }; f", "for i in 1 2; do {}; done", "sh <<'E'\n{}\nE"),
        *("true && {} || true", "cd src; {}", "cd src && cd .. && {}", "! {}", "x=$({})"),
        *("{} > out.txt 2>&1", "{} &"),
        *("false || { {}; }", "case a in a) {};; esac", "while {}; do :; done", "{} | cat"),
    ],
)
def test_what_stands_around_a_command_does_not_hide_what_it_reaches(
    home: Path, around: str
) -> None:
    whole = [way for way in [*WRITES, *FOUND] if "<<" not in way and "|" not in way]
    for way in whole:
        text = around.replace("{}", of(way, ".wcore/policy.toml"))
        assert verdict(decided(home, text, Mode.FORCE)) is not Verdict.ALLOW, text


@pytest.mark.parametrize(
    "text", ["csplit -qf{F} a 1", "sort -uo{F} a", "vim -V9{F} a.txt", "split -b9 a {F}"]
)
def test_a_path_may_follow_the_letters_of_options(home: Path, text: str) -> None:
    assert verdict(decided(home, of(text, ".wcore/x"), Mode.FORCE)) is Verdict.DENY


def test_a_search_that_finds_nothing_of_ours_is_free(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    for text in (
        "find . -empty -delete",
        "find . -type f -delete",
        "find . -name '*.toml' -delete",
    ):
        assert verdict(decided(tmp_path.resolve(), text, Mode.FORCE)) is Verdict.ALLOW


@pytest.mark.parametrize("root", ["~", "~/.config", "/"])
def test_a_search_above_our_own_folder_finds_it(home: Path, root: str) -> None:
    text = f"find {root} -name policy.toml -delete"
    assert verdict(decided(home, text, Mode.FORCE)) is Verdict.DENY


@pytest.mark.parametrize("way", [*WRITES, *FOUND])
def test_what_is_protected_is_written_in_no_way_unasked(home: Path, way: str) -> None:
    assert verdict(decided(home, of(way, ".vscode/tasks.json"))) is not Verdict.ALLOW


@pytest.mark.parametrize("way", [*WRITES, *FOUND])
def test_what_may_not_be_written_is_written_in_no_way(home: Path, way: str) -> None:
    text = of(way, "secrets/s.txt")
    assert verdict(decided(home, text, Mode.FORCE, 'deny = ["Write(secrets/**)"]')) is Verdict.DENY


@pytest.mark.parametrize("way", READS)
def test_what_may_not_be_read_is_read_in_no_way(home: Path, way: str) -> None:
    text = of(way, "secrets/s.txt")
    assert verdict(decided(home, text, Mode.FORCE, 'deny = ["Read(secrets/**)"]')) is Verdict.DENY
    assert decided(home, of(way, "conf/.env")).why.row is Row.PROTECTED


@pytest.mark.parametrize(
    "way",
    [
        *("unheard-of {F}", "command unheard-of {F}", "python3 -m json.tool a.json {F}"),
        *("GIT_TRACE2=$PWD/{F} git status", "unheard-of --x={F}"),
        *("GIT_WORK_TREE={D} git checkout -f", "HISTFILE={F}; set -o history; history -w"),
        *("tar -cf{F} X", "shuf -eo{F} a b", "PS4='$(rm {F})'; set -x; true"),
        *("split --filter='tee {F}' a.txt", "GIT_EDITOR='rm {F}' git commit", "zip -TT 'rm {F}' z"),
        *("LESSOPEN='|rm {F}' less a", "ssh -o ProxyCommand='rm {F}' h", "export X='rm {F}'"),
        *("git -c core.pager='rm {F}' log", "rg --pre 'rm {F}' x", "bat --pager='rm {F}' a"),
        *("git grep -O'rm {F};' x", "bash --rcfile <(echo rm {F}) -i", "git checkout -m {F}"),
        "x='$(rm {F})'; echo \"${x@P}\"",
        *("git -C {D} init", "make -C {D}", "unheard-of 'into {F}.'"),
    ],
)
def test_a_program_that_nobody_knows_asks_about_our_own_files_in_every_mode(
    home: Path, way: str
) -> None:
    for mode in (Mode.DEFAULT, Mode.FORCE):
        assert verdict(decided(home, of(way, ".wcore/policy.toml"), mode)) is Verdict.ASK
    for reader in ("cat", "ls", "git diff", "cp -t src", "test -f"):
        text = f"{reader} .wcore/policy.toml"
        assert verdict(decided(home, text, Mode.FORCE)) is Verdict.ALLOW


@pytest.mark.parametrize(
    "text",
    [
        *("git commit --message='see ~/.ssh'", "git tag -am 'see ~/.aws' v1", "rg -e .env a.txt"),
        *("git grep '~/.ssh'", "git log --grep .env", "grep -F .git/hooks a.txt", "tr / - < a.txt"),
        *("rsync -av --exclude .git ./ host:/srv", "scp a.txt h1:/tmp/", "awk -F/ '{print}' a.txt"),
        *("cut -d/ -f1 a.txt", "IFS=/ read x y < a.txt", "PATH=$HOME/bin:$PATH make", "expr 6 / 2"),
        *("git commit -am 'see ~/.ssh/config'", "grep -rn '~/.ssh' src", "git ls-files | xargs wc"),
        *("source .venv/bin/activate && python a.py", "find . -name '*.pyc' | xargs rm -f"),
        *('grep -rn "foo .env" .', 'git commit -m "touch .vscode/tasks.json and .env"'),
        "awk -F/ '{print $1}' a.txt",
        *("find . -name '*.py' -print0 | xargs -0 grep foo", "git ls-files | xargs wc -l"),
        *("find . -name '*.pyc' -delete", "find . -name '*.py' -exec sed -i s/a/b/ {} +"),
        *("find . -name '*.py' -exec grep foo {} +", "find . -type f -exec wc -l {} +"),
        "find . -path ./node_modules -prune -o -name '*.orig' -exec rm {} +",
        "python3 -c \"import json; print(json.load(open('package.json')))\"",
        *("awk '$3 > 100 {print $1}' a.txt", "sed -n '1,20p' a.txt", "sed -i 's/w x/r y/g' a.txt"),
        *("make -C src all", "tar xzf x.tar -C src", "git -C src status", "env -C src make"),
        *("cat > b.txt <<E\nsee .env\nE", "gh pr create --title x --body 'see .env'"),
        *("bash -c 'echo see'", "while read l; do echo $l; done < a.txt", "jq '.a.b' x.json"),
        "python3 - <<'E'\nimport os.path\nprint(os.path.join('/etc', 'b'))\nE",
    ],
)
def test_what_only_tells_or_finds_nothing_does_not_ask(home: Path, text: str) -> None:
    for policy in ("", 'deny = ["Read(secrets/**)", "Write(secrets/**)"]'):
        assert verdict(decided(home, text, policy=policy)) is Verdict.ALLOW


def test_a_text_that_is_not_understood_asks_where_paths_are_denied(home: Path) -> None:
    for text in ("coproc $x", "$(echo cat) $x/s.txt"):
        denies = 'deny = ["Read(secrets/**)"]'
        assert verdict(decided(home, text, Mode.FORCE, denies)) is Verdict.ASK
        assert verdict(decided(home, text, Mode.FORCE)) is Verdict.ALLOW


@pytest.mark.parametrize("text", ["awk 'BEGIN {while ((getline l < \"secret\") > 0) print l}'",
                                  "python3 -c \"print(open('secret').read())\""])  # fmt: skip
def test_a_bare_name_that_a_script_opens_is_a_path(home: Path, text: str) -> None:
    (home / "ws/secret").touch()
    assert verdict(decided(home, text, Mode.FORCE, 'deny = ["Read(secret)"]')) is Verdict.DENY


def test_many_folders_lead_anywhere(home: Path) -> None:
    for times in (1, 63, 64, 256):
        text = f"git {'-C . ' * times}-C .wcore rm policy.toml"
        assert verdict(decided(home, text)) is not Verdict.ALLOW, times


WORDS = (
    *"tar git find env sed awk ed xargs read sqlite3 gdb curl unzip cc make init config".split(),
    *"-C -S -f -x -c -d -e -exec -name -path -delete -o ! ( ) {} + ; , -prune --file= w r".split(),
    *("a.txt", "src", "'w x'", "'", '"', "$x", "*", "<<<", "|", "-", "--", "''", "/", "."),
)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(WORDS), max_size=9))
def test_no_words_are_too_odd_to_be_read(words: list[str]) -> None:
    mentions_of(" ".join(words), Places("/ws", "/home"), {})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("--target-directory=..", text) for text in ("cp * a.txt", "mv *=* src", "cp --t* a")),
        *(("-t..", text) for text in ("cp * a.txt", "mv -* src")),
    ],
)
def test_a_file_that_is_named_like_an_option_is_one_where_a_pattern_finds_it(
    home: Path, name: str, text: str
) -> None:
    assert verdict(decided(home, text)) is not Verdict.DENY
    path = home / "ws" / name
    path.write_text("x")
    try:
        assert verdict(decided(home, text)) is Verdict.ASK
    finally:
        path.unlink()
    assert verdict(decided(home, "cp *.txt src")) is Verdict.ALLOW
