"""A few shapes as SVG, readable on light and on dark ground. Nothing is measured but text."""

from collections.abc import Sequence
from html import escape
from typing import Final

CHAR_PX: Final = 7.3  # width of a character of the font below, for boxes around words
STYLE: Final = """\
<style>
  .ground { fill: #ffffff; stroke: #d0d7de; }
  text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1f2328; }
  .small { font-size: 11px; fill: #57606a; }
  .box { fill: #eef4fb; stroke: #3b6ea5; stroke-width: 1.4; }
  .end { fill: #f3f1ec; stroke: #8a7f6d; stroke-width: 1.4; }
  .line, .back { stroke: #57606a; stroke-width: 1.4; fill: none; }
  .faint { stroke: #a7afb8; stroke-width: 1.1; fill: none; stroke-dasharray: 4 3; }
  .head { fill: #57606a; }
  .waits { fill: #f6d58a; stroke: #a87a10; }
  .runs { fill: #8cc7a1; stroke: #2f7d4c; }
  .label { fill: #ffffff; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; stroke: #30363d; }
    text { fill: #e6edf3; }
    .small { fill: #9aa4af; }
    .box { fill: #15283d; stroke: #6ea8de; }
    .end { fill: #26231d; stroke: #b5a78d; }
    .line, .back { stroke: #9aa4af; }
    .faint { stroke: #59626c; }
    .head { fill: #9aa4af; }
    .waits { fill: #6b4f10; stroke: #d9a92f; }
    .runs { fill: #1d5a35; stroke: #57b97c; }
    .label { fill: #0d1117; }
  }
</style>
<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8"
  orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" class="head"/></marker></defs>"""

Point = tuple[float, float]


def picture(width: float, height: float, says: str, parts: Sequence[str]) -> str:
    """Return a whole picture; `says` is read to those who cannot see it."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}"'
        f' width="{width:g}" height="{height:g}" role="img" aria-label="{escape(says)}">'
    )
    ground = f'<rect x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="8"'
    return "\n".join([head, STYLE, f'{ground} class="ground"/>', *parts, "</svg>"]) + "\n"


def words(at: Point, text: str, kind: str = "", anchor: str = "middle") -> str:
    name = f' class="{kind}"' if kind else ""
    return f'<text x="{at[0]:g}" y="{at[1]:g}" text-anchor="{anchor}"{name}>{escape(text)}</text>'


def box(at: Point, size: Point, text: str, kind: str = "box") -> str:
    """Return a box with a word in its middle; `at` is its centre."""
    left, top = at[0] - size[0] / 2, at[1] - size[1] / 2
    rect = f'<rect x="{left:g}" y="{top:g}" width="{size[0]:g}" height="{size[1]:g}" rx="7"'
    return f'{rect} class="{kind}"/>' + words((at[0], at[1] + 4), text)


def bar(left: float, right: float, top: float, height: float, kind: str) -> str:
    size = f'width="{right - left:g}" height="{height:g}"'
    return f'<rect x="{left:g}" y="{top:g}" {size} rx="3" class="{kind}"/>'


def path(d: str, kind: str = "line", *, arrow: bool = True) -> str:
    end = ' marker-end="url(#arrow)"' if arrow else ""
    return f'<path d="{d}" class="{kind}"{end}/>'


def label(at: Point, text: str) -> str:
    """Return words on a line, with the line taken away behind them."""
    width = len(text) * CHAR_PX
    ground = bar(at[0] - width / 2, at[0] + width / 2, at[1] - 9, 13, "label")
    return ground + words((at[0], at[1] + 1), text, "small")
