"""Text that an editor renders as Markdown and that must stay text. Pure.

Whatever the model, a file or a program wrote is made visible and put between more backticks than
it has itself, so that it can neither end its block nor become a link, an image or a heading.
"""

import re
from typing import Final

from wcore_host.visible import visible, visible_line

_TICKS: Final = re.compile("`+")
LINE_CHARS_MAX: Final = 160  # a title is one line of a side panel


def block(text: str, language: str = "") -> str:
    """Return `text` as a code block in which everything can be seen."""
    return fenced(visible(text.replace("\r\n", "\n")), language)


def fenced(text: str, language: str = "") -> str:
    """Return `text` as a code block, as it is: for the model's eyes."""
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{language}\n{text.removesuffix(chr(10))}\n{fence}"


def span(text: str, chars_max: int = LINE_CHARS_MAX) -> str:
    """Return `text` as inline code on one line."""
    shown = visible_line(text, chars_max)
    fence = "`" * (_longest(shown) + 1)
    pad = " " if not shown.strip("` ") or shown[:1] in "` " or shown[-1:] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def _longest(text: str) -> int:
    return max((len(found) for found in _TICKS.findall(text)), default=0)
