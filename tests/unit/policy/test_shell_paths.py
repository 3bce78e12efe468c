"""Paths of shell texts in the decision: what is denied, what asks whatever was granted, and why."""

import pytest
from tables import rows

from wcore.policy import shell
from wcore.policy.decide import DecisionContext, decide
from wcore.policy.facts import Facts
from wcore.policy.grants import Grant, GrantBook
from wcore.policy.protected import Places
from wcore.policy.rules.parser import parse
from wcore.policy.rules.policy_set import PolicySet
from wcore.policy.rules.rule import Level, ParseContext
from wcore.policy.shell.paths.named_paths import candidates, paths_named
from wcore.policy.shell.paths.values import PATTERN, Candidate, Disk, LookupResult
from wcore.vocabulary import Always, Category, Decision, Mode, Row, Verdict

PLACES = Places("/home/ann/code", "/home/ann", own=("/home/ann/.config/wcore",))
ENVIRON = {"HOME": "/home/ann", "TOKEN": "s3cr3t", "XDG_CONFIG_HOME": "/home/ann/.config"}
GRANTED = GrantBook([Grant("g", "Bash", Always(), "", "")])


def decided(
    text: str, policy: str = "", mode: Mode = Mode.DEFAULT, disk: Disk | None = None
) -> Decision:
    """Decide on `text` where every Bash command was granted."""
    files = [parse(policy, "p", Level.USER, ParseContext(PLACES, {}))] if policy else []
    paths = tuple(paths_named(text, PLACES, ENVIRON, disk or {}))
    facts = Facts("Bash", Category.EXEC, paths, shell.analyse(text))
    return decide(facts, DecisionContext(mode, GRANTED, frozenset({"Bash"}), PolicySet(files)))


def outcome(text: str, policy: str = "") -> tuple[str, str]:
    decision = decided(text, policy)
    return decision.verdict.value, decision.why.row.value


OWN = [
    'git log -1 --output="$HOME/.config/wcore/policy.toml"',
    'echo x > "$HOME/.config/wcore/policy.toml"',
    'echo x > "${XDG_CONFIG_HOME}/wcore/policy.toml"',
    'cd ~/.config && echo "# y" >> wcore/policy.toml',
    'd=wcore; echo "# z" >> ~/.config/$d/policy.toml',
    "sed -i s/a/b/ .wcore/policy.toml",
    "${NOPE}rm -r .wcore",
]


@rows("mode", list(Mode))
@rows("text", OWN)
def test_writing_our_own_files_is_denied_in_every_mode(text: str, mode: Mode) -> None:
    assert decided(text, mode=mode).verdict is Verdict.DENY


@rows(
    ("text", "row"),
    [
        ("echo x > /tmp/OUTSIDE", Row.OUTSIDE),
        ("cat < /etc/hostname", Row.OUTSIDE),
        ("{ ls; ls; } > ../x", Row.OUTSIDE),
        ("for i in 1 2; do echo $i; done >> ~/log", Row.OUTSIDE),
        ("(cd /; echo) &> x; echo 2>| ../y", Row.OUTSIDE),
        ("cat > ~/x <<'E'\nbody > x\nE", Row.OUTSIDE),
        ("exec {fd}>/tmp/x", Row.OUTSIDE),
        ("echo x >&/tmp/x", Row.OUTSIDE),
        ("cd /outside && git status", Row.OUTSIDE),
        ("cat ../../../../etc/hostname ../x", Row.OUTSIDE),
        ("cp a ~/b", Row.OUTSIDE),
        ("dd if=a of=/tmp/b", Row.OUTSIDE),
        ("tool --out=/srv/x/y", Row.OUTSIDE),
        ("git -C /srv/x log", Row.OUTSIDE),
        ("cat ~bob/notes", Row.OUTSIDE),
        ("read f; echo > $f", Row.OUTSIDE),
        ("echo > $(tool)", Row.OUTSIDE),
        ("cd $(tool); echo > x", Row.OUTSIDE),
        ("$(tool) x; echo", Row.OUTSIDE),
        ("coproc x", Row.OUTSIDE),
        ('cat "${X}.env"', Row.PROTECTED),
        ("cat $X.env", Row.PROTECTED),
        ('cat ./"$X".env', Row.PROTECTED),
        ('cat .e"$X"nv', Row.PROTECTED),
        ("cat {.,}env", Row.PROTECTED),
        ("cat .en[!]x]", Row.PROTECTED),
        ('cat "$HOME/.s$X"sh/id', Row.PROTECTED),
        ('cat "${X}.git/config"', Row.PROTECTED),
        ("cat /etc/shadow", Row.PROTECTED),
        ("cat .wcore/policy.toml", Row.PROTECTED),
        ('git log --output="${NOPE}.git/hooks/pre-commit"', Row.PROTECTED),
        ("read f; cat $f.env", Row.PROTECTED),
        ("cat .$(tool)v", Row.PROTECTED),
        ("cd $(tool) && cat .env", Row.PROTECTED),
        ("cp x .github/workflows/ci.yml", Row.PROTECTED),
    ],
)
def test_it_asks_although_every_command_was_granted(text: str, row: Row) -> None:
    decision = decided(text)
    assert (decision.verdict, decision.why.row) == (Verdict.ASK, row)
    assert decided(text, mode=Mode.FORCE).verdict is Verdict.ALLOW


