"""The history as pydantic-ai takes it: JSON of its messages, encoded once like any other. Pure.

The library is not imported here: its JSON form is stable, and is read back by the library itself
just before a request.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from wcore.models.attachments import Image
from wcore.models.dialect import EncodedMessage, RequestFrame
from wcore.models.provider_json import dump, tool_name
from wcore.models.providers import ToolRules
from wcore.vocabulary import AssistantMessage, Json, Status, ToolOutput

REPLY_TOKENS: Final = 8_000  # of the window, kept free for the reply unless the host says more
EFFORT_LEVELS: Final = ("low", "medium", "high")
SEAL: Final = "pydantic_ai"  # marks a reply in the library's own form


class ForeignEncoding:
    """Writes messages. The bodies of a row of requests are parts of one message."""

    takes_images = True

    def __init__(self, tool_rules: ToolRules) -> None:
        self.tool_rules = tool_rules
        self._calls: dict[str, tuple[str, str]] = {}  # our id: the tool and the id it goes by

    def send_thinking(self) -> bool:
        return False

    def thinks(self, model: str) -> bool:
        """Every model may be asked; the library passes over what a model does not have."""
        return bool(model)

    def effort_levels(self, model: str) -> tuple[str, ...]:
        return EFFORT_LEVELS if model else ()

    def user(self, text: str, images: Sequence[Image]) -> EncodedMessage:
        content: Json = [text, *map(_image, images)] if images else text
        return EncodedMessage("user", dump(_prompt(content)), images=len(images))

    def assistant(self, message: AssistantMessage) -> EncodedMessage:
        sealed = (
            message.provider_state.get(SEAL)
            if isinstance(message.provider_state, Mapping)
            else None
        )
        by_its_id = isinstance(sealed, Mapping)
        for call_id, call in message.calls:
            name_there = (call.model_id or call_id) if by_its_id else call_id
            self._calls[call_id] = tool_name(call.name), name_there
        if not message.text.strip() and not message.calls:
            return EncodedMessage("assistant", b"")
        if isinstance(sealed, Mapping):
            return EncodedMessage("assistant", dump(sealed))
        parts: list[Json] = [{"part_kind": "text", "content": message.text}] if message.text else []
        parts += [
            {"part_kind": "tool-call", "tool_name": tool_name(call.name), "args": call.args or {},
             "tool_call_id": call_id}
            for call_id, call in message.calls
        ]  # fmt: skip
        return EncodedMessage(
            "assistant", dump({"kind": "response", "parts": parts}) if parts else b""
        )

    def result(self, call_id: str, output: ToolOutput, image: Image | None) -> EncodedMessage:
        tool, its_id = self._calls.get(call_id, ("", call_id))
        part: dict[str, Json] = {
            "part_kind": "tool-return",
            "tool_name": tool,
            "tool_call_id": its_id,
            "content": output.output if image is None else "(the image follows)",
            "outcome": "failed" if output.status is Status.ERROR else "success",
        }
        after = dump(_prompt([f"The image of call {its_id}:", _image(image)])) if image else b""
        return EncodedMessage("user", dump(part), after, images=int(image is not None))

    def reply_tokens(self, frame: RequestFrame) -> int:
        return frame.max_tokens or REPLY_TOKENS

    def frame_bytes(self, frame: RequestFrame) -> int:
        return len(frame.system) + sum(len(dump(tool.schema)) for tool in frame.tools)


def messages(system: str, pieces: Sequence[EncodedMessage]) -> bytes:
    """Return the whole history as a JSON array of the library's messages."""
    found: list[bytes] = []
    row = [dump({"part_kind": "system-prompt", "content": system})] if system else []
    later: list[bytes] = []
    for piece in pieces:
        if piece.role == "user":
            row.append(piece.body)
            later += [piece.after] if piece.after else []
            continue
        found += _request(row + later)
        row, later = [], []
        found.append(piece.body)
    return b"[%s]" % b",".join([*found, *_request(row + later)])


def _request(parts: Sequence[bytes]) -> list[bytes]:
    return [b'{"kind":"request","parts":[%s]}' % b",".join(parts)] if parts else []


def _prompt(content: Json) -> dict[str, Json]:
    return {"part_kind": "user-prompt", "content": content}


def _image(image: Image) -> Json:
    return {"kind": "binary", "data": image.data, "media_type": image.media_type}
