import pytest
from tables import rows
from unit.policy.shell.gate import cover, grant, where, why

from wcore.policy.shell import Analysis, Reason, covers, matches


@pytest.mark.parametrize(
    ("text", "grants"),
    [
        ("crate", ("crate",)),
        ("crate test", ("crate test",)),
        ("crate   test\t--lib", ("crate test",)),
        ("git log | head -5", ("git log", "head")),
        ("RUST_BACKTRACE=1 crate test", ("RUST_BACKTRACE=1 crate",)),
        ("env A=1 crate run", ("env A=1 crate",)),
        ("crate test", ("rm", "crate")),
        ("npm run lint", ("npm run lint:*",)),
    ],
)
def test_a_command_that_begins_with_granted_words_is_covered(
    text: str, grants: tuple[str, ...]
) -> None:
    assert why(text, *grants) is None


@rows(
    ("text", "granted"),
    [
        *((text, "crate") for text in ("cratefoo", "crate-foo", "./crate", "Crate", "crate.exe")),
        *((text, "crate test") for text in ("crate", "crate testfoo", "crate -x test", "crate b")),
        ("git -C x status", "git status"),
        ("crate", "FOO=1 crate"),
        ("crat\u0435 test", "crate"),
        ("crate:", "crate"),
    ],
)  # fmt: skip
def test_a_command_that_only_resembles_the_grant_is_not(text: str, granted: str) -> None:
    assert why(text, granted) == Reason.NO_GRANT


@pytest.mark.parametrize(
    ("text", "granted"),
    [
        *((text, "crate") for text in ("c''argo", "'crate'", '"crate"', "\\crate", "car\\\ngo")),
        ("'crate' x", "crate x"),
        ("crate\\\n test", "crate"),
    ],
)
def test_a_granted_word_must_be_written_plainly(text: str, granted: str) -> None:
    assert why(text, granted) == Reason.QUOTED_HEAD


def test_later_granted_words_must_be_plain_as_well() -> None:
    assert why("git 'log'", "git log") == Reason.NO_GRANT
    assert why("git 'log'", "git") is None


@pytest.mark.parametrize(
    "head", ["$A", "${A}", '"$A"', "car$A", "c*", "/bin/c?t", "[c]argo", "{crate,x}", "~/crate"]
)
def test_a_computed_head_is_not_covered(head: str) -> None:
    assert why(f"{head} x") == Reason.DYNAMIC_HEAD
    assert where(f"crate; {head} x") == head


@pytest.mark.parametrize("text", ["A=1 crate", "A= crate", "A+=1 crate", "A=1", "B=2 A=1 crate"])
def test_an_assignment_that_the_grant_does_not_spell_out_is_not_covered(text: str) -> None:
    assert why(text, "crate", "A=2 crate") == Reason.ASSIGNMENT


def test_assignments_count_in_their_order_and_completely() -> None:
    assert why("A=1 B=2 crate", "A=1 crate") == Reason.ASSIGNMENT
    assert why("A=1 B=2 crate", "A=1 B=2 crate") is None
    assert why("B=2 A=1 crate", "A=1 B=2 crate") == Reason.ASSIGNMENT
    assert why("A='1' crate", "A=1 crate") == Reason.ASSIGNMENT


def test_every_command_must_be_covered() -> None:
    assert why("crate && ls", "crate") == Reason.NO_GRANT
    assert where("crate && ls -l | crate", "crate") == "ls -l"
    assert why("crate && ls -l | crate", "crate", "ls") is None


def test_no_grants_cover_nothing() -> None:
    coverage = covers("crate", [])
    assert not coverage.covered
    assert coverage.reason == Reason.NO_GRANT


def test_an_analysis_without_commands_is_not_covered() -> None:
    assert matches(Analysis(""), [grant("crate")]).reason == Reason.EMPTY


def test_coverage_tells_the_commands() -> None:
    coverage = cover("crate a; crate b", "crate")
    assert [tuple(word.source for word in c.words) for c in coverage.commands] == [
        ("crate", "a"),
        ("crate", "b"),
    ]


@rows(
    ("text", "grants"),
    [
        ("cd sub && ./run.sh", ("cd", "./run.sh")),
        ("cd sub; bin/tool", ("cd", "bin/tool")),
        ("cd sub\n../x", ("cd sub", "../x")),
        ("cd && A=1 ./run.sh", ("cd", "A=1 ./run.sh")),
        ("cd sub && nohup ./run.sh", ("cd", "nohup ./run.sh")),
        ("cd sub && env A=1 ./run.sh", ("cd", "env A=1 ./run.sh")),
        ("cd sub && bash ci.sh", ("cd", "bash ci.sh")),
        ("cd sub && timeout 5 sh ci.sh", ("cd", "timeout 5 sh ci.sh")),
        ("cd evil && python3 test.py", ("cd", "python3 test.py")),
        ("cd evil; node test.js", ("cd", "node test.js")),
        ("cd evil || timeout 9 python3 test.py x", ("cd", "timeout 9 python3 test.py")),
        ("cd evil && pytest tests/unit", ("cd", "pytest tests/unit")),
    ],
)
def test_a_relative_program_after_cd_is_not_covered(text: str, grants: tuple[str, ...]) -> None:
    assert why(text, *grants) == Reason.RELATIVE_AFTER_CD