@rows(
    ("text", "row"),
    [
        ('cd "" && cat .env', Row.PROTECTED),
        ('cd "$NOPE" && cat ../x', Row.OUTSIDE),
        ("cd '' && echo x >> .git/config", Row.PROTECTED),
        ("cd -P '' && cat .env", Row.PROTECTED),
        ("pushd '' && cat .env", Row.PROTECTED),
        ("X= && cd $X/ && cat /srv/x", Row.OUTSIDE),
        ("cd $(tool) && cat x", Row.OUTSIDE),
        ("cd $(tool) && rm x", Row.OUTSIDE),
        ("cd $(tool) && tool ./x", Row.OUTSIDE),
        ("cd $(tool) && echo x", None),
        ("while cd $(tool); do cat x; break; done", Row.OUTSIDE),
        ("if cd $(tool); then cat x; fi", Row.OUTSIDE),
        ('f() { cd "$1"; }; f $(tool); cat x', Row.OUTSIDE),
        ("cd() { builtin cd $(tool); }; cd sub; cat x", Row.OUTSIDE),
        ("CDPATH=$(tool); cd sub; cat x", Row.OUTSIDE),
        ("trap 'cat .env' EXIT; cd sub", Row.PROTECTED),
        ("trap 'cat ../x' EXIT; cd sub", Row.OUTSIDE),
        ("trap 'rm -f x' EXIT; cat y", None),
    ],
)
def test_words_are_judged_in_every_folder_that_the_text_may_be_in(
    text: str, row: Row | None
) -> None:
    decision = decided(text)
    assert (decision.why.row if decision.verdict is Verdict.ASK else None) == row


@pytest.mark.parametrize(
    "text",
    [
        'cd "" && rm .wcore/policy.toml',
        "for i in 1; do cd .wcore; done; rm policy.toml",
        "while rm policy.toml; do cd .wcore; done",
        "trap 'rm policy.toml' EXIT; cd .wcore",
        "trap 'rm policy.toml' EXIT; for i in 1; do (cd sub); cd .wcore; done",
    ],
)
def test_our_own_files_are_denied_in_every_folder_that_the_text_may_be_in(text: str) -> None:
    assert decided(text, mode=Mode.FORCE).verdict is Verdict.DENY


