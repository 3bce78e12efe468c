import pytest
from tables import rows
from unit.policy.shell.gate import grant, why

from wcore.policy.shell import PrefixGrant, PrefixGrantRefused, parse_grant
from wcore.policy.shell.grants import ALTERNATIVES_MAX, GRANT_CHARS_MAX


@rows(
    ("text", "words"),
    [
        ("cargo", ("cargo",)),
        ("cargo ", ("cargo",)),
        (" \tcargo\t test ", ("cargo", "test")),
        ("cargo:*", ("cargo",)),
        ("cargo *", ("cargo",)),
        ("cargo*", ("cargo",)),
        ("npm run lint:*", ("npm", "run", "lint")),
        ("npm run lint:fix", ("npm", "run", "lint:fix")),
        ("./gradlew", ("./gradlew",)),
        ("/usr/bin/make", ("/usr/bin/make",)),
        ("RUST_BACKTRACE=1 cargo", ("RUST_BACKTRACE=1", "cargo")),
        ("X+=1 cargo", ("X+=1", "cargo")),
        ("python3 -m pytest", ("python3", "-m", "pytest")),
        ("make CC=gcc", ("make", "CC=gcc")),
        ("[", ("[",)),
        ("[ -f", ("[", "-f")),
        (":", (":",)),
    ],
)
def test_a_grant_is_its_words_without_blanks_and_trailing_wildcard(
    text: str, words: tuple[str, ...]
) -> None:
    assert grant(text).alternatives == (words,)
    assert grant(text).words == words


@pytest.mark.parametrize(
    ("text", "alternatives"),
    [
        ("cargo {build,test}:*", (("cargo", "build"), ("cargo", "test"))),
        ("{cargo,rustc} --version", (("cargo", "--version"), ("rustc", "--version"))),
        ("car{go,t}", (("cargo",), ("cart",))),
        ("npm run test:{unit,e2e}", (("npm", "run", "test:unit"), ("npm", "run", "test:e2e"))),
    ],
)
def test_a_group_is_one_grant_for_each_of_its_words(
    text: str, alternatives: tuple[tuple[str, ...], ...]
) -> None:
    assert grant(text).alternatives == alternatives


def test_a_group_does_not_widen_the_grant() -> None:
    assert why("cargo publish", "cargo {build,test}:*") == "no_grant"
    assert why("cargo build && cargo test x", "cargo {build,test}:*") is None


@pytest.mark.parametrize("text", ["cargo", " cargo\t test:* ", "{a,b} x", "A=1 b", "[", "x *"])
def test_the_text_of_a_grant_grants_the_same_again(text: str) -> None:
    first = grant(text)
    assert grant(first.text) == first
    assert first.text == first.text.strip()
    assert "\t" not in first.text


@rows(
    "text",
    [
        *("", " ", "\t", "*", ":*", " * ", "{}", "{,}", "{a}", "{a,}", "x{a,b}{c,d}", "{a,{b,c}}"),
        *("{a b,c}", "}a,b{", "{a,b", "a,b}"),
        *("cargo;", "cargo;ls", "a&&b", "a|b", "a&", "a>b", "a<b", "`a`", "$(a)", "$A", "~/x"),
        *('"', "''", '""', "'cargo'", "a\\b", "a\nb", "\ncargo", "cargo\n", "cargo\r", "a\0b"),
        *("cargo\xa0", "\u200bcargo", "carg\u043e", "a*b", "* x", "c?rgo", "[ab]", "a!", "#a", "^"),
        *('git commit -m "', "cargo build; rm x", "cargo build && ", "cargo a*b", "cargo \u00e9"),
        *("cargo 'a'", "cargo $A", "cargo ~", "cargo a\nb", "A=1 B='x' c", "env A=$B c", "cargo ^"),
        *("caf\u00e9", "a\ud800", "(a)", "a(", "-x", "+x", "=x", "%1", ",x", "/", "a/", "cargo/"),
    ],
)
def test_g1_a_word_that_is_not_plain_grants_nothing(text: str) -> None:
    assert isinstance(parse_grant(text), PrefixGrantRefused)


@pytest.mark.parametrize("text", ["FOO=1", "FOO=", "FOO+=1", "A=1 B=2", "env FOO=1", "env A=1 B=2"])
def test_g2_assignments_alone_grant_nothing(text: str) -> None:
    assert isinstance(parse_grant(text), PrefixGrantRefused)


@rows(
    "name",
    "PATH IFS ENV BASH_ENV BASHOPTS BASH_FUNC_x LD_PRELOAD LD_LIBRARY_PATH LC_ALL LC_CTYPE"
    " POSIXLY_CORRECT POSIX_PEDANTIC SHELLOPTS PS4 CDPATH GLOBIGNORE EXECIGNORE".split(),
)
@rows("form", ["{}=x cargo", "{}+=x cargo", "A=1 {}=x cargo", "env {}=x cargo"])
def test_no_grant_sets_what_changes_the_meaning_of_commands(name: str, form: str) -> None:
    assert isinstance(parse_grant(form.format(name)), PrefixGrantRefused)


