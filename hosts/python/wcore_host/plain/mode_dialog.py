"""Raising the mode, which lets more run unasked, takes a second yes. Pure."""

from wcore_host.headless.modes import MODES
from wcore_host.plain.dialog import Again, Dialog, Done, Step
from wcore_host.plain.style import Style


class ModeDialog(Dialog):
    """Asks whether the mode shall really be raised."""

    def __init__(self, mode: str) -> None:
        self._mode = mode

    @property
    def prompt(self) -> str:
        return f"change to {self._mode}? (yes or no)"

    def rows(self, style: Style) -> list[str]:
        return [style.yellow(f"{self._mode}: {MODES.get(self._mode, 'a mode of this engine')}")]

    def answer(self, line: str, style: Style) -> Step:
        match line.strip().lower():
            case "y" | "yes":
                return Done({"type": "set_mode", "mode": self._mode}, "")
            case "n" | "no":
                return self.cancel()
            case _:
                return Again(("yes or no",))

    def cancel(self) -> Step:
        return Done(None, "the mode stays as it is")
