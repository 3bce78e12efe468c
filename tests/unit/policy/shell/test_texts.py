import pytest
from tables import rows
from unit.policy.shell.gate import cover, where, why

from wcore.policy.shell import Reason
from wcore.policy.shell.analysis import COMMANDS_MAX, TEXT_BYTES_MAX


@rows(
    "text",
    [
        *("crate", "crate test", "crate test --lib", " \tcrate\ttest ", "crate test\n"),
        *("\n\ncrate",),
        *("crate a; crate b", "crate a;", "crate a ;\n", "crate a&&crate b", "crate a || crate b"),
        *("crate a | crate b", "crate a |\n\n crate b", "crate a &&\n# why\n crate b"),
        *("crate\n\ncrate",),
        *("crate 'a b'", 'crate "a b"', "crate a\\ b", "crate 'it'\\''s'", 'crate --x="a > b"'),
        *("crate ''",),
        *("crate '$(rm)' x", "crate '`rm`'", 'crate "\\$(rm) \\`rm\\`"', "crate \\$\\(rm\\)"),
        *("crate a\\;b \\&\\& \\| \\> \\#", "crate 'a\nb'", 'crate "a\nb"', "crate !x a! ^a^b^"),
        *("crate $FLAGS ${NAME} $?", 'crate "$HOME/x" "${NAME}"', "crate ~ ~/x --a=~/x"),
        *("crate *.rs a?[bc] [!a]*", "crate {a,b}.rs {1..3} {a..c}", "crate HEAD~1 a~b HEAD^"),
        *("crate x@{0}~1", "crate ~/{a,b} $A{b,c} {'a b',\"c\"}", "crate {} + a=b c[0]=d"),
        *("crate # rm -rf / ; $(x) `y", "crate a#b", "# it's\ncrate", "crate;\n# end"),
        *("crate #a\ncrate #b",),
        *("crate \\\n --x \\\n y", "\\\ncrate"),
        *("crate 2>&1", "crate >&2", "crate >/dev/null", "crate >> /dev/null 2>&1"),
        *("crate &>/dev/null",),
        *("crate </dev/null", "crate < in.txt", "crate <../a/b-c_d.txt", "crate 2>/dev/null|crate"),
        *("2>&1 crate", "</dev/null crate", "crate 0<in.txt", "crate >/dev/null&&crate"),
        *("crate 2>&1;crate",),
        *('crate "a">/dev/null', "crate 'a'>&2", "crate < /home/dev/x", "crate < dev/x"),
        *("crate \u00e9 '\u4e2d'",),
        *("crate do in fi ! [[ ]] time", "crate [ a ]", "crate a=~/b:~/c"),
    ],
)  # fmt: skip
def test_what_the_rule_allows_is_covered(text: str) -> None:
    assert why(text) is None


@pytest.mark.parametrize("text", ["", " ", "\t\n", "#", "# crate", "\\\n", "#a\n #b\n", " \\\n "])
def test_l1_a_text_without_a_command_is_not_covered(text: str) -> None:
    assert why(text) == Reason.EMPTY


def test_l1_the_limits_are_those_of_the_rule() -> None:
    assert (TEXT_BYTES_MAX, COMMANDS_MAX) == (16_384, 200)


def test_l1_a_text_is_covered_up_to_its_limit() -> None:
    longest = "crate " + "x" * (TEXT_BYTES_MAX - 6)
    assert why(longest) is None
    assert why(longest + "x") == Reason.TOO_LONG
    assert why(longest[:-1] + "\u00e9") == Reason.TOO_LONG
    assert why(longest[:-2] + "\u00e9") is None


def test_l1_commands_are_counted() -> None:
    assert why("crate;" * COMMANDS_MAX) is None
    assert why("crate;" * (COMMANDS_MAX + 1)) == Reason.TOO_MANY_COMMANDS
    assert why("crate\n" * COMMANDS_MAX + "crate | crate") == Reason.TOO_MANY_COMMANDS


FORBIDDEN = [
    *(chr(code) for code in range(32) if chr(code) not in "\t\n"),
    *(chr(code) for code in range(0x7F, 0xA1)),
    *"\u00ad\u061c\u180e\u1680\u2000\u2003\u200b\u200d\u200e\u2028\u2029\u202a\u202e\u202f\u205f",
    *"\u2060\u2066\u2069\u3000\ufeff\ufff9\ue000\U000e0001\U000f0000\U000e0fff\ufffe\ud800\udfff",
    *"\u115f\u1160\u2800\u3164\uffa0",
]


@rows("character", FORBIDDEN)
def test_l2_a_forbidden_character_is_refused_wherever_it_stands(character: str) -> None:
    for text in (
        "crate {}x",
        "crate{}x",
        "{}crate",
        "crate '{}'",
        "crate # {}",
        "crate{}",
        'crate "{}',
    ):
        coverage = cover(text.format(character))
        assert coverage.reason == Reason.FORBIDDEN_CHARACTER
        assert coverage.span is not None
        start, end = coverage.span
        assert (start, end - start) == (
            text.index("{"),
            len(character.encode("utf-8", "surrogatepass")),
        )


