import pytest
from unit.policy.shell.gate import cover, where, why

from wcore.policy.shell import COMMANDS_MAX, TEXT_BYTES_MAX, Reason


@pytest.mark.parametrize(
    "text",
    [
        *("cargo", "cargo test", "cargo test --lib", " \tcargo\ttest ", "cargo test\n"),
        *("\n\ncargo",),
        *("cargo a; cargo b", "cargo a;", "cargo a ;\n", "cargo a&&cargo b", "cargo a || cargo b"),
        *("cargo a | cargo b", "cargo a |\n\n cargo b", "cargo a &&\n# why\n cargo b"),
        *("cargo\n\ncargo",),
        *("cargo 'a b'", 'cargo "a b"', "cargo a\\ b", "cargo 'it'\\''s'", 'cargo --x="a > b"'),
        *("cargo ''",),
        *("cargo '$(rm)' x", "cargo '`rm`'", 'cargo "\\$(rm) \\`rm\\`"', "cargo \\$\\(rm\\)"),
        *("cargo a\\;b \\&\\& \\| \\> \\#", "cargo 'a\nb'", 'cargo "a\nb"', "cargo !x a! ^a^b^"),
        *("cargo $FLAGS ${NAME} $?", 'cargo "$HOME/x" "${NAME}"', "cargo ~ ~/x --a=~/x"),
        *("cargo *.rs a?[bc] [!a]*", "cargo {a,b}.rs {1..3} {a..c}", "cargo HEAD~1 a~b HEAD^"),
        *("cargo x@{0}~1", "cargo ~/{a,b} $A{b,c} {'a b',\"c\"}", "cargo {} + a=b c[0]=d"),
        *("cargo # rm -rf / ; $(x) `y", "cargo a#b", "# it's\ncargo", "cargo;\n# end"),
        *("cargo #a\ncargo #b",),
        *("cargo \\\n --x \\\n y", "\\\ncargo"),
        *("cargo 2>&1", "cargo >&2", "cargo >/dev/null", "cargo >> /dev/null 2>&1"),
        *("cargo &>/dev/null",),
        *("cargo </dev/null", "cargo < in.txt", "cargo <../a/b-c_d.txt", "cargo 2>/dev/null|cargo"),
        *("2>&1 cargo", "</dev/null cargo", "cargo 0<in.txt", "cargo >/dev/null&&cargo"),
        *("cargo 2>&1;cargo",),
        *('cargo "a">/dev/null', "cargo 'a'>&2", "cargo < /home/dev/x", "cargo < dev/x"),
        *("cargo \u00e9 '\u4e2d'",),
        *("cargo do in fi ! [[ ]] time", "cargo [ a ]", "cargo a=~/b:~/c"),
    ],
)  # fmt: skip
def test_what_the_rule_allows_is_covered(text: str) -> None:
    assert why(text) is None


@pytest.mark.parametrize("text", ["", " ", "\t\n", "#", "# cargo", "\\\n", "#a\n #b\n", " \\\n "])
def test_l1_a_text_without_a_command_is_not_covered(text: str) -> None:
    assert why(text) == Reason.EMPTY


def test_l1_the_limits_are_those_of_the_rule() -> None:
    assert (TEXT_BYTES_MAX, COMMANDS_MAX) == (16_384, 200)


def test_l1_a_text_is_covered_up_to_its_limit() -> None:
    longest = "cargo " + "x" * (TEXT_BYTES_MAX - 6)
    assert why(longest) is None
    assert why(longest + "x") == Reason.TOO_LONG
    assert why(longest[:-1] + "\u00e9") == Reason.TOO_LONG
    assert why(longest[:-2] + "\u00e9") is None


def test_l1_commands_are_counted() -> None:
    assert why("cargo;" * COMMANDS_MAX) is None
    assert why("cargo;" * (COMMANDS_MAX + 1)) == Reason.TOO_MANY_COMMANDS
    assert why("cargo\n" * COMMANDS_MAX + "cargo | cargo") == Reason.TOO_MANY_COMMANDS


