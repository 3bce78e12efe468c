"""Results of which a part cannot be read: the other parts stay, and what is left out is named.

The SDK takes a result whole or not at all.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Self, cast

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse
from mcp_types.methods import parse_server_result
from pydantic import ValidationError

from wcore.visible import visible_line

NAME_CHARS_MAX: Final = 128  # of what is left out
_METHODS: Final = {"content": "tools/call", "tools": "tools/list"}


class ReadableParts:
    """A stream of messages in which results have only parts that can be read.

    `version` returns that of the protocol; `lost` is called with the name of each tool that a list
    is left without.
    """

    def __init__(
        self, messages: Any, version: Callable[[], str], lost: Callable[[str], None]
    ) -> None:
        self._messages = messages
        self._version = version
        self._lost = lost

    def __getattr__(self, name: str) -> Any:
        return getattr(self._messages, name)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        return self._mended(await anext(self._messages))

    async def receive(self) -> Any:
        return self._mended(await self._messages.receive())

    async def __aenter__(self) -> Self:
        await self._messages.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> bool | None:
        return await self._messages.__aexit__(*error)

    def _mended(self, message: object) -> object:
        answer = message.message if isinstance(message, SessionMessage) else None
        result = answer.result if isinstance(answer, JSONRPCResponse) else {}
        for key in _METHODS.keys() & result.keys():
            parts: object = result[key]
            if isinstance(parts, list) and not self._is_valid(key, result):
                # Without what is large: it would be looked at again with every part.
                plain = {k: v for k, v in result.items() if not isinstance(v, list | dict)}
                mend = self._tool if key == "tools" else self._block
                each = [mend(part, plain) for part in cast("list[object]", parts)]
                result[key] = [part for part in each if part is not None]
        return message

    def _is_valid(self, key: str, result: dict[str, Any]) -> bool:
        try:
            parse_server_result(_METHODS[key], self._version(), result)
        except (ValidationError, RecursionError):
            return False
        except (KeyError, ValueError):  # nobody knows such results; the SDK says what it thinks
            return True
        return True

    def _tool(self, tool: object, result: dict[str, Any]) -> object:
        """Return a tool, with a schema that can be read if that is what is wrong, or nothing."""
        given, mended = _fields(tool).get("inputSchema"), tool
        schema, kinds = _fields(given), _fields(given).get("type")
        is_any = given is True or (isinstance(given, Mapping) and kinds is None)
        if is_any or kinds == "object" or (isinstance(kinds, list) and "object" in kinds):
            wrong = {key for key in ("properties", "required") if not schema.get(key)}
            bare = {key: value for key, value in schema.items() if key not in wrong}
            mended = {**_fields(tool), "inputSchema": {**bare, "type": "object"}}
        for found in (tool, mended):
            if self._is_valid("tools", {**result, "tools": [found]}):
                return found
        self._lost(_named(tool, "name"))
        return None

    def _block(self, block: object, result: dict[str, Any]) -> object:
        """Return a part, without annotations that cannot be read, or words for it."""
        odd = {"annotations", "_meta"}
        bare = {key: value for key, value in _fields(block).items() if key not in odd}
        for found in (block, bare):
            if self._is_valid("content", {**result, "content": [found]}):
                return found
        text = f"[left out: a part of the kind {_named(block, 'type')}, which cannot be read]"
        return {"type": "text", "text": text}


def _fields(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _named(value: object, field: str) -> str:
    name = _fields(value).get(field)
    return repr(visible_line(name, NAME_CHARS_MAX)) if isinstance(name, str) else "unknown"
