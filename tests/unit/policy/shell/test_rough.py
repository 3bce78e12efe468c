from tables import rows

from wcore.policy.shell import ROUGH_CHARS_MAX, rough_words


@rows(
    "text",
    [
        *("rm x", "r''m x", '"rm" x', "r\\m x", "'r'\"m\" x", "$(rm x)", "`rm x`", "(rm)"),
        *("{ rm; }", "a;rm"),
        *("a|rm", "a&rm", "a&&rm", "if rm; then", "bash -c 'rm x'", 'eval "rm x"', "X=rm", "<(rm)"),
        *(">rm",),
        *("r\\\nm x", "a\nrm", "a\trm", "'unclosed rm", "${x:-rm}", "$((rm))", "rm\0x"[:2], "! rm"),
        *("time rm",),
    ],
)  # fmt: skip
def test_a_word_is_found_however_it_is_wrapped(text: str) -> None:
    assert "rm" in rough_words(text)


def test_parts_of_words_are_not_words() -> None:
    assert "rm" not in rough_words("farm rmdir warm")


def test_each_word_is_told_once_and_in_order() -> None:
    assert rough_words("b a b 'a'") == ["b", "a"]
    assert rough_words("") == []


def test_the_text_read_is_bounded() -> None:
    assert rough_words(" " * ROUGH_CHARS_MAX + "rm") == []
    assert rough_words(" " * (ROUGH_CHARS_MAX - 2) + "rm") == ["rm"]