FORBIDDEN = [
    *(chr(code) for code in range(32) if chr(code) not in "\t\n"),
    *(chr(code) for code in range(0x7F, 0xA1)),
    *"\u00ad\u061c\u180e\u1680\u2000\u2003\u200b\u200d\u200e\u2028\u2029\u202a\u202e\u202f\u205f",
    *"\u2060\u2066\u2069\u3000\ufeff\ufff9\ue000\U000e0001\U000f0000\U000e0fff\ufffe\ud800\udfff",
    *"\u115f\u1160\u2800\u3164\uffa0",
]


@pytest.mark.parametrize("character", FORBIDDEN)
def test_l2_a_forbidden_character_is_refused_wherever_it_stands(character: str) -> None:
    for text in (
        "cargo {}x",
        "cargo{}x",
        "{}cargo",
        "cargo '{}'",
        "cargo # {}",
        "cargo{}",
        'cargo "{}',
    ):
        coverage = cover(text.format(character))
        assert coverage.reason == Reason.FORBIDDEN_CHARACTER
        assert coverage.span is not None
        start, end = coverage.span
        assert (start, end - start) == (
            text.index("{"),
            len(character.encode("utf-8", "surrogatepass")),
        )


@pytest.mark.parametrize(
    ("text", "reason", "place"),
    [
        ("cargo `rm`", Reason.SUBSTITUTION, "`"),
        ('cargo "a`rm`"', Reason.SUBSTITUTION, "`"),
        ("cargo a$(rm)b", Reason.SUBSTITUTION, "$("),
        ('cargo "$(rm)"', Reason.SUBSTITUTION, "$("),
        ("cargo 'a'$(rm)'b'", Reason.SUBSTITUTION, "$("),
        ("cargo \\\\$(rm)", Reason.SUBSTITUTION, "$("),
        ('cargo "\\\\$(rm)"', Reason.SUBSTITUTION, "$("),
        ("cargo ~$(rm)", Reason.TILDE, "~"),
        ("cargo $((1))", Reason.EXPANSION, "$("),
        ("cargo $[1]", Reason.EXPANSION, "$["),
        ("cargo ${x:-1}", Reason.EXPANSION, "${"),
        ("cargo ${!x}", Reason.EXPANSION, "${"),
        ("cargo ${#x}", Reason.EXPANSION, "${"),
        ("cargo ${x@P}", Reason.EXPANSION, "${"),
        ("cargo ${x[0]}", Reason.EXPANSION, "${"),
        ("cargo ${ rm; }", Reason.EXPANSION, "${"),
        ("cargo ${|rm; }", Reason.EXPANSION, "${"),
        ("cargo ${?}", Reason.EXPANSION, "${"),
        ("cargo ${}", Reason.EXPANSION, "${"),
        ("cargo ${x", Reason.EXPANSION, "${"),
        ("cargo $1", Reason.EXPANSION, "$1"),
        ('cargo "$@"', Reason.EXPANSION, "$@"),
        ("cargo $*", Reason.EXPANSION, "$*"),
        ("cargo $$", Reason.EXPANSION, "$$"),
        ("cargo $!", Reason.EXPANSION, "$!"),
        ("cargo $#", Reason.EXPANSION, "$#"),
        ("cargo a$ b", Reason.EXPANSION, "$ "),
        ("cargo $", Reason.EXPANSION, "$"),
        ('cargo "a$"', Reason.EXPANSION, '$"'),
        ('cargo "$\\\n(rm)"', Reason.EXPANSION, "$\\"),
        ("cargo $\\\n(rm)", Reason.EXPANSION, "$\\"),
        ("cargo {$,a}{x@P}", Reason.EXPANSION, "$,"),
        ("cargo $'a'", Reason.ANSI_QUOTE, "$'"),
        ('cargo $"a"', Reason.ANSI_QUOTE, '$"'),
        ("cargo <(rm)", Reason.SUBSTITUTION, "<"),
        ("cargo >(rm)", Reason.SUBSTITUTION, ">"),
        ("cargo a<(rm)", Reason.SUBSTITUTION, "<"),
        ("cargo '${'", Reason.EXPANSION, "${"),
    ],
)
def test_l3_substitutions_and_rich_expansions_are_refused(
    text: str, reason: Reason, place: str
) -> None:
    assert (why(text), where(text)) == (reason, place)


