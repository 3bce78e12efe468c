"""The footer: mode, state, model, tokens and cost on one row. Pure.

The mode comes first and is never left out, however narrow the terminal is.
"""

from time import monotonic
from typing import Final

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from wcore_host.headless.chat_session import ChatSession, EngineState
from wcore_host.headless.durations import seconds
from wcore_host.terminal.text_layout import DIM, PLAIN, cropped, strip_of
from wcore_host.visible import visible_line

MODE_CELLS: Final = 12  # of a mode that we do not know
MODE_STYLES: Final = {
    "plan": Style(bold=True, color="cyan"),
    "default": Style(bold=True, color="green"),
    "read_only": Style(bold=True, color="cyan"),
    "auto_edit": Style(bold=True, color="black", bgcolor="yellow"),
    "auto_run": Style(bold=True, color="black", bgcolor="yellow"),
    "force": Style(bold=True, color="white", bgcolor="red"),
}
UNKNOWN_MODE: Final = Style(bold=True, reverse=True)


def footer(talk: ChatSession, width: int, hint: str) -> Strip:
    """Return the footer; facts that do not fit are left out from the right, then the hint."""
    mode = mode_of(talk)
    used = cell_len(mode) + 2
    parts: list[tuple[str, Style]] = [(f" {mode} ", MODE_STYLES.get(mode, UNKNOWN_MODE))]
    for fact in _facts(talk):
        room = width - used - 3
        if cell_len(fact) > room:
            continue
        parts.append((f" · {fact}", PLAIN))
        used += cell_len(fact) + 3
    if hint and cell_len(hint) + 2 <= width - used:
        parts.append((" " * (width - used - cell_len(hint)) + hint, DIM))
    return strip_of(*parts)


def mode_of(talk: ChatSession) -> str:
    """Return the current mode, or how it stands with the engine."""
    if talk.engine is None:
        return "no engine" if talk.life is EngineState.GONE else "starting"
    return cropped(talk.engine.capabilities.current_mode, MODE_CELLS)


def _facts(talk: ChatSession) -> list[str]:
    """Return what else is worth knowing, the most important first."""
    facts: list[str] = []
    if talk.turn_began is not None:
        facts.append(f"{seconds(monotonic() - talk.turn_began)} Esc stops")
    if len(talk.cards):
        facts.append(f"{len(talk.cards)} to answer")
    if talk.cost_usd is not None:
        facts.append(f"${talk.cost_usd:.4f}" if talk.cost_usd < 1 else f"${talk.cost_usd:.2f}")
    if any(talk.usage):
        facts.append(f"{_short(talk.usage[0])} in {_short(talk.usage[1])} out")
    if talk.window_percent is not None:
        facts.append(f"context {talk.window_percent}%")
    model = talk.engine.capabilities.current_model if talk.engine else ""
    if model:
        facts.append(visible_line(model.rpartition("/")[2], 30))
    return facts


def _short(count: int) -> str:
    if count < 10_000:
        return f"{count:,}"
    return f"{count / 1000:.0f}k" if count < 1_000_000 else f"{count / 1e6:.1f}M"
