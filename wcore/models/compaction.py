"""The summary that stands in for turns which are left out of a long conversation. Pure.

The model writes it itself, from the very turns that go. Much of them is tool output, so what it
writes is as little trusted as they are: it comes as words of the conversation, never as ours.
"""

from typing import Final

from wcore.models.model import Delta, Text

SUMMARY_TOKENS: Final = 2_000  # a page or two: what was asked, decided, done and left open
SUMMARY_CHARS_MAX: Final = 16_000  # the same, for a model that ignores the limit
SUMMARY_S_MAX: Final = 60.0  # then the turns go without one; somebody is waiting

INSTRUCTION: Final = """\
The conversation has grown too long, and everything above is about to be left out. Write a summary
that lets you go on: what the user wants, what was decided and why, which files were read or
changed and how, what failed, what is still open. Answer with the summary alone; call no tool."""

_FRAME: Final = """\
<summary>
The start of this conversation was left out. This is what you noted about it:
{summary}
</summary>

{text}"""


def framed(summary: str, text: str) -> str:
    """Return the text of the user's message that follows the turns which were left out."""
    return _FRAME.format(summary=summary.replace("</summary>", "</ summary>"), text=text)


def text_of(deltas: list[Delta]) -> str:
    """Return the summary in a reply, empty if there is none."""
    return "".join(d.text for d in deltas if isinstance(d, Text)).strip()[:SUMMARY_CHARS_MAX]
