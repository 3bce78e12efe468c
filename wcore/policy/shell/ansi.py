"""What `$'…'` stands for."""

import re
from typing import Final

_SIMPLE: Final = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r",
    "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|(c|x\{)|(.))",
    re.DOTALL,
)
_LAST: Final = 0x10FFFF


def decode(text: str) -> str | None:
    r"""Return the characters of the text between the quotes, or `None` where nobody should guess.

    Bytes beyond ASCII, NUL, control escapes and `\x{…}` are not guessed.
    """
    known = True

    def character(match: re.Match[str]) -> str:
        nonlocal known
        byte, short, long, octal, control, other = match.groups()
        if control:
            known = False
            return ""
        if other is not None:
            return _SIMPLE.get(other, "\\" + other)
        number = int(octal, 8) & 0xFF if octal else int(byte or short or long, 16)
        is_byte = bool(byte or octal)
        if not 0 < number <= _LAST or (is_byte and number > 0x7F) or 0xD800 <= number < 0xE000:
            known = False
            return ""
        return chr(number)

    decoded = _ESCAPE.sub(character, text)
    return decoded if known else None