@rows(
    ("text", "reason", "place"),
    [
        ("crate `rm`", Reason.SUBSTITUTION, "`"),
        ('crate "a`rm`"', Reason.SUBSTITUTION, "`"),
        ("crate a$(rm)b", Reason.SUBSTITUTION, "$("),
        ('crate "$(rm)"', Reason.SUBSTITUTION, "$("),
        ("crate 'a'$(rm)'b'", Reason.SUBSTITUTION, "$("),
        ("crate \\\\$(rm)", Reason.SUBSTITUTION, "$("),
        ('crate "\\\\$(rm)"', Reason.SUBSTITUTION, "$("),
        ("crate ~$(rm)", Reason.TILDE, "~"),
        ("crate $((1))", Reason.EXPANSION, "$("),
        ("crate $[1]", Reason.EXPANSION, "$["),
        ("crate ${x:-1}", Reason.EXPANSION, "${"),
        ("crate ${!x}", Reason.EXPANSION, "${"),
        ("crate ${#x}", Reason.EXPANSION, "${"),
        ("crate ${x@P}", Reason.EXPANSION, "${"),
        ("crate ${x[0]}", Reason.EXPANSION, "${"),
        ("crate ${ rm; }", Reason.EXPANSION, "${"),
        ("crate ${|rm; }", Reason.EXPANSION, "${"),
        ("crate ${?}", Reason.EXPANSION, "${"),
        ("crate ${}", Reason.EXPANSION, "${"),
        ("crate ${x", Reason.EXPANSION, "${"),
        ("crate $1", Reason.EXPANSION, "$1"),
        ('crate "$@"', Reason.EXPANSION, "$@"),
        ("crate $*", Reason.EXPANSION, "$*"),
        ("crate $$", Reason.EXPANSION, "$$"),
        ("crate $!", Reason.EXPANSION, "$!"),
        ("crate $#", Reason.EXPANSION, "$#"),
        ("crate a$ b", Reason.EXPANSION, "$ "),
        ("crate $", Reason.EXPANSION, "$"),
        ('crate "a$"', Reason.EXPANSION, '$"'),
        ('crate "$\\\n(rm)"', Reason.EXPANSION, "$\\"),
        ("crate $\\\n(rm)", Reason.EXPANSION, "$\\"),
        ("crate {$,a}{x@P}", Reason.EXPANSION, "$,"),
        ("crate $'a'", Reason.ANSI_QUOTE, "$'"),
        ('crate $"a"', Reason.ANSI_QUOTE, '$"'),
        ("crate <(rm)", Reason.SUBSTITUTION, "<"),
        ("crate >(rm)", Reason.SUBSTITUTION, ">"),
        ("crate a<(rm)", Reason.SUBSTITUTION, "<"),
        ("crate '${'", Reason.EXPANSION, "${"),
    ],
)
def test_l3_substitutions_and_rich_expansions_are_refused(
    text: str, reason: Reason, place: str
) -> None:
    assert (why(text), where(text)) == (reason, place)


@rows(
    "text",
    [
        *("~root", "~root/x", "~+", "~-", "~1", "a=~root", "a=b:~root", "--x=~u", '~"x"'),
        *("~\\\nroot",),
        *("a=\\\n~root", "~$USER", "~*", "~:x", "~{a,b}", "x=~+"),
    ],
)  # fmt: skip
def test_a_tilde_before_a_name_is_refused(text: str) -> None:
    assert why(f"crate {text}") == Reason.TILDE


@rows(
    "text",
    [
        *("{Z..a}", "{a..Z}", "x{A..z..6}y", "{Z..a}''", "{Z.\\\n.a}", "{\u00e9..a}"),
        *("{a..\u00e9}",),
        *("{a,~}root", "{,}~root", "{x=,y=}~/a", "~/{a,b~}", "{Z..a..6}rm\\\\'`'"),
    ],
)  # fmt: skip
def test_braces_out_of_which_special_characters_come_are_refused(text: str) -> None:
    assert why(f"crate {text}") in (Reason.BRACE, Reason.TILDE)


