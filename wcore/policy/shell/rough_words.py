"""Words of a text that nobody understands, for deny rules and hints: best effort, never a yes."""

import re
from typing import Final

ROUGH_CHARS_MAX: Final = 256 * 1024  # twice what Linux passes to a program as one argument

_JOINED_LINE: Final = re.compile(r"\\\n")
_QUOTING: Final = re.compile(r"""['"\\]""")
_BETWEEN: Final = re.compile(r"[\s;|&<>()=`${},:]+")
_BETWEEN_OR_QUOTES: Final = re.compile(r"[\s;|&<>()=`${},:'\"\\]+")


def rough_words(text: str) -> list[str]:
    """Return what might be words of `text`, each once, in order of appearance.

    Quotes and backslashes are taken away in one reading and separate words in another. Linear
    in the first `ROUGH_CHARS_MAX` characters; the rest is not read.
    """
    text = _JOINED_LINE.sub("", text[:ROUGH_CHARS_MAX])
    joined = _BETWEEN.split(_QUOTING.sub("", text))
    parted = _BETWEEN_OR_QUOTES.split(text)
    # `${x:-rm}`; the option of `docker run --rm` is no name
    bare = (word.lstrip("-+?") for word in parted if not word.startswith("--"))
    return [word for word in dict.fromkeys([*joined, *parted, *bare]) if word]
