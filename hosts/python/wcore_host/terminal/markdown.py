"""Markdown of the model: how it is drawn.

Nothing the model wrote disappears or changes: no HTML, no entities (`&#8238;` would become a
direction mark after everything was made visible), no images, no hidden link targets.
"""

from functools import cache
from typing import ClassVar, Final

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.syntax import Syntax
from rich.text import Text

HIDING_RULES: Final = ("entity", "image", "reference", "autolink", "html_inline", "html_block")
CODE_THEME: Final = "ansi_dark"
# Lexers that are fast on any text; the model chooses the name.
LEXERS: Final = frozenset(
    "bash c console cpp css diff go html ini java javascript js json kotlin lua make php python"
    " py ruby rust sh shell sql swift toml ts typescript xml yaml yml".split()
)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False})
    return parser.enable(["strikethrough", "table"]).disable(list(HIDING_RULES))


class _PlainHeading(Heading):
    """A heading that starts where all text starts."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        level = int(self.tag[1:]) if self.tag[1:].isdigit() else 1
        yield Text.assemble(("#" * level + " ", "dim"), self.text, style="bold")


class _PlainCode(CodeBlock):
    """A code block in the terminal's own colours, without a box of its own."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        name = self.lexer_name if self.lexer_name in LEXERS else "text"
        code = str(self.text).rstrip("\n")
        yield Syntax(code, name, theme=CODE_THEME, word_wrap=True, padding=(0, 2))


class ModelMarkdown(Markdown):
    """Rich's markdown with our parser and elements; `markup` must be visible already."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _PlainHeading,
        "fence": _PlainCode,
        "code_block": _PlainCode,
    }

    def __init__(self, markup: str) -> None:
        super().__init__("", hyperlinks=False)
        self.markup = markup
        self.parsed = _parser().parse(markup)
