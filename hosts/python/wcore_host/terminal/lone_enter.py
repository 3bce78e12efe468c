"""Enter, where text may be pasted by a terminal that does not say so (no bracketed paste)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from textual.message_pump import MessagePump

if TYPE_CHECKING:
    from textual.timer import Timer

ALONE_S: Final = 0.05  # text that is pasted as keys comes faster


class LoneEnter:
    """An Enter is one when no key follows it within `ALONE_S`; else both are of a paste."""

    def __init__(self, widget: MessagePump, obey: Callable[[], object]) -> None:
        self._widget = widget
        self._obey = obey
        self._timer: Timer | None = None

    def came(self) -> None:
        """Enter was pressed: obey it unless `forget` is called before long."""
        self._timer = self._widget.set_timer(ALONE_S, self._alone)

    def forget(self) -> bool:
        """Something else came; return whether an Enter waited."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.stop()
        return timer is not None

    def _alone(self) -> None:
        self._timer = None
        self._obey()