@pytest.mark.parametrize(
    ("text", "grants"),
    [
        ("cd sub && ls", ("cd", "ls")),
        ("cd sub && /usr/bin/make", ("cd", "/usr/bin/make")),
        ("./run.sh && cd sub && ls", ("cd", "ls", "./run.sh")),
        ("cd sub && nohup make ./x", ("cd", "nohup make")),
        ("cd sub && bash /opt/ci.sh", ("cd", "bash /opt/ci.sh")),
        ("cd sub && python3 /opt/a.py", ("cd", "python3 /opt/a.py")),
        ("cd sub && cargo test ./x.py", ("cd", "cargo test")),
        ("echo cd; ./run.sh", ("echo", "./run.sh")),
    ],
)
def test_other_programs_after_cd_are_covered(text: str, grants: tuple[str, ...]) -> None:
    assert why(text, *grants) is None


def test_watch_hands_no_rich_words_to_its_shell() -> None:
    assert why("watch ls -la", "watch ls") is None
    for word in ("';rm x'", "$A", "a\\;b", "*"):
        assert why(f"watch ls {word}", "watch ls") == Reason.RUNNER_ARGUMENT
        assert where(f"watch ls {word}", "watch ls") == word


@rows(
    "text",
    [
        *("-v x y", "-v 'a[$(rm)]' y", "-- x", '"-v" x y', "\\-v x y", "'-'v x y", "-$A", "$A"),
        *('"$A" x',),
        *("${A}", "*", "{-v,x} y", "~", "'%n' PATH", "'a%5n' x", "'%hhn' x", "%n", "'%%%n'"),
        *("'%.-3n'",),
        *("\"%'n\" x", "'%-*.*ln' x", "'%y'", "'100%'", "'%(%n)T'", "'%\\n'", "%s%n", "\\\n-v x"),
    ],
)  # fmt: skip
def test_printf_that_may_assign_is_not_covered(text: str) -> None:
    assert why(f"printf {text}", "printf") == Reason.BUILTIN_ARGUMENT


@rows(
    "text",
    [
        *("", "x", "'%s\\n' a b", '"%d items\\n" 3', "'%%n'", "'%5.2f%%\\n' 3", "%s -v"),
        *("%b '$(x)'",),
        *("'%-10s|%*d' a 3 4", "%s $A *", "'%(%F)T'", "'%q' \"$A\"", "'% d' 3", "'100%%'"),
    ],
)  # fmt: skip
def test_printf_that_only_prints_is_covered(text: str) -> None:
    assert why(f"printf {text}".strip(), "printf") is None


@rows(
    "text",
    [
        *("-v x", "-v 'a[$(rm)]'", "-R x", '"-v" x', "\\-v x", "-\\\nv x", "! -v x"),
        *("x = x -a -v y",),
        *("x = '$(rm)'", "x = '`rm`'", "$A = x", "${A} x", "-f *", "-f -*", "{-v,x}", "-n a[bc]"),
        *('"$A" "$B"', '"$A" "a[EVIL]"', "-n x -o \"$A\" 'a[x]'", "-f ?v", '"$A$B" "$C"'),
    ],
)  # fmt: skip
@rows("head", ["test", "["])
def test_a_test_that_may_evaluate_is_not_covered(head: str, text: str) -> None:
    text = f"{head} {text}" + (" ]" if head == "[" else "")
    assert why(text, head) == Reason.BUILTIN_ARGUMENT


@rows(
    "text",
    [
        *(
            "-d src",
            "-f 'a b'",
            '"$A" = x',
            '"$A" = "$B"',
            '-n "$A" -a -n "$B"',
            "1 -lt 2",
            "! -e x",
        ),
        *("x != '*'", '-z "$A"', "-f src/*.rs", "-f *.rs", "a -nt ~/b", "'a[0]' = b", "\\( a \\)"),
    ],
)
@rows("head", ["test", "["])
def test_a_plain_test_is_covered(head: str, text: str) -> None:
    assert why(f"{head} {text}" + (" ]" if head == "[" else ""), head) is None


def test_the_checks_of_builtins_are_for_builtins_only() -> None:
    assert why("/usr/bin/printf -v x", "/usr/bin/printf") is None
    assert why("env printf -v x", "env printf") is None
    assert why("echo -v '%n'", "echo") is None
    assert why("A=1 printf -v x", "A=1 printf") == Reason.BUILTIN_ARGUMENT