@pytest.mark.parametrize(
    "text",
    [
        *("~root", "~root/x", "~+", "~-", "~1", "a=~root", "a=b:~root", "--x=~u", '~"x"'),
        *("~\\\nroot",),
        *("a=\\\n~root", "~$USER", "~*", "~:x", "~{a,b}", "x=~+"),
    ],
)  # fmt: skip
def test_a_tilde_before_a_name_is_refused(text: str) -> None:
    assert why(f"cargo {text}") == Reason.TILDE


@pytest.mark.parametrize(
    "text",
    [
        *("{Z..a}", "{a..Z}", "x{A..z..6}y", "{Z..a}''", "{Z.\\\n.a}", "{\u00e9..a}"),
        *("{a..\u00e9}",),
        *("{a,~}root", "{,}~root", "{x=,y=}~/a", "~/{a,b~}", "{Z..a..6}rm\\\\'`'"),
    ],
)  # fmt: skip
def test_braces_out_of_which_special_characters_come_are_refused(text: str) -> None:
    assert why(f"cargo {text}") in (Reason.BRACE, Reason.TILDE)


@pytest.mark.parametrize(
    ("text", "reason", "place"),
    [
        ("(cargo)", Reason.COMPOUND, "("),
        ("cargo )", Reason.COMPOUND, ")"),
        ("cargo a(b)", Reason.COMPOUND, "("),
        ("cargo() { cargo; }", Reason.COMPOUND, "("),
        ("((x))", Reason.COMPOUND, "("),
        ("cargo &", Reason.BACKGROUND, "&"),
        ("cargo & cargo", Reason.BACKGROUND, "&"),
        ("cargo&cargo", Reason.BACKGROUND, "&"),
        ("cargo &\\\n& cargo", Reason.BACKGROUND, "&"),
        ("cargo |& cargo", Reason.OPERATOR, "|&"),
        ("cargo ;; cargo", Reason.OPERATOR, ";;"),
        ("cargo ;& cargo", Reason.OPERATOR, ";&"),
        ("; cargo", Reason.OPERATOR, ";"),
        ("&& cargo", Reason.OPERATOR, "&&"),
        ("cargo && && cargo", Reason.OPERATOR, "&&"),
        ("cargo &&", Reason.OPERATOR, "&&"),
        ("cargo || # x\n", Reason.OPERATOR, "||"),
        ("cargo | \n", Reason.OPERATOR, "|"),
        ("cargo; ; cargo", Reason.OPERATOR, ";"),
        ("cargo\n; cargo", Reason.OPERATOR, ";"),
        ("cargo\n&& cargo", Reason.OPERATOR, "&&"),
    ],
)
def test_l4_other_operators_and_stray_ones_are_refused(
    text: str, reason: Reason, place: str
) -> None:
    assert (why(text), where(text)) == (reason, place)


@pytest.mark.parametrize(
    "text",
    [
        *(">x", "> x", ">>x", ">|x", "&>x", "&>>/dev/null", ">&x", ">& 1", ">&2x", ">&-", ">&2-"),
        *("2>&1file",),
        *(">&$A", "2>x", "3>x", "1>2", "<>x", "<&0", "<&-", "0<&1", ">'/dev/null'", ">/dev/nullx"),
        *(">/dev/null/../x", ">/dev//null", ">/dev/tty", ">/dev/tcp/h/1", ">\\\n/dev/null"),
        *(">/dev/null\\\nx",),
        *("</dev/tcp/h/1", "</dev/stdin", "</proc/self/environ", "<//dev/x", "</./dev/x"),
        *("</a/../dev/x",),
        *("<../../dev/x", "<../proc/x", "<~/x", "<$A", "<'a'", "<*", "<{a,b}", "<", ">", ">&"),
        *("&>", "<a'b'"),
        *("{fd}>/dev/null", "{fd}>&1", "2\\\n>&1", ">&99999999999", "9999>&1", ">&1234", "< 1>&2"),
        *("\u0663>&1", ">/dev/null(", "a\\\n>/dev/null", ">/dev/\\\nnull", "<in\\\n.txt"),
    ],
)  # fmt: skip
def test_l5_other_redirections_are_refused(text: str) -> None:
    assert why(f"cargo {text}") in (Reason.REDIRECTION, Reason.COMPOUND)
    assert why(f"{text} cargo") is not None