@rows(
    ("text", "reason", "place"),
    [
        ("(crate)", Reason.COMPOUND, "("),
        ("crate )", Reason.COMPOUND, ")"),
        ("crate a(b)", Reason.COMPOUND, "("),
        ("crate() { crate; }", Reason.COMPOUND, "("),
        ("((x))", Reason.COMPOUND, "("),
        ("crate &", Reason.BACKGROUND, "&"),
        ("crate & crate", Reason.BACKGROUND, "&"),
        ("crate&crate", Reason.BACKGROUND, "&"),
        ("crate &\\\n& crate", Reason.BACKGROUND, "&"),
        ("crate |& crate", Reason.OPERATOR, "|&"),
        ("crate ;; crate", Reason.OPERATOR, ";;"),
        ("crate ;& crate", Reason.OPERATOR, ";&"),
        ("; crate", Reason.OPERATOR, ";"),
        ("&& crate", Reason.OPERATOR, "&&"),
        ("crate && && crate", Reason.OPERATOR, "&&"),
        ("crate &&", Reason.OPERATOR, "&&"),
        ("crate || # x\n", Reason.OPERATOR, "||"),
        ("crate | \n", Reason.OPERATOR, "|"),
        ("crate; ; crate", Reason.OPERATOR, ";"),
        ("crate\n; crate", Reason.OPERATOR, ";"),
        ("crate\n&& crate", Reason.OPERATOR, "&&"),
    ],
)
def test_l4_other_operators_and_stray_ones_are_refused(
    text: str, reason: Reason, place: str
) -> None:
    assert (why(text), where(text)) == (reason, place)


@rows(
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
    assert why(f"crate {text}") in (Reason.REDIRECTION, Reason.COMPOUND)
    assert why(f"{text} crate") is not None


@pytest.mark.parametrize("text", ["<<E\nE", "<<-E\nE", "<<'E'\n$(x)\nE", "<<<x", "<<< 'x'", "<<"])
def test_l5_here_documents_are_refused(text: str) -> None:
    assert why(f"crate {text}") == Reason.HERE_DOCUMENT


def test_l5_digits_belong_to_a_redirection_only_where_they_touch_it() -> None:
    for text in ("crate 2 >&1", "crate a2>&1", "crate '2'>&1", "crate -2>&1"):
        (command,) = cover(text).commands
        assert len(command.words) == 2
        assert command.redirects[0].fd is None
    (command,) = cover("crate 2>&1").commands
    assert len(command.words) == 1
    assert command.redirects[0].fd == 2


@pytest.mark.parametrize("text", [">/dev/null", "crate; 2>&1", "<in.txt\ncrate"])
def test_a_redirection_without_a_command_is_refused(text: str) -> None:
    assert why(text) == Reason.NO_COMMAND


@rows(
    "text",
    [
        *("{ crate; }", "! crate", "time crate", "time -p crate", "coproc crate", "[[ -f x ]]"),
        *("if crate; then crate; fi", "while crate; do crate; done", "for i in a; do crate; done"),
        *("case a in b) crate;; esac", "select i in a; do crate; done", "function f { crate; }"),
        *("crate && ! crate", "crate | time crate", "crate; }", ">/dev/null time crate"),
        *("crate\nif",),
    ],
)  # fmt: skip
def test_l6_compounds_and_reserved_words_are_refused(text: str) -> None:
    assert why(text) == Reason.COMPOUND


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("crate 'a", "'"),
        ('crate "a', '"'),
        ('crate "a\\"', '"'),
        ('crate "a\\', '"'),
        ("crate \\", "\\"),
        ("crate; \\", "\\"),
        ("crate '\\''", "'"),
    ],
)
def test_l7_an_open_quote_or_a_backslash_at_the_end_is_refused(text: str, place: str) -> None:
    assert (why(text), where(text)) == (Reason.QUOTING, place)


@pytest.mark.parametrize("text", ["crate \\\n", "crate { }", "crate x'$(rm)'", "crate y'`'"])
def test_l7_what_only_the_second_analysis_refuses_is_refused(text: str) -> None:
    assert why(text) == Reason.PARSER_FAILED


@pytest.mark.parametrize("text", ["crate;#b\ncrate", "crate a;#b"])
def test_l7_what_the_analyses_see_differently_is_refused(text: str) -> None:
    assert why(text) == Reason.PARSER_DISAGREES


@rows(
    "text",
    [
        *("crate a\\\\; rm x", "crate '' ; rm x", "crate a#b; rm x", "crate # a\\\nrm x"),
        *("crate #\nrm x",),
        *("crate \"'\"; rm x; \"'\"", "crate \\\"; rm x; \\\"", "crate 'a\nb'\nrm x"),
        *("crate |\\\n rm",),
        *("crate ;\\\nrm", "crate 2>&1;rm", "crate >/dev/null\nrm", "crate $A;rm"),
        *("crate {a,b};rm x",),
        *("crate \"$A\"\nrm", "crate ~;rm", "crate \\#;rm", "crate \"a\"#b; rm x"),
        *("crate a\\\n#b;rm",),
    ],
)  # fmt: skip
def test_a_command_beside_the_granted_one_is_seen(text: str) -> None:
    assert why(text) == Reason.NO_GRANT
    assert where(text).startswith("rm")


def test_spans_count_bytes() -> None:
    assert where("crate '\u00e9\u4e2d'; rm \u00e9") == "rm \u00e9"
    assert where("crate \U0001f600 $(x)") == "$("