@rows(
    "word",
    "if then elif else fi for in do done while until case esac select function time coproc".split(),
)
def test_g3_a_reserved_word_grants_nothing(word: str) -> None:
    for text in (word, f"{word} cargo", f"A=1 {word} cargo", f"env {word} cargo", f"nice {word}"):
        assert isinstance(parse_grant(text), PrefixGrantRefused), text
    assert isinstance(parse_grant(f"cargo {word}"), PrefixGrant)


@rows("name", ": true false echo pwd cd exit kill type printf test [".split())
def test_g4_a_harmless_builtin_is_honoured(name: str) -> None:
    assert grant(name).words == (name,)


@rows(
    "name",
    ". alias bg bind break builtin caller command compgen complete compopt continue declare dirs"
    " disown enable eval exec export fc fg getopts hash help history jobs let local logout mapfile"
    " popd pushd read readarray readonly return set shift shopt source suspend times trap typeset"
    " ulimit umask unalias unset wait".split(),
)
def test_g4_any_other_builtin_grants_nothing(name: str) -> None:
    for text in (name, f"{name} x", f"A=1 {name}", f"nohup {name}", f"{name}*", f"{name}:*"):
        assert isinstance(parse_grant(text), PrefixGrantRefused), text


@rows(
    "text",
    [
        *("env cargo", "env RUST_LOG=debug cargo", "env A=1 B=2 cargo test", "/usr/bin/env cargo"),
        *("timeout 60 cargo", "timeout 1.5m cargo test", "nohup cargo", "setsid cargo"),
        *("nice cargo", "ionice cargo", "stdbuf cargo", "sudo cargo", "doas cargo", "xargs cargo"),
        *("watch ls", "bash ci.sh", "sh ./ci.sh", "zsh x", "nice timeout 5 env A=1 bash ci.sh"),
    ],
)
def test_g5_a_runner_is_honoured_with_the_command_that_it_runs(text: str) -> None:
    assert isinstance(parse_grant(text), PrefixGrant)


@rows(
    "runner",
    "env nohup setsid nice ionice stdbuf sudo doas xargs watch bash sh zsh dash ksh fish"
    " /usr/bin/env /bin/bash ./bash bash5 bash-5.2".split(),
)
def test_g5_a_runner_alone_or_with_an_option_grants_nothing(runner: str) -> None:
    for text in (runner, f"{runner} -x", f"{runner} -x cargo", f"{runner} --", f"{runner} +x a"):
        assert isinstance(parse_grant(text), PrefixGrantRefused), text


@rows(
    "text",
    [
        *("timeout", "timeout 5", "timeout cargo", "timeout -k 5 5 cargo", "timeout 5 -s cargo"),
        *("env nohup", "env -i cargo", "env -S cargo", "env A=1 -i cargo", "nice env", "env env"),
        *("env a.b=c", "env a.b=c cargo", "sudo A=1 cargo", "nohup A=1 cargo", "timeout 5 A=1 x"),
        *("sudo -u x cargo", "xargs -0 rm", "stdbuf -oL cargo", "bash -c", "sh -ec", "bash --"),
        *("env bash", "env bash -c", "nice sh -c x", "bash /dev/stdin", "bash /proc/self/fd/0"),
        *("watch eval", "nohup exec", "xargs builtin"),
    ],
)
def test_g5_whatever_leaves_open_what_runs_grants_nothing(text: str) -> None:
    assert isinstance(parse_grant(text), PrefixGrantRefused)


@pytest.mark.parametrize(
    "name",
    "su chroot unshare nsenter flock script parallel busybox strace gdb /usr/bin/su".split(),
)
def test_g5_runners_with_rich_command_lines_grant_nothing(name: str) -> None:
    for text in (name, f"{name} x", f"{name} x cargo", f"env {name} cargo"):
        assert isinstance(parse_grant(text), PrefixGrantRefused), text


def test_one_bad_alternative_spoils_the_grant() -> None:
    assert isinstance(parse_grant("{cargo,eval}"), PrefixGrantRefused)
    assert isinstance(parse_grant("{PATH,FOO}=x cargo"), PrefixGrantRefused)
    assert isinstance(parse_grant("{cargo,ls;}"), PrefixGrantRefused)


def test_the_size_of_a_grant_is_bounded() -> None:
    many = ",".join("abcdefghijklmnopqrstuvwxyzABCDEFG"[:ALTERNATIVES_MAX])
    assert len(grant(f"x {{{many}}}").alternatives) == ALTERNATIVES_MAX
    assert isinstance(parse_grant(f"x {{{many},more}}"), PrefixGrantRefused)
    assert isinstance(parse_grant("x" * GRANT_CHARS_MAX), PrefixGrant)
    assert isinstance(parse_grant("x" * (GRANT_CHARS_MAX + 1)), PrefixGrantRefused)


def test_a_refusal_names_its_reason() -> None:
    refused = parse_grant("eval ls")
    assert isinstance(refused, PrefixGrantRefused)
    assert "eval" in refused.reason