@rows(
    "text",
    [
        "for f in *.py; do python3 $f; done > out.txt",
        'for f in *.md; do tool $f > "${f%.md}.html"; done',
        "cd sub && make > log.txt",
        "cat <<E > a.txt\nit's > /etc/x, ~/x and .env\nE",
        "git commit -m 'see /etc/hosts and .env > x'",
        "x=$(git rev-parse HEAD); echo $x > rev.txt",
        "ls /usr/bin; cat /etc/hosts",
        "python3 -c 'print(1 > 2)' 2>/dev/null >&2",
        "awk '/foo/ {print $2 > 1}' a.txt",
        'echo "$TOKEN" /etc/x',
        'curl -H "Auth: $TOKEN" https://example.com/a?b=c',
        "diff <(sort a) <(sort b) > >(tool)",
        "/srv/tools/run x",
        "make -C /home/ann/code all",
        "D=build/out; mkdir -p $D; make > $D/log",
        "[[ a > b ]] && ((3 > 2)) || true",
        "sort a.txt -o a.txt",
        "grep -rn --exclude-dir=.git --exclude-dir .ssh import .",
        "tar --exclude=.env -cf a.tar .",
        "rsync -a --exclude .git src/ dest/",
        "find . -not -path './.git/*' -type f",
        "find . -type f ! -name .env ! -path './.git/*' -exec wc -l {} +",
        "find . -path ./.git -prune -o -type f -print",
    ],
)
def test_everyday_texts_do_not_ask(text: str) -> None:
    disk: dict[Candidate, LookupResult] = {}
    for each in candidates(text, PLACES, ENVIRON):
        real = (each.path,) if each.is_literal else ()
        disk[each] = LookupResult(real, exists=False, has_parent=False)
    assert decided(text, disk=disk).verdict is Verdict.ALLOW


@rows(
    "text",
    [
        "find . -path ./.git/config -exec cat {} +",
        "find . -not -not -path ./.git/config -exec cat {} +",
        "find . ! ! -name .env -exec cat {} +",
        "find . ! -name .env -o -exec cat {} +",
        "find . ! \\( ! -name .env \\) -exec cat {} +",
        "find . -name .env -prune -o -print , -exec cat {} +",
        "find . -name .env -prune -exec cat {} +",
        "find . -type f -name .env -prune -o -print",
        "find .env -not -name x",
        "tool --exclude=.env",
        "grep --exclude-dir=.git x .env",
        "cat --exclude .env",
        "tar --exclude a .env",
        "cat -- -/../.env",
    ],
)
def test_what_is_not_left_out_for_sure_asks(text: str) -> None:
    assert outcome(text) == ("ask", Row.PROTECTED.value)


DENY = 'deny = ["Read(secret/**)", "Write(gen/**)"]'


@rows(
    ("text", "verdict"),
    [
        ("cat secret/x", "deny"),
        ("cat < secret/x", "deny"),
        ("cat < gen/x", "allow"),
        ("cat gen/x", "allow"),
        ("echo x > secret/x", "allow"),
        ("echo x > gen/x", "deny"),
        ("sed -i s/a/b/ gen/x", "deny"),
        ("sed s/a/b/ gen/x", "allow"),
        ("cp secret/x y", "deny"),
        ("cp x gen/y", "deny"),
        ("mv secret/x y", "deny"),
        ("cd secret && cat x", "deny"),
        ("tool --in=secret/x", "deny"),
        ("for f in secret/*; do cat $f; done", "deny"),
        ("ls .", "allow"),
    ],
)
def test_what_files_are_denied_is_denied_to_the_shell_in_the_same_direction(
    text: str, verdict: str
) -> None:
    assert outcome(text, DENY)[0] == verdict
    assert decided(text, DENY, Mode.FORCE).verdict.value == verdict


def test_the_first_rule_that_fits_a_path_counts_as_it_does_for_the_file_tool() -> None:
    policy = """
[[rule]]
match = "Read(secret/open/**)"
do = "allow"
[[rule]]
match = "@info(secret/**)"
do = "deny"
"""
    assert outcome("cat secret/open/x", policy)[0] == "allow"
    assert outcome("cat secret/open/x secret/y", policy) == ("deny", "rule")


