"""What a command sees of the machine and reaches: in the view of a sandbox, or as the user. Pure.

A card has it as `{"view": "workspace", "hosts": ["pypi.org"], "proposed": ["pypi.org"]}`.
"""

from dataclasses import dataclass
from typing import Final

READ_ONLY: Final = "read_only"  # the workspace can be read
WORKSPACE: Final = "workspace"  # and written
NONE: Final = "none"  # no sandbox: everything as the user
_ORDER: Final = (READ_ONLY, WORKSPACE, NONE)
_SANDBOX: Final = "sandbox"
ASKED_MAX: Final = 8  # hosts of one call: a person reads each


@dataclass(frozen=True, slots=True)
class SandboxView:
    """What a program will see and change: `view` names it, `hosts` it may reach.

    `proposed` are those of them that nobody has agreed to before: the call asks for them.
    """

    view: str
    hosts: tuple[str, ...] = ()
    proposed: tuple[str, ...] = ()

    @property
    def is_held(self) -> bool:
        """Whether the kernel holds the program to it."""
        return self.view != NONE

    @property
    def pin(self) -> tuple[str, str]:
        """What a lasting yes to the call is bound to; see `covers`."""
        return _SANDBOX, " ".join((self.view, *self.proposed))

    @classmethod
    def of_pin(cls, pin: object) -> "SandboxView | None":
        """Return the view that has this pin, without hosts that were agreed to before."""
        match pin:
            case [str(kind), str(text)] if kind == _SANDBOX:
                view, *hosts = text.split(" ")
                return cls(view, tuple(hosts), tuple(hosts)) if view in _ORDER else None
            case _:
                return None


def covers(given: tuple[str, str] | None, view: SandboxView | None) -> bool:
    """Whether a yes that was given to a call with one pin counts in a view: it reaches no more.

    A yes without a pin was given where there was no sandbox; `None` is the view where there is
    none. It counts in the workspace, with the hosts that were agreed to before.
    """
    if given is None:
        return view is None or covers(SandboxView(WORKSPACE).pin, view)
    known = SandboxView.of_pin(given)
    if known is None or not known.is_held:
        return known is not None
    if view is None or not {*view.proposed} <= {*known.proposed}:
        return False
    return _ORDER.index(view.view) <= _ORDER.index(known.view)