@pytest.mark.parametrize("text", ["<<E\nE", "<<-E\nE", "<<'E'\n$(x)\nE", "<<<x", "<<< 'x'", "<<"])
def test_l5_here_documents_are_refused(text: str) -> None:
    assert why(f"cargo {text}") == Reason.HERE_DOCUMENT


def test_l5_digits_belong_to_a_redirection_only_where_they_touch_it() -> None:
    for text in ("cargo 2 >&1", "cargo a2>&1", "cargo '2'>&1", "cargo -2>&1"):
        (command,) = cover(text).commands
        assert len(command.words) == 2
        assert command.redirects[0].fd is None
    (command,) = cover("cargo 2>&1").commands
    assert len(command.words) == 1
    assert command.redirects[0].fd == 2


@pytest.mark.parametrize("text", [">/dev/null", "cargo; 2>&1", "<in.txt\ncargo"])
def test_a_redirection_without_a_command_is_refused(text: str) -> None:
    assert why(text) == Reason.NO_COMMAND


@pytest.mark.parametrize(
    "text",
    [
        *("{ cargo; }", "! cargo", "time cargo", "time -p cargo", "coproc cargo", "[[ -f x ]]"),
        *("if cargo; then cargo; fi", "while cargo; do cargo; done", "for i in a; do cargo; done"),
        *("case a in b) cargo;; esac", "select i in a; do cargo; done", "function f { cargo; }"),
        *("cargo && ! cargo", "cargo | time cargo", "cargo; }", ">/dev/null time cargo"),
        *("cargo\nif",),
    ],
)  # fmt: skip
def test_l6_compounds_and_reserved_words_are_refused(text: str) -> None:
    assert why(text) == Reason.COMPOUND


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("cargo 'a", "'"),
        ('cargo "a', '"'),
        ('cargo "a\\"', '"'),
        ('cargo "a\\', '"'),
        ("cargo \\", "\\"),
        ("cargo; \\", "\\"),
        ("cargo '\\''", "'"),
    ],
)
def test_l7_an_open_quote_or_a_backslash_at_the_end_is_refused(text: str, place: str) -> None:
    assert (why(text), where(text)) == (Reason.QUOTING, place)


@pytest.mark.parametrize("text", ["cargo \\\n", "cargo { }", "cargo x'$(rm)'", "cargo y'`'"])
def test_l7_what_only_the_second_analysis_refuses_is_refused(text: str) -> None:
    assert why(text) == Reason.PARSER_FAILED


@pytest.mark.parametrize("text", ["cargo;#b\ncargo", "cargo a;#b"])
def test_l7_what_the_analyses_see_differently_is_refused(text: str) -> None:
    assert why(text) == Reason.PARSER_DISAGREES


@pytest.mark.parametrize(
    "text",
    [
        *("cargo a\\\\; rm x", "cargo '' ; rm x", "cargo a#b; rm x", "cargo # a\\\nrm x"),
        *("cargo #\nrm x",),
        *("cargo \"'\"; rm x; \"'\"", "cargo \\\"; rm x; \\\"", "cargo 'a\nb'\nrm x"),
        *("cargo |\\\n rm",),
        *("cargo ;\\\nrm", "cargo 2>&1;rm", "cargo >/dev/null\nrm", "cargo $A;rm"),
        *("cargo {a,b};rm x",),
        *("cargo \"$A\"\nrm", "cargo ~;rm", "cargo \\#;rm", "cargo \"a\"#b; rm x"),
        *("cargo a\\\n#b;rm",),
    ],
)  # fmt: skip
def test_a_command_beside_the_granted_one_is_seen(text: str) -> None:
    assert why(text) == Reason.NO_GRANT
    assert where(text).startswith("rm")


def test_spans_count_bytes() -> None:
    assert where("cargo '\u00e9\u4e2d'; rm \u00e9") == "rm \u00e9"
    assert where("cargo \U0001f600 $(x)") == "$("
