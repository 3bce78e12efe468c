"""The YAML above the text of an agent file, read as a cloned folder's words must be read."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from yaml import Node, SafeLoader

FRONT_CHARS_MAX: Final = 8 * 1024  # two screens; a parser of YAML takes a second for 100 KiB
BRACKETS_MAX: Final = 64  # the parser takes quadratic time for what is open at once


class AgentError(Exception):
    """Why a file makes no agent."""


def read_front(text: str) -> Mapping[Any, Any]:
    """Return the keys and values of a front matter of at most `FRONT_CHARS_MAX`. Blocking.

    Raises:
        AgentError: it is no YAML, has aliases, or is no table.
    """
    if text.count("[") + text.count("{") > BRACKETS_MAX:
        raise AgentError(f"the front matter is no YAML: more than {BRACKETS_MAX} brackets")
    try:
        loader = _loader()(text)
        value: object = loader.get_single_data()
    except Exception as error:  # noqa: BLE001 - on odd values the parser raises whatever it likes
        why = (str(error).splitlines() or ["it cannot be read"])[0]
        raise AgentError(f"the front matter is no YAML: {why}") from None
    if value is not None and not isinstance(value, dict):
        raise AgentError("the front matter must be keys with values")
    return cast("Mapping[Any, Any]", value or {})


@cache
def _loader() -> type["SafeLoader"]:
    """Return a loader without aliases: a page of them, merged, is more than any memory holds."""
    import yaml  # noqa: PLC0415 - only where there are agent files

    class WithoutAliases(yaml.SafeLoader):
        def compose_node(self, parent: "Node | None", index: int) -> "Node | None":
            if self.check_event(yaml.AliasEvent):
                raise AgentError("aliases (`*name`) are not taken")
            return super().compose_node(parent, index)

    return WithoutAliases