@rows(
    "text",
    [
        *("cat secret/x", "cat <> secret/x", "x=sec; x+=ret; cat $x/x", "cat ${X}secret/x"),
        "read x <<< secret; cat $x/x",
        *("f() { cat $1/x; }; f secret", "bash -c 'cat $0/x' secret", "cat $IFS./secret/x"),
        *("x=secret bash -c 'cat $x/x'", "env x=secret bash -c 'cat $x/x'", ". ./rc; cat secret/x"),
        "true | { x=secret; cat $x/x; }",
    ],
)
def test_what_read_is_denied_is_denied_however_it_is_spelled(text: str) -> None:
    assert decided(text, DENY, Mode.FORCE).verdict is Verdict.DENY


def test_an_absolute_allow_rule_lifts_the_border_for_the_shell_as_well() -> None:
    policy = '[[rule]]\nmatch = "Read(/srv/data/**)"\ndo = "allow"\n'
    assert outcome("cat /srv/data/x", policy)[0] == "allow"
    assert outcome("cat < /srv/data/x", policy)[0] == "allow"
    assert outcome("echo > /srv/data/x", policy) == ("ask", "outside")
    assert outcome("cat /srv/other/x", policy) == ("ask", "outside")


def test_links_and_patterns_are_followed_to_what_the_disk_says() -> None:
    link = Candidate("/home/ann/code/link")
    stars = Candidate(f"/home/ann/code/{PATTERN}")
    real = LookupResult(("/home/ann/.config/wcore/policy.toml",))
    assert decided("echo > link", disk={link: real}).verdict is Verdict.DENY
    assert decided("cat link", disk={link: real}).why.row is Row.PROTECTED
    assert (
        decided("cat *", disk={stars: LookupResult(("/home/ann/code/a",))}).verdict is Verdict.ALLOW
    )
    found = LookupResult(("/home/ann/code/a", "/home/ann/code/id_rsa"))
    assert decided("cat *", disk={stars: found}).why.row is Row.PROTECTED


def test_a_value_of_the_environment_is_no_fact_unless_it_names_what_is_there() -> None:
    disk: dict[Candidate, LookupResult] = {}
    for each in candidates("tool $TOKEN", PLACES, ENVIRON):
        disk[each] = LookupResult((each.path,), exists=False)
    assert paths_named("tool $TOKEN", PLACES, ENVIRON, disk) == []


def test_the_longest_texts_are_read_in_time_or_not_at_all() -> None:
    for text in ("((" * 8000, "{" * 8000, "$(" * 8000, "a " * 32000, "while " * 10000, "`" * 16000):
        assert len(paths_named(text, PLACES, ENVIRON)) <= 1024
    assert any(fact.unknown for fact in paths_named("x " * 64_000, PLACES, ENVIRON))


@pytest.mark.parametrize(
    "text",
    [
        "echo x >&'$(cat .env)'",
        "echo x >&'`touch a`'",
        "X='$(id)'; echo >&\"$X\"",
        "echo >&'~/.bashrc'",
        "echo >&\\$HOME/x",
        "cat <&'$(id)'",
        "echo >&$(cat a)",
    ],
)
def test_what_bash_expands_twice_asks(text: str) -> None:
    assert outcome(text)[0] == "ask"


def test_what_is_duplicated_or_plain_does_not_ask() -> None:
    for text in ("echo >&2", "echo >&a.txt", 'echo 2>&1 >&"$N"', "X=a; echo >&$X.txt"):
        assert outcome(text)[0] == "allow", text


@pytest.mark.parametrize("text", ["echo 3>~$X", 'cat <""~/x', "echo > '~'/x", "echo > \\~"])
def test_a_tilde_that_the_shell_does_not_expand_is_a_name(text: str) -> None:
    found = [fact for fact in paths_named(text, PLACES, ENVIRON) if "~" in fact.path]
    assert [fact.path[:16] for fact in found] == ["/home/ann/code/~"]
    assert found[0].inside


def test_a_tilde_that_a_program_may_expand_is_the_home_as_well() -> None:
    named = {fact.path for fact in paths_named("rm '~/.bashrc'", PLACES, ENVIRON)}
    assert {"/home/ann/.bashrc", "/home/ann/code/~/.bashrc"} <= named
